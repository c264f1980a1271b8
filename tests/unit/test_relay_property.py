"""Whatever happens in whatever order, a request is answered at most once and never forgotten."""

from __future__ import annotations

import json

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chatbridge.link.relay import Relay


class Conversation(RuleBasedStateMachine):
    """The model: which requests are open, and how often each was answered."""

    def __init__(self) -> None:
        super().__init__()
        self.relay = Relay({"chatbridge": "link"}, monotonic=lambda: 0.0)
        self.asked = 0
        self.open: list[int] = []
        self.cancelled: set[int] = set()
        self.answers: dict[int, int] = {}
        self.delivered: set[int] = set()
        self.progress: dict[int, float] = {}

    def to_client(self, message: dict[str, object]) -> None:
        self.relay.from_client(json.dumps(message).encode())

    def from_hub(self, message: dict[str, object]) -> None:
        self.relay.from_hub(json.dumps(message).encode())

    @rule()
    def the_client_asks(self) -> None:
        self.asked += 1
        self.open.append(self.asked)
        meta = {"_meta": {"progressToken": self.asked}}
        self.to_client({"jsonrpc": "2.0", "id": self.asked, "method": "tools/call", "params": meta})

    @rule(back=st.integers(0, 5))
    def the_client_cancels(self, back: int) -> None:
        it = self.asked - back
        if it in self.open:
            self.open.remove(it)
            self.cancelled.add(it)
        self.to_client(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": it}}
        )

    @precondition(lambda self: self.relay.connected)
    @rule(back=st.integers(0, 5))
    def the_hub_responds(self, back: int) -> None:
        """Also to requests that are answered or cancelled."""
        it = self.asked - back
        if it in self.open:
            self.open.remove(it)
        self.from_hub({"jsonrpc": "2.0", "id": it, "result": {}})

    @precondition(lambda self: self.relay.connected)
    @rule(back=st.integers(0, 5), value=st.floats(0, 100))
    def the_hub_reports_progress(self, back: int, value: float) -> None:
        params = {"progressToken": self.asked - back, "progress": value}
        self.from_hub({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    @precondition(lambda self: self.relay.connected)
    @rule(back=st.integers(0, 5))
    def the_hub_acknowledges(self, back: int) -> None:
        it = self.asked - back
        if it in self.delivered:
            self.delivered.remove(it)
            self.from_hub({"chatbridge": "acknowledged", "request": it})

    @rule(whole=st.booleans())
    def something_is_written(self, whole: bool) -> None:
        data = b""
        while chunk := self.relay.to_client.chunk():
            data += chunk
            self.relay.written(len(chunk))
            if not whole:
                break
        for line in data.splitlines():
            message = json.loads(line)
            if "method" in message:
                token, value = message["params"]["progressToken"], message["params"]["progress"]
                assert value > self.progress.get(token, -1)
                self.progress[token] = value
            else:
                it = message["id"]
                assert it not in self.cancelled
                self.answers[it] = self.answers.get(it, 0) + 1
                self.delivered.add(it)

    @precondition(lambda self: self.relay.connected)
    @rule()
    def the_hub_dies(self) -> None:
        self.relay.hub_lost()

    @precondition(lambda self: not self.relay.connected)
    @rule()
    def a_hub_is_found(self) -> None:
        self.relay.hub_found()
        said = [json.loads(line) for line in bytes(self.relay.to_hub).splitlines()]
        assert [it["id"] for it in said if "method" in it] == self.open
        confirmed = {it["request"] for it in said if it.get("chatbridge") == "delivered"}
        assert confirmed == self.delivered
        self.relay.to_hub.clear()

    @invariant()
    def no_request_has_two_answers(self) -> None:
        assert all(count == 1 for count in self.answers.values())

    @invariant()
    def the_open_requests_are_known_in_order(self) -> None:
        assert [request.id for request in self.relay.requests.values()] == self.open


TestConversation = Conversation.TestCase
