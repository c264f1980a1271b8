"""The MCP clients on this machine: whether they have chatbridge, and how long they wait."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from chatbridge.cli.connect import Found, found_clients
from chatbridge.cli.connect.catalogue import CATALOGUE
from chatbridge.cli.connect.found import connected_in
from chatbridge.cli.doctor.context import Situation
from chatbridge.cli.doctor.finding import Finding, fine, remark
from chatbridge.cli.ui.times import HOUR, duration
from chatbridge.cli.ui.wording import shown

WAIT_WITH_PROGRESS = ("opencode",)
"""Their limit is one of silence, and a waiting call is never silent."""


async def clients(situation: Situation) -> Sequence[Finding]:
    found = await asyncio.to_thread(found_clients)
    connected = [client for client in found if client.connected or client.problem]
    connected += await asyncio.to_thread(_in_this_folder)
    if not connected:
        names = ", ".join(client.shown for client in found)
        what = f"none is connected, but here: {names}" if names else "none is connected"
        example = found[0].client if found else "claude-code"
        return [remark("agents", what, f"chatbridge connect {example}")]
    return [_client(client, situation.settings.max_timeout) for client in connected]


def _in_this_folder() -> list[Found]:
    try:
        return connected_in(Path.cwd())
    except OSError:  # it has gone, or is closed to us
        return []


def _client(client: Found, longest: float) -> Finding:
    name, limit = client.client, client.gives_up
    details = {"file": str(client.file), "givesUpAfter": limit, "questionsMayWait": longest}
    if client.problem is not None:
        return remark(name, client.problem, **details)
    possible = _possible(name, max(longest, HOUR))
    if limit is None or limit >= min(longest, possible or limit) or name in WAIT_WITH_PROGRESS:
        return fine(name, f"connected in {shown(client.file)}", **details)
    again = f"chatbridge connect {name}{' --project' if client.project else ''}"
    return remark(
        name,
        f"gives up after {limit:.0f} s; your questions may wait {duration(longest)}",
        f"{again}    (sets it to {possible:.0f})",
        **details,
    )


def _possible(name: str, wait: float) -> float | None:
    """What connecting would set, in seconds; None where there is nothing to set."""
    client = CATALOGUE[name]
    if client.timeout is None:
        return None
    return client.numbers(wait)[client.timeout] / client.unit
