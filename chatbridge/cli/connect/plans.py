"""What would be written where, as a diff, and the writing. Nothing is touched before `write`."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chatbridge.cli.connect import files
from chatbridge.cli.connect.catalogue import (
    ASK_TOOLS,
    NAME,
    Client,
    Places,
    Program,
    client_of,
    places,
    program,
)
from chatbridge.cli.connect.document import (
    Document,
    Entry,
    Limit,
    Part,
    Words,
    loaded,
)
from chatbridge.cli.connect.editing import Unparsable, at
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import visible
from chatbridge.link.root import find_root

LEAST = 3600.0
"""A phone is not looked at every five minutes: no client should give up within the hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Without changes there is nothing to do."""

    shown: str
    changes: tuple[Change, ...]
    restart: str
    """What to do then, one sentence."""


def plan(
    client: str,
    *,
    project: Path | None = None,
    wait: float | None = None,
    start: Program | None = None,
    environ: Mapping[str, str] | None = None,
) -> Plan:
    """What connecting a client would write.

    :param project: a folder, for this project alone; None: for all
    :param wait: how many seconds a call should be able to take; None: as the owner's settings say
    :param start: what the client is to start; None: this chatbridge
    :raises ChatbridgeError:
    """
    return _plan(client_of(client), places(environ), project, wait, start, removal=False)


def plan_removal(
    client: str, *, project: Path | None = None, environ: Mapping[str, str] | None = None
) -> Plan:
    """What disconnecting a client would write.

    :raises ChatbridgeError:
    """
    return _plan(client_of(client), places(environ), project, LEAST, None, removal=True)


def _plan(
    client: Client,
    at: Places,
    project: Path | None,
    wait: float | None,
    start: Program | None,
    *,
    removal: bool,
) -> Plan:
    path = file_of(client, at, project)
    part = entry_of(client, wanted_wait() if wait is None else wait, start)
    change = change_in(path, client, at, [part], project=project, removal=removal)
    restart = "Running agents keep it until their next start." if removal else client.restart
    return Plan(shown=client.shown, changes=(change,) if change else (), restart=restart)


def write(planned: Plan) -> None:
    """Write it, file by file, each with a copy of the old one beside it.

    :raises ChatbridgeError: this file and those after it were left alone.
    """
    for change in planned.changes:
        if not change.private:
            files.check_inside(change.path, change.base)
        files.replace(change.path, before=change.before, after=change.after, private=change.private)
        if change.after is None:
            _remove_empty(change.path.parent, change.base)


def wanted_wait() -> float:
    """How long a client should let a call wait: as long as a question may, at least an hour.

    :raises ChatbridgeError: the settings cannot be used.
    """
    from chatbridge import settings

    return max(settings.load().max_timeout, LEAST)


def file_of(client: Client, at: Places, project: Path | None) -> Path:
    """:raises ChatbridgeError: it has nothing of its own in a project."""
    if project is None:
        return client.file(at)
    if not client.project:
        raise ChatbridgeError(
            f"{client.shown} has no MCP servers by project. "
            f"For all of them: chatbridge connect {client.name}"
        )
    if not project.is_dir():
        raise ChatbridgeError(f"There is no folder {project}.")
    candidates = [project / name for name in client.project]
    return next((path for path in candidates if path.exists()), candidates[0])


def entry_of(client: Client, wait: float, start: Program | None = None) -> Entry:
    return Entry(
        keys=client.keys,
        shape=client.shape(start or program()),
        numbers=client.numbers(wait),
        first=client.first,
        on=client.on,
        limit=Limit(key=client.timeout, unit=client.unit, ceiling=client.ceiling)
        if client.timeout and client.tells_limit
        else None,
    )


def change_in(
    path: Path,
    client: Client,
    at: Places,
    parts: Sequence[Part],
    *,
    project: Path | None = None,
    removal: bool = False,
) -> Change | None:
    """What has to change in one file; None: nothing.

    :raises ChatbridgeError:
    """
    if project is not None:
        files.check_inside(path, project)
    before = files.read(path)
    way_out = f"chatbridge connect {client.name} --print"
    document = Document(
        path=path, format=client.format, content=before, parts=parts, way_out=way_out
    )
    if removal:
        copies = [copy for it in files.backups(path) if (copy := files.read(it)) is not None]
        after = document.disconnected(copies)
    else:
        after = document.connected()
    if after == before:
        return None
    return Change(
        path=path,
        shown=at.shown(path),
        before=before,
        after=after,
        private=project is None,
        base=project or client.folder(at),
    )


def _remove_empty(folder: Path, base: Path) -> None:
    """The folders that held nothing but the file. A client's own folder stays."""
    while folder != base and folder.is_relative_to(base):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


WIDEST = 160
_SECRET = re.compile(
    r"""(?ix)
    (?P<name> (?:token|secret|passw|api_?key|authorization|credential) [\w-]* ["']? \s*[:=]\s* )
    (?P<value> "(?:[^"\\]|\\.)*" | '[^']*' | [^\s"'\#,}\]]+ )"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """`before` None: the file is not there yet; `after` None: it goes."""

    path: Path
    shown: str
    """The path as people write it."""
    before: bytes | None
    after: bytes | None
    private: bool
    """Whether it is the person's own; else it is a project's."""
    base: Path
    """The client's folder, or the project's: it stays, even if it is empty then."""

    def diff(self) -> str:
        """A unified diff for the terminal: other servers' secrets hidden, long lines cut short."""
        before = "/dev/null" if self.before is None else self.shown
        after = "/dev/null" if self.after is None else self.shown
        lines = difflib.unified_diff(
            _lines(self.before), _lines(self.after), before, after, n=2, lineterm=""
        )
        return "\n".join(lines)

    def body(self) -> str:
        """The diff without its folder."""
        return f"{self.path.name}{self.diff().partition('@@')[2]}"

    def counts(self) -> tuple[int, int]:
        """How many lines come and how many go."""
        body = [line for line in self.diff().splitlines()[2:] if line[:1] in "+-"]
        added = sum(line.startswith("+") for line in body)
        return added, len(body) - added

    def backup(self) -> Path | None:
        """Where the copy of the old content goes."""
        if self.before is None or self.after is None:
            return None
        return files.next_backup(self.path, self.before)

    def summary(self) -> str:
        """`~/.codex/config.toml   + 4 lines   backup: config.toml.bak`."""
        if self.after is None:
            return f"{self.shown:<30}  removed: it held nothing else"
        added, gone = self.counts()
        parts = [f"{sign} {n}" for sign, n in (("+", added), ("-", gone)) if n]
        count = f"{' '.join(parts)} line{'' if added + gone == 1 else 's'}"
        copy = self.backup()
        note = f"backup: {copy.name}" if copy is not None else "new file"
        return f"{self.shown:<30}  {count:<14}  {note}"


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").decode(errors="replace").removeprefix("\ufeff")
    lines = text.split("\n")
    return [_shown(line) for line in (lines if lines[-1] else lines[:-1])]


def _shown(line: str) -> str:
    line = _SECRET.sub(r"\g<name>…", line.rstrip("\r"))
    return visible(line if len(line) <= WIDEST else f"{line[:WIDEST]}…")


CLIENT = "claude-code"
SERVERS, SETTINGS = ".mcp.json", ".claude/settings.local.json"
WHOLE = f"mcp__{NAME}"
PERMISSIONS = Words(
    keys=("permissions", "allow"),
    words=[f"{WHOLE}__{tool}" for tool in ASK_TOOLS],
    covered_by=frozenset({WHOLE, f"{WHOLE}__*"}),
)
ENABLED = Words(keys=("enabledMcpjsonServers",), words=[NAME])


def folder_of(given: str) -> Path:
    """:raises ChatbridgeError: there is no such folder."""
    folder = Path(os.path.abspath(given))
    if not folder.is_dir():
        raise ChatbridgeError("there is no such folder")
    return folder


def is_off(folder: Path) -> bool:
    """Whether the project says that its agents are not to ask."""
    from chatbridge import projects  # which imports pydantic

    return not projects.settings_of(find_root(str(folder)) or str(folder)).enabled


def plan_folder(
    folder: Path,
    *,
    wait: float = LEAST,
    removal: bool,
    start: Program | None = None,
    environ: Mapping[str, str] | None = None,
) -> Plan:
    """What has to be written in one folder of Claude Code, for launchers that run agents in folders
    of their own. Claude Code reads MCP servers from `.mcp.json` only, and asks before it uses one,
    unless the folder's local settings allow it.

    :raises ChatbridgeError:
    """
    client, here = client_of(CLIENT), places(environ)
    servers, settings = folder / SERVERS, folder / SETTINGS
    if not removal:
        files.check_inside(settings, folder)
        _check_not_refused(settings)
    wanted: dict[Path, list[Part]] = {
        servers: [entry_of(client, wait, start)],
        settings: [PERMISSIONS, ENABLED],
    }
    changes = [
        change_in(path, client, here, parts, project=folder, removal=removal)
        for path, parts in wanted.items()
    ]
    return Plan(
        shown=client.shown,
        changes=tuple(change for change in changes if change is not None),
        restart=client.restart,
    )


def _check_not_refused(settings: Path) -> None:
    try:
        refused = at(loaded("json", files.read(settings)), ("disabledMcpjsonServers",))
    except Unparsable:
        return  # which is said where it is to be changed
    if isinstance(refused, list) and NAME in refused:
        raise ChatbridgeError(
            f"{settings} refuses {NAME} (disabledMcpjsonServers). Take it out there first."
        )
