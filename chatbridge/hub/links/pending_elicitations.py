"""The forms that one connection has open at its client, and replies to those of an earlier hub.

A reply that the link passes on belongs to a call, which was repeated, and not to a request of this
hub. It is given to the SDK as the response to the request that the call makes now.
"""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
from mcp.shared.message import SessionMessage


class PendingElicitations:
    def __init__(self) -> None:
        self.replies: asyncio.Queue[SessionMessage] = asyncio.Queue()
        """For the SDK, as if they had come on the wire."""
        self._open: dict[str, types.RequestId] = {}
        """Our request that is open at the client, by the call it is made for."""
        self._early: dict[str, dict[str, Any]] = {}
        """By call: what the client said before the call asked again."""

    def reply(self, call: str, result: dict[str, Any]) -> types.RequestId | None:
        """The client's reply for this call. The request that it answers, if that is open."""
        form = self._open.pop(call, None)
        if form is None:
            self._early[call] = result
        else:
            self._respond(form, result)
        return form

    def answered(self, call: str, form: types.RequestId) -> bool:
        """Whether this request, which is about to be sent, has its answer already."""
        early = self._early.pop(call, None)
        if early is None:
            self._open[call] = form
            return False
        self._respond(form, early)
        return True

    def closed(self, form: types.RequestId | None) -> None:
        """The client has answered this request itself."""
        self._open = {call: other for call, other in self._open.items() if other != form}

    def forget(self, call: str) -> None:
        """The call has ended."""
        self._open.pop(call, None)
        self._early.pop(call, None)

    def _respond(self, form: types.RequestId, result: dict[str, Any]) -> None:
        response = types.JSONRPCResponse(jsonrpc="2.0", id=form, result=result)
        self.replies.put_nowait(SessionMessage(response))
