"""The MCP server whose SDK is still being imported, and the answers to what clients ask first.

A client that starts a hub waits for its tools: the handshake and the list are answered before the
SDK is there. What is answered here the SDK reads all the same once it is, and what it says to that
is thrown away. So it knows what the client has been told, and nothing else is to be handed over.
Only what every client says in the usual way is answered; all else, and what follows, waits.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
    ClientCapabilities,
    Implementation,
    InitializeRequestParams,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from chatbridge import __version__
from chatbridge.tools.call import Caller
from chatbridge.tools.offer import INSTRUCTIONS, STATELESS, Offer

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

Json = dict[str, Any]

SERVER: Json = {"name": "chatbridge", "title": "chatbridge", "version": __version__}
TOOLS: Json = {"tools": {"listChanged": True}}


@dataclass(frozen=True, slots=True)
class LateServer:
    offer: Offer
    made: asyncio.Future[Server[Any]]

    async def get(self) -> Server[Any]:
        return await asyncio.shield(self.made)  # others wait for it, too


class FirstAnswers:
    """What one client is told, from its first request on, as the SDK would."""

    def __init__(self, offer: Offer, caller: Caller) -> None:
        self._offer, self._caller = offer, caller
        self._client: InitializeRequestParams | None = None  # Of a handshake
        self._stateless = False

    def result(self, method: str, params: Json | None) -> Json | None:
        """None: this is for the SDK, and so is everything after it."""
        try:
            if self._client is not None:
                return self._listed() if method == "tools/list" and not params else None
            if method == "initialize" and not self._stateless:
                return self._initialized(params or {})
            return self._without_handshake(method, params or {})
        except ValidationError:
            return None

    def _initialized(self, params: Json) -> Json | None:
        if not params.keys() <= {"protocolVersion", "capabilities", "clientInfo"}:
            return None
        client = InitializeRequestParams.model_validate(params, by_name=False)
        if client.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            client.protocol_version = LATEST_HANDSHAKE_VERSION
        self._client = client
        return {
            "protocolVersion": client.protocol_version,
            "capabilities": {"logging": {}, **TOOLS},
            "serverInfo": SERVER,
            "instructions": INSTRUCTIONS,
        }

    def _listed(self) -> Json:
        assert self._client is not None
        version, info = self._client.protocol_version, self._client.client_info
        return self._tools(info, self._client.capabilities, version)

    def _without_handshake(self, method: str, params: Json) -> Json | None:
        meta = params.get("_meta")
        if params.keys() != {"_meta"} or not isinstance(meta, dict):
            return None
        required = {PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY}
        if meta.keys() != required or meta[PROTOCOL_VERSION_META_KEY] != STATELESS:
            return None
        info = Implementation.model_validate(meta[CLIENT_INFO_META_KEY], by_name=False)
        capabilities = ClientCapabilities.model_validate(
            meta[CLIENT_CAPABILITIES_META_KEY], by_name=False
        )
        if method == "server/discover":
            found = {
                "supportedVersions": [STATELESS],
                "capabilities": TOOLS,
                "instructions": INSTRUCTIONS,
            }
        elif method == "tools/list":
            found = self._tools(info, capabilities, STATELESS)
        else:
            return None
        self._stateless = True
        return {
            **found,
            "ttlMs": 0,
            "cacheScope": "private",
            "resultType": "complete",
            "_meta": {SERVER_INFO_META_KEY: SERVER},
        }

    def _tools(self, info: Implementation, capabilities: ClientCapabilities, version: str) -> Json:
        peer = self._offer.peer(self._caller, info, capabilities, version=version)
        found = self._offer.listed(self._caller.project, peer)
        return {
            "tools": [it.model_dump(mode="json", by_alias=True, exclude_none=True) for it in found]
        }
