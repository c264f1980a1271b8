"""One tool call of a hook, through a link whose name is its session's.

What a person has allowed for a session is found again by that name; and a hook that its client
kills leaves nobody who waits, so that its approval is withdrawn.
"""

from __future__ import annotations

from typing import Any

from chatbridge.cli.hub.tool_client import NoAnswer, own_link
from chatbridge.digests import sha256_hex
from chatbridge.link.relay import Relay

__all__ = ["CLIENT", "NoAnswer", "call_tool"]

Json = dict[str, Any]

CLIENT = "chatbridge-hook"


def call_tool(
    name: str, arguments: Json, *, folder: str, session: str, within: float | None
) -> Json:
    """The result of the call. `folder` is where the agent works. What a person has allowed for
    `session` counts for all hooks of it. `within`: how long the hub may take for it.

    :raises NoAnswer:
    """
    # The session's and not this process': what was allowed for the session is found again.
    link = sha256_hex(f"hook {session}".encode())[:32] if session else None
    with own_link(CLIENT, folder=folder, name=link, relay=_one_of_many) as calls:
        return calls.call(name, arguments, within=within)


def _one_of_many(preface: dict[str, object]) -> Relay:
    return Relay(preface, shared=True)
