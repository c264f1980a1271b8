"""Fetches what the owner has written to the agent whose client runs a hook.

This happens after every tool of an agent, so it has to be quick: it uses the standard library only,
needs no link, starts no hub, and does not wait for one that hangs.
"""

from __future__ import annotations

import os

from chatbridge.cli.agents.hook_events import CLAUDE_CODE
from chatbridge.cli.hub.hub_client import connected
from chatbridge.core.errors import ChatbridgeError
from chatbridge.digests import sha256_hex
from chatbridge.link.preface import build_preface

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = dict[str, Any]

REPLY_SECONDS = 2.0
"""How long the hub may take for each of its replies."""
SETS_PROJECT_DIR = (CLAUDE_CODE, "gemini-cli")
PREFACE_KEYS = ("cwd", "root", "file", "label")


def collect(event: Json, client: str, *, stops: bool, say: Callable[[str], None]) -> bool:
    """Say what waits for this agent, and confirm it. Return whether something was said. `stops`:
    the agent is about to stop. :raises OSError: it cannot be said, and goes on waiting."""
    link = link_name(event)
    if link is None or not enter_folder(event, client):
        return False
    said = False
    try:
        with connected(within=REPLY_SECONDS) as hub:
            preface = build_preface(os.environ.get("CHATBRIDGE_LABEL") or None)
            given = {name: preface[name] for name in PREFACE_KEYS}
            given |= {"link": link, "client": client, "stops": stops}
            found = hub.ask("collect", within=REPLY_SECONDS, **given)
            texts = found.get("texts")
            if isinstance(texts, list) and texts:
                say("\n\n".join(map(str, texts)))
                said = True
                hub.ask("collected", within=REPLY_SECONDS, call=found.get("call"))
    except ChatbridgeError:
        pass  # no hub runs, it is another version, or it has gone: what waits comes later
    return said


def link_name(event: Json) -> str | None:
    """The session's and not this process': what was allowed for the session is found again."""
    session = event.get("session_id")
    if not isinstance(session, str) or not session:
        return None
    return sha256_hex(f"hook {session}".encode(errors="replace"))[:32]


def enter_folder(event: Json, client: str) -> bool:
    """Go where the agent was started, which is its project: it may be in another folder now. Return
    False if that is not known."""
    # Others may have it from a Claude Code that has started them, in another folder.
    started = os.environ.get("CLAUDE_PROJECT_DIR") if client in SETS_PROJECT_DIR else None
    folder = started or event.get("cwd")
    try:
        os.chdir(folder if isinstance(folder, str) else "")
    except (OSError, ValueError):
        return False
    return True
