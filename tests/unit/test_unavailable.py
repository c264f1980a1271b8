"""The answers that a client gets while there is no hub are valid in both protocol eras."""

from __future__ import annotations

from typing import Any

import mcp_types
import pytest

from chatbridge.link import unavailable

STATELESS = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


GEMINI = {"name": "gemini-cli-mcp-client", "version": "0.61.0"}


def answer(method: str, client: object = None, **params: object) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return unavailable.answer(request, "the hub is on fire", client=client)


def test_gemini_is_told_under_a_name_that_it_does_not_drop() -> None:
    in_every_request = {**STATELESS, "io.modelcontextprotocol/clientInfo": GEMINI}
    for listed in (
        answer("tools/list", client=GEMINI["name"]),
        answer("tools/list", _meta=in_every_request),
    ):
        (tool,) = listed["result"]["tools"]
        assert tool["name"] == "ask_human"
        assert "the hub is on fire" in tool["description"]


@pytest.mark.parametrize(
    ("offered", "agreed"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        (None, "2025-11-25"),
    ],
)
def test_initialize_agrees_to_the_clients_version_if_it_is_a_known_one(
    offered: str | None, agreed: str
) -> None:
    result = mcp_types.InitializeResult.model_validate(
        answer("initialize", protocolVersion=offered)["result"]
    )
    assert result.protocol_version == agreed
    assert result.capabilities.tools is not None
    assert result.capabilities.tools.list_changed


def test_discover_is_answered_in_the_stateless_era() -> None:
    found = answer("server/discover", _meta=STATELESS)["result"]
    result = mcp_types.DiscoverResult.model_validate(found)
    assert result.supported_versions == ["2026-07-28"]
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "chatbridge"


def test_an_unknown_stateless_version_is_told_which_one_is_known() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    error = answer("server/discover", _meta=meta)["error"]
    assert (error["code"], error["data"]["supported"]) == (-32022, ["2026-07-28"])


@pytest.mark.parametrize("meta", [{}, STATELESS])
def test_the_one_tool_takes_any_arguments_and_says_what_is_wrong(meta: dict[str, str]) -> None:
    listed = answer("tools/list", _meta=meta)["result"]
    (tool,) = mcp_types.ListToolsResult.model_validate(listed).tools
    assert tool.name == "ask_user"
    assert "the hub is on fire" in str(tool.description)
    called = answer("tools/call", _meta=meta, name="ask_user")["result"]
    result = mcp_types.CallToolResult.model_validate(called)
    assert result.is_error
    assert called["content"] == [{"type": "text", "text": "the hub is on fire"}]
    assert called.get("resultType") == ("complete" if meta else None)


def test_a_switched_off_chatbridge_lists_no_tool() -> None:
    request: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    response = unavailable.answer(request, unavailable.SWITCHED_OFF, tools=False)
    assert response["result"] == {"tools": []}


def test_ping_is_answered_and_unknown_methods_get_an_error() -> None:
    assert answer("ping")["result"] == {}
    assert answer("prompts/list")["error"]["code"] == -32601
