"""Responses to the client while there is no hub, in both protocol eras.

The client sees a working server with one tool that says what is wrong. Clients drop a server that
fails to initialize, and then their agents never learn why.
"""

from __future__ import annotations

from chatbridge import __version__, safe_json
from chatbridge.link.relay import member
from chatbridge.safe_json import is_request_id
from chatbridge.tool_names import ASK_USER, offered_name

_HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_STATELESS_VERSION = "2026-07-28"
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
_SERVER_KEY = "io.modelcontextprotocol/serverInfo"
_SERVER = {"name": "chatbridge", "version": __version__}

SWITCHED_OFF = (
    "chatbridge is switched off here (CHATBRIDGE_ENABLED=false), so nobody was asked. "
    "Ask in the conversation instead, or remove that setting"
)


def answer(
    request: dict[str, object], problem: str, *, tools: bool = True, client: object = None
) -> dict[str, object]:
    """Build the response to one request. `tools`: whether to list the tool. `client`: the name from
    the handshake."""
    if not is_request_id(request.get("id")):
        return _error({}, -32600, safe_json.PROBLEM)
    params = request.get("params")
    stated = member(params, "_meta", _VERSION_KEY)
    version = stated if isinstance(stated, str) else None  # None in the handshake era
    if version not in (None, _STATELESS_VERSION):
        data = {"supported": [_STATELESS_VERSION], "requested": version}
        return _error(request, -32022, "Unsupported protocol version", data=data)
    name = str(client_named_in(request) or client or "")
    listed = [_ask_user(problem, client=name)] if tools else []
    result = _result(str(request.get("method")), params, problem, listed, stateless=bool(version))
    if result is None:
        return _error(request, -32601, "Method not found", data=str(request.get("method")))
    if version:
        result = {**result, "resultType": "complete", "_meta": {_SERVER_KEY: _SERVER}}
    return {"jsonrpc": "2.0", "id": request.get("id"), "result": result}


def client_named_in(request: dict[str, object]) -> object:
    """The client's name in `initialize` or, in the stateless era, in any request."""
    params = request.get("params")
    info = member(params, "_meta", _CLIENT_KEY)
    return member(member(params, "clientInfo") if info is None else info, "name")


def _result(
    method: str,
    params: object,
    problem: str,
    tools: list[dict[str, object]],
    *,
    stateless: bool,
) -> dict[str, object] | None:
    fresh: dict[str, object] = {"ttlMs": 0, "cacheScope": "private"} if stateless else {}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": problem}], "isError": True}
    if method == "tools/list":
        return {"tools": tools, **fresh}
    if method == "server/discover" and stateless:
        return {"supportedVersions": [_STATELESS_VERSION], "capabilities": {"tools": {}}, **fresh}
    if method == "initialize" and not stateless:
        offered, known = member(params, "protocolVersion"), _HANDSHAKE_VERSIONS
        return {
            "protocolVersion": offered if offered in known else known[-1],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": _SERVER,
        }
    return {} if method == "ping" and not stateless else None


def _ask_user(problem: str, *, client: str) -> dict[str, object]:
    return {
        "name": offered_name(ASK_USER, client),
        "description": f"Asks the owner a question on their phone. Not possible now: {problem}",
        "inputSchema": {"type": "object", "additionalProperties": True},
    }


def _error(
    request: dict[str, object], code: int, message: str, *, data: object = None
) -> dict[str, object]:
    error = {"code": code, "message": message, **({"data": data} if data is not None else {})}
    return {"jsonrpc": "2.0", "id": request.get("id"), "error": error}
