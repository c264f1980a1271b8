"""The link's bookkeeping: what is passed on, what is said again, what is dropped."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from chatbridge.framing import Overlong
from chatbridge.link.relay import Relay

Message = dict[str, Any]
DEEP = b'{"a":' * 50_000 + b"1" + b"}" * 50_000


class Bench:
    """A relay with its two sides as lists of messages."""

    def __init__(self, monotonic: Callable[[], float] = lambda: 0.0) -> None:
        self.relay = Relay({"chatbridge": "link"}, monotonic=monotonic)

    def client(self, *messages: Message) -> None:
        for message in messages:
            self.relay.from_client(json.dumps(message).encode())

    def hub(self, *messages: Message) -> None:
        for message in messages:
            self.relay.from_hub(json.dumps(message).encode())

    def connect(self) -> list[Message]:
        self.relay.hub_found()
        return self.at_hub()

    def at_hub(self) -> list[Message]:
        lines = bytes(self.relay.to_hub).splitlines()
        self.relay.to_hub.clear()
        return [json.loads(line) for line in lines]

    def at_client(self) -> list[Message]:
        """Writes everything out."""
        data = b""
        while chunk := self.relay.to_client.chunk():
            data += chunk
            self.relay.written(len(chunk))
        return [json.loads(line) for line in data.splitlines()]


def request(id: object, method: str = "tools/call", **params: object) -> Message:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def response(id: object, **result: object) -> Message:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def cancelled(id: object) -> Message:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}


def progress(token: object, value: float) -> Message:
    params = {"progressToken": token, "progress": value}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_requests_that_came_before_the_hub_are_sent_when_it_is_found(bench: Bench) -> None:
    bench.client(request(1), request("1"))
    assert bench.connect() == [{"chatbridge": "link"}, request(1), request("1")]


def test_the_next_hub_hears_how_long_a_call_has_waited() -> None:
    now = [100.0]
    bench = Bench(lambda: now[0])
    bench.connect()
    bench.client(request(1), request("list", "tools/list"))
    now[0] += 65.0
    bench.client(request(2))
    bench.relay.hub_lost()
    age = {"chatbridge": "age", "request": 1, "seconds": 65.0}
    told = bench.connect()
    assert told[1:-1] == [age, request(1), request("list", "tools/list"), request(2)]


def test_the_next_hub_hears_the_handshake_and_the_open_requests_in_order(bench: Bench) -> None:
    bench.connect()
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    bench.client(request(0, "initialize"))
    bench.hub(response(0))
    bench.client(initialized, request(1), request(2), request(3))
    bench.hub(response(2))
    bench.relay.hub_lost()
    again = bench.connect()
    assert again[1:3] == [request(0, "initialize"), initialized]
    assert again[3:] == [request(1), request(3), {"chatbridge": "resumed", "pending": [2]}]


@pytest.mark.parametrize(
    "said",
    [
        request(1, "initialize", clientInfo={"name": "codex"}),
        request(1, "tools/list", _meta={"io.modelcontextprotocol/clientInfo": {"name": "codex"}}),
    ],
)
def test_the_next_hub_hears_the_clients_name(bench: Bench, said: Message) -> None:
    (preface, *_) = bench.connect()
    assert "client" not in preface
    bench.client(said)
    bench.relay.hub_lost()
    assert bench.connect()[0]["client"] == "codex"


def test_the_second_answer_to_initialize_does_not_reach_the_client(bench: Bench) -> None:
    bench.connect()
    bench.client(request(0, "initialize"))
    bench.hub(response(0))
    bench.at_client()
    bench.relay.hub_lost()
    bench.connect()
    bench.hub(response(0))
    assert bench.at_client() == []


def test_a_refused_initialize_is_not_said_again(bench: Bench) -> None:
    bench.connect()
    bench.client(request(0, "initialize"))
    bench.hub({"jsonrpc": "2.0", "id": 0, "error": {"code": -32022, "message": "no"}})
    bench.relay.hub_lost()
    assert bench.connect() == [{"chatbridge": "link"}, {"chatbridge": "resumed"}]


def test_a_second_response_to_one_request_is_dropped(bench: Bench) -> None:
    bench.connect()
    bench.client(request(1))
    bench.hub(response(1, first=True), response(1, first=False))
    assert bench.at_client() == [response(1, first=True)]


def test_the_response_to_a_cancelled_request_is_dropped(bench: Bench) -> None:
    bench.connect()
    bench.client(request(1), cancelled(1))
    assert bench.at_hub() == [request(1), cancelled(1)]
    bench.hub(response(1))
    assert bench.at_client() == []


def test_an_answer_that_waits_to_be_written_is_withdrawn_by_a_cancellation(bench: Bench) -> None:
    bench.connect()
    bench.client(request(1), request(2))
    bench.hub(response(1), response(2))
    bench.client(cancelled(2))
    bench.at_hub()
    assert bench.at_client() == [response(1)]
    assert bench.at_hub() == [{"chatbridge": "delivered", "request": 1}]


def test_the_next_hub_hears_which_answers_are_still_to_be_written(bench: Bench) -> None:
    bench.connect()
    bench.client(request(1), request(2), request(3))
    bench.hub(response(1), response(2))
    bench.client(cancelled(2))
    bench.relay.hub_lost()
    assert bench.connect()[1:] == [request(3), {"chatbridge": "resumed", "pending": [1]}]
    bench.at_client()
    bench.relay.hub_lost()
    again = bench.connect()
    assert again[1:] == [
        {"chatbridge": "delivered", "request": 1, "waited": 0.0},
        request(3),
        {"chatbridge": "resumed"},
    ]


def test_a_half_written_answer_that_is_cancelled_is_finished_but_not_confirmed(
    bench: Bench,
) -> None:
    bench.connect()
    bench.client(request(1))
    bench.hub(response(1, text="x" * 5000))
    bench.relay.written(len(bench.relay.to_client.chunk()))
    bench.client(cancelled(1))
    bench.at_hub()
    rest = bench.relay.to_client.chunk()
    bench.relay.written(len(rest))
    assert rest.endswith(b"\n")
    assert bench.at_hub() == []


def test_delivered_is_said_when_the_answer_is_out_and_again_until_acknowledged() -> None:
    now = 10.0
    bench = Bench(lambda: now)
    bench.connect()
    bench.client(request(1))
    now = 30.5
    bench.hub(response(1))
    bench.at_hub()
    delivered = {"chatbridge": "delivered", "request": 1}
    bench.at_client()
    assert bench.at_hub() == [delivered]
    now = 99.0
    bench.relay.hub_lost()
    assert bench.connect()[1] == {**delivered, "waited": 20.5}
    bench.hub({"chatbridge": "acknowledged", "request": 1})
    bench.relay.hub_lost()
    assert bench.connect()[1:] == [{"chatbridge": "resumed"}]


def test_only_tool_calls_are_confirmed(bench: Bench) -> None:
    bench.connect()
    bench.client(request(1, "tools/list"))
    bench.hub(response(1))
    bench.at_hub()
    bench.at_client()
    assert bench.at_hub() == []


def test_an_answer_given_without_the_hub_is_never_confirmed_to_it(bench: Bench) -> None:
    bench.client(request(1))
    (open_request,) = bench.relay.requests.values()
    bench.relay.answer(open_request, response(1))
    assert bench.at_client() == [response(1)]
    assert bench.connect() == [{"chatbridge": "link"}]


def test_progress_goes_on_rising_with_the_next_hub(bench: Bench) -> None:
    bench.connect()
    bench.client(request(1, _meta={"progressToken": "t"}))
    bench.hub(progress("t", 1), progress("t", 7.5))
    bench.relay.hub_lost()
    bench.connect()
    bench.hub(progress("t", 1), progress("t", 2), progress("t", 30))
    values = [message["params"]["progress"] for message in bench.at_client()]
    assert values == [1, 7.5, 8.5, 9.5, 30]


def test_progress_of_an_ended_request_is_dropped(bench: Bench) -> None:
    bench.connect()
    bench.client(request(1, _meta={"progressToken": "t"}))
    bench.hub(response(1), progress("t", 1))
    assert bench.at_client() == [response(1)]


def test_ids_of_a_hubs_requests_carry_the_generation_and_come_back_bare(bench: Bench) -> None:
    bench.connect()
    bench.client(request(1))
    bench.at_hub()
    bench.hub({**request(5, "elicitation/create"), "chatbridgeCall": 1})
    assert bench.at_client() == [request("1.5", "elicitation/create")]
    bench.client(response("1.5", action="accept"))
    assert bench.at_hub() == [response(5, action="accept")]


def test_a_lost_hubs_request_is_cancelled_and_its_late_reply_named_by_its_call(
    bench: Bench,
) -> None:
    bench.connect()
    bench.client(request(1))
    bench.hub({**request(5, "elicitation/create"), "chatbridgeCall": 1})
    bench.at_client()
    bench.relay.hub_lost()
    (message,) = bench.at_client()
    assert message["method"] == "notifications/cancelled"
    assert message["params"]["requestId"] == "1.5"
    bench.connect()
    bench.hub({**request(5, "elicitation/create"), "chatbridgeCall": 1})
    assert bench.at_client() == [request("2.5", "elicitation/create")]
    bench.client(response("1.5", action="accept"))
    reply = {"chatbridge": "reply", "call": 1, "response": response(5, action="accept")}
    assert bench.at_hub() == [reply]


def test_a_reply_given_while_no_hub_is_there_waits_for_the_next(bench: Bench) -> None:
    bench.connect()
    bench.client(request(1))
    bench.hub({**request(5, "elicitation/create"), "chatbridgeCall": 1})
    bench.relay.hub_lost()
    bench.client(response("1.5", action="accept"), cancelled(1))
    assert [it["chatbridge"] for it in bench.connect()] == ["link", "reply", "resumed"]


def test_a_reply_to_a_hub_that_dies_is_repeated_while_its_call_is_open(bench: Bench) -> None:
    bench.connect()
    bench.client(request(1))
    bench.hub({**request(5, "elicitation/create"), "chatbridgeCall": 1})
    bench.client(response("1.5", action="accept"))
    bench.relay.hub_lost()
    assert bench.connect()[1:3] == [
        request(1),
        {"chatbridge": "reply", "call": 1, "response": response(5, action="accept")},
    ]
    bench.hub(response(1))
    bench.relay.hub_lost()
    assert all(it["chatbridge"] != "reply" for it in bench.connect())


def test_a_hubs_own_cancellation_names_the_request_as_the_client_knows_it(bench: Bench) -> None:
    bench.connect()
    bench.hub(request(5, "elicitation/create"), cancelled(5), cancelled(6))
    assert bench.at_client()[1:] == [cancelled("1.5")]


@pytest.mark.parametrize(
    ("line", "code", "id"),
    [
        (b"{", -32700, None),
        (b'{"a": "\xff"}', -32700, None),
        (b"[" * 100_000, -32700, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":' + DEEP + b"}", -32700, 7),
        (b'{"jsonrpc":"2.0","id":7,"result":' + DEEP + b"}", -32700, 7),
        (b"[]", -32600, None),
        (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
        (b'{"id":7,"method":"ping"}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","chatbridge":"link"}', -32600, 7),
        (b'{"chatbridge":"delivered","request":1}', -32600, None),
    ],
)
def test_what_is_no_message_gets_an_error_and_goes_no_further(
    bench: Bench, line: bytes, code: int, id: int | None
) -> None:
    bench.connect()
    bench.relay.from_client(line)
    (message,) = bench.at_client()
    assert (message["error"]["code"], message["id"]) == (code, id)
    assert bench.at_hub() == []


def test_a_second_request_with_an_open_id_does_not_end_the_first(bench: Bench) -> None:
    bench.connect()
    bench.client(request(1), request(1, other=True))
    bench.hub(response(1))
    refused, answered = bench.at_client()
    assert (refused["id"], answered) == (None, response(1))


def test_half_a_surrogate_pair_becomes_something_the_hub_can_parse(bench: Bench) -> None:
    bench.connect()
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":"\\ud83d x"}}'
    bench.relay.from_client(line)
    assert bench.at_hub() == [request(1, a="? x")]


def test_an_overlong_answer_of_the_hub_ends_its_request_with_an_error(bench: Bench) -> None:
    bench.connect()
    bench.client(request(1))
    bench.relay.from_hub(Overlong(b'{"jsonrpc":"2.0","id":1,"result":', b"}"))
    (message,) = bench.at_client()
    assert (message["id"], message["error"]["code"]) == (1, -32600)


def test_an_overlong_reply_of_the_client_reaches_the_hub_as_an_error(bench: Bench) -> None:
    bench.connect()
    bench.hub(request(5, "elicitation/create"))
    bench.at_hub()
    bench.relay.from_client(Overlong(b'{"jsonrpc":"2.0","id":"1.5","result":', b"}"))
    (message,) = bench.at_hub()
    assert (message["id"], message["error"]["code"]) == (5, -32600)
