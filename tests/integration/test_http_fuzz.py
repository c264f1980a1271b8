"""Whatever an agent with a token sends: an answer that is no fault, and no question but of a call
that asks one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.fault_watch import FEW, unshaken
from tests.fakes.remote import COLOUR, ERAS, RawAgent, cut, open_door

Json = dict[str, Any]

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=10)
    | st.sampled_from(["\ud800", "a\0b", 10**400, "x" * 5_000])
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
params = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["wait_for_answer", "approve_tool_use", "none"]) | anything,
        "arguments": st.fixed_dictionaries({"askId": anything}) | anything,
        "requestId": anything,
        "_meta": st.fixed_dictionaries({"progressToken": anything}) | anything,
        "protocolVersion": st.sampled_from(ERAS) | anything,
        "capabilities": anything,
        "clientInfo": anything,
        "uri": anything,
        "cursor": anything,
    },
)
methods = st.sampled_from(
    [
        *("initialize", "ping", "tools/list", "tools/call", "notifications/cancelled"),
        *("notifications/initialized", "logging/setLevel", "resources/read", "server/discover"),
    ]
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | anything,
        "id": anything,
        "method": methods | anything,
        "params": params | anything,
        "result": anything,
        "error": anything,
    },
)
bodies = (messages | anything | st.lists(messages, max_size=3)).map(
    lambda value: json.dumps(value).encode()
) | st.binary(max_size=40)
values = st.sampled_from([*ERAS, "application/json", "*/*", "tools/call"]) | st.text(
    st.characters(min_codepoint=32, max_codepoint=126), max_size=12
).map(str.strip)
headers = st.dictionaries(
    st.sampled_from(
        [
            *("mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name", "accept"),
            *("content-type", "last-event-id"),
        ]
    ),
    values,
    max_size=3,
)
requests = st.tuples(st.sampled_from(["POST", "POST", "DELETE", "PUT", "X"]), headers, bodies)


@FEW
@given(st.sampled_from(ERAS), st.lists(requests, min_size=1, max_size=25))
def test_no_body_is_a_fault_or_asks_what_it_does_not_say(
    era: str, given: list[tuple[str, dict[str, str], bytes]]
) -> None:
    async def scenario(folder: Path) -> None:
        async with open_door(folder) as door, door.visitor() as http:
            agent = RawAgent(http, era)
            await agent.begin()
            for method, changed, body in given:
                own = {**agent.headers(), **changed}
                answer = await http.request(method, "/mcp", content=body, headers=own)
                assert answer.status_code < 500, (method, changed, body)
                assert "Traceback" not in answer.text
                if method == "DELETE":
                    await agent.begin()  # it has ended its own session
            assert not await door.hub.store.open_asks()
            call = agent.asking(9_999, **COLOUR)
            assert (await door.shown()).questions[0].text == "Which colour?"
            await cut(call)

    unshaken(scenario)
