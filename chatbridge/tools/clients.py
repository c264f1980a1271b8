"""MCP clients by the name they give themselves: what people call them, and how long one call of
theirs may take. The owner's settings come before the table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from chatbridge.core.model import Agent

EARLIER_SHARE = 0.15
EARLIER_AT_LEAST, EARLIER_AT_MOST = 2.0, 20.0
"""How much earlier a call ends: the client counts from sending it, and a hub may have had to
start."""
BEATS_PER_IDLE = 3.0
"""So that one heartbeat may be late."""
MAX_NAME = 200
"""Characters of a client's name that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Times are in seconds; None: there is no such limit, or none is known."""

    shown: str | None = None
    limit: float | None = None
    """After this time it gives a call up, whatever happens."""
    idle: float | None = None
    """After this time without a progress notification it gives a call up."""
    cancels: bool = True
    """Whether it says so when it gives up."""
    undocumented: bool = False
    """Whether it has a limit is not known."""

    def patience(self, *, progress: bool) -> float | None:
        """How long a call may wait before it should end with a ticket."""
        found = self.gives_up(progress=progress)
        if found is None:
            return None
        earlier = min(max(found * EARLIER_SHARE, EARLIER_AT_LEAST), EARLIER_AT_MOST)
        return max(found - earlier, found / 2)

    def gives_up(self, *, progress: bool) -> float | None:
        """Seconds after which a call is given up; with progress it is never idle."""
        return soonest(self.limit, None if progress else self.idle)

    def beat(self, usual: float) -> float:
        """Seconds between signs that a call is alive."""
        return usual if self.idle is None else min(usual, self.idle / BEATS_PER_IDLE)


_MINUTE, _HOUR = 60.0, 3600.0
HOOK = "chatbridge-hook"
COMMAND = "chatbridge-cli"
"""`chatbridge ask` and `chatbridge notify`, run by a script or a person."""
KNOWN: dict[str, Client] = {
    "claude-code": Client(shown="Claude Code", limit=27 * _HOUR, idle=30 * _MINUTE),
    "claude-ai": Client(shown="Claude", undocumented=True),
    "codex": Client(shown="Codex", limit=300.0, cancels=False),
    "gemini-cli": Client(shown="Gemini CLI", limit=600.0),
    "qwen-code": Client(shown="Qwen Code", limit=600.0),
    "qwen-cli": Client(shown="Qwen Code", limit=600.0),
    "opencode": Client(shown="opencode", idle=60.0),
    "cline": Client(shown="Cline", limit=60.0),
    "zed": Client(shown="Zed", limit=60.0, cancels=False),
    "goose": Client(shown="Goose", limit=300.0, cancels=False),
    "visual-studio-code": Client(shown="VS Code"),
    "cursor": Client(shown="Cursor", undocumented=True),
    "windsurf": Client(shown="Windsurf", undocumented=True),
    HOOK: Client(shown="Claude Code", limit=600.0, cancels=False),
    COMMAND: Client(shown="shell"),
}


@dataclass(frozen=True, slots=True)
class Clients:
    """The table with the owner's settings. An entry of the owner replaces that of the table."""

    own: Mapping[str, Client] = field(default_factory=dict)

    def of(self, name: str | None) -> Client:
        return self._known(name) or Client()

    def unknown(self, name: str | None) -> bool:
        """Whether nothing is known of how long a call may take, so that its calls have to show it.
        An entry of the owner's that names no limit says that there is none."""
        known = self._known(name)
        return known is None or known.undocumented

    def _known(self, name: str | None) -> Client | None:
        return _found(self.own, name or "") or _found(KNOWN, name or "")


def soonest(*limits: float | None) -> float | None:
    """The limit that comes first; None: there is none."""
    return min((limit for limit in limits if limit is not None), default=None)


def agent_of(client: str | None, title: str | None = None) -> Agent:
    """The agent behind a client's name, as people know it."""
    if not client:
        return Agent(client="", name="agent")
    client, known = client[:MAX_NAME], _found(KNOWN, client[:MAX_NAME])
    return Agent(client=client, name=(known and known.shown) or (title or client)[:MAX_NAME])


def _found(table: Mapping[str, Client], name: str) -> Client | None:
    """By the longest entry that the name begins with, word by word: programs add an edition, a
    version or the server's name to theirs (`Visual Studio Code - Insiders`)."""
    given = _words(name)
    fits = [entry for entry in table if (words := _words(entry)) and given[: len(words)] == words]
    return table[max(fits, key=len)] if fits else None


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W_]+", name.lower())
