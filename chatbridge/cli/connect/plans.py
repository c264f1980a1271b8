"""The clients on this machine, and what connecting one would write where: as a diff, and the
writing. Nothing is touched before `write`."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from chatbridge.cli.connect import files
from chatbridge.cli.connect.catalogue import (
    ALLOWED,
    ASK_TOOLS,
    CATALOGUE,
    NAME,
    TIMER,
    WHOLE,
    Client,
    Places,
    Program,
    client_of,
    places,
    program,
)
from chatbridge.cli.connect.document import Document, Entry, Paragraph, Part, Words, loaded
from chatbridge.cli.connect.editing import Unparsable, at, is_number
from chatbridge.cli.connect.hooks import Hooks
from chatbridge.cli.connect.instructions import instructions
from chatbridge.cli.connect.opencode_plugin import opencode_plugin
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import visible
from chatbridge.link.root import find_root

LEAST = 3600.0
"""A phone is not looked at every five minutes: no client should give up within the hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    client: Client
    file: Path
    """Where its MCP servers are. It need not exist."""
    connected: bool
    timeout: float | None
    """Seconds that one call may take, as the file says; None: it does not say."""
    problem: str | None = None
    """Why the file cannot be read, a sentence."""
    project: bool = False
    """Whether the file is that of one project."""
    plugin: bool = False
    """Whether the client has our plug-in, and is connected by it."""
    twice: bool = False
    """Whether the file has an entry beside that plug-in."""
    gone: str | None = None
    """The program that the entry names, if it is not there any more."""

    @property
    def gives_up(self) -> float | None:
        """After how many seconds it gives a call up; None: never, as far as is known."""
        return self.client.default if self.timeout is None else self.timeout


def found_clients(environ: Mapping[str, str] | None = None) -> list[Found]:
    """Those whose folder or file exists. Without a home folder: none."""

    def is_here(client: Client) -> bool:
        try:
            return client.folder(here).exists() or client.file(here).exists()
        except OSError:
            return False

    try:
        here = places(environ)
    except ChatbridgeError:
        return []
    return [_found(it, here, it.file(here)) for it in CATALOGUE.values() if is_here(it)]


def connected_in(project: Path, environ: Mapping[str, str] | None = None) -> list[Found]:
    """Those that are connected for this project alone. In the home folder some clients' file is
    the one for every project."""
    try:
        here = places(environ)
    except ChatbridgeError:
        return []
    found = [
        _found(client, here, path, project=True)
        for client in CATALOGUE.values()
        for path in (project / name for name in client.project)
        if path.is_file() and os.path.realpath(path) != os.path.realpath(client.file(here))
    ]
    return [it for it in found if it.connected]


def _found(client: Client, here: Places, path: Path, *, project: bool = False) -> Found:
    problem = None
    tree: dict[str, Any] = {}
    try:
        tree = loaded(client.format, files.read(path))
    except ChatbridgeError as error:
        problem = str(error)
    except Unparsable as error:
        problem = f"{error.sentence(here.shown(path))}."
    entry = at(tree, client.keys)
    there = isinstance(entry, dict)
    if there and client.on is not None:
        there = entry.get(client.on[0], client.on[1]) is client.on[1]
    plugin = not project and has_plugin(client, here)
    return Found(
        client=client,
        file=path,
        connected=there or plugin,
        plugin=plugin,
        twice=there and plugin,
        timeout=_timeout(client, tree, entry) if there else None,
        problem=problem,
        project=project,
        gone=_gone(entry) if there else None,
    )


def _gone(entry: dict[str, Any]) -> str | None:
    command = entry.get("command") or entry.get("cmd")
    program = command[0] if isinstance(command, list) and command else command
    if not isinstance(program, str) or not os.path.isabs(program) or os.path.exists(program):
        return None
    return program


def has_plugin(client: Client, here: Places) -> bool:
    if client.plugin is None or client.settings is None:
        return False
    try:
        settings = loaded("json", files.read(client.folder(here) / client.settings))
    except (ChatbridgeError, Unparsable, RecursionError):
        return False
    return at(settings, client.plugin) is True


def _timeout(client: Client, tree: dict[str, Any], entry: dict[str, Any]) -> float | None:
    if client.timeout is None:
        return None
    said = entry.get(client.timeout)
    if said is None and client.timeout_of_all is not None:
        said = tree.get(client.timeout_of_all)
    if not is_number(said):
        return None
    seconds = said / client.unit
    return seconds if client.ceiling is None else min(seconds, client.ceiling)


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
    removal: bool = False,
    leave_out: Collection[str] = (),
) -> Plan:
    """What connecting a client would write. Disconnecting takes everything back.

    :param project: a folder, for this project alone; None: for all
    :param wait: how many seconds a call should be able to take; None: as the owner's settings say
    :param start: what the client is to start; None: this chatbridge
    :param removal: what disconnecting it would write
    :param leave_out: "hooks", "instructions"
    :raises ChatbridgeError:
    """
    known, here = client_of(client), places(environ)
    if wait is None:
        wait = LEAST if removal else wanted_wait()
    wanted = wanted_in(known, here, project, wait, start, leave_out=leave_out, removal=removal)
    changes = [_change_in(it, known, here, project=project, removal=removal) for it in wanted]
    restart = "Running agents keep it until their next start." if removal else known.restart
    return Plan(shown=known.shown, changes=tuple(it for it in changes if it), restart=restart)


class Wanted(NamedTuple):
    path: Path
    format: str
    parts: Sequence[Part]


def wanted_in(
    client: Client,
    here: Places,
    project: Path | None,
    wait: float,
    start: Program | None = None,
    *,
    leave_out: Collection[str] = (),
    removal: bool = False,
) -> list[Wanted]:
    """What connecting a client wants in which files. A project's files are not the owner's alone,
    so they get the entry and nothing else. :raises ChatbridgeError:"""
    start = start or program()
    entries: list[Part] = [entry_of(client, wait, start)]
    wanted = [Wanted(file_of(client, here, project), client.format, entries)]
    if project is not None:
        return wanted
    parts: list[Part] = [] if client.allow is None else [client.allow]
    command = start.instead("hook")
    if client.hooks and "hooks" not in leave_out:
        parts.append(
            Hooks(hooks=client.hooks, command=command, wait=min(wait, TIMER), unit=client.hook_unit)
        )
    if client.settings is not None and client.folder(here) / client.settings == wanted[0].path:
        entries += parts
    elif client.settings is not None and parts:
        wanted.append(Wanted(client.folder(here) / client.settings, "json", parts))
    if client.hook_script is not None and "hooks" not in leave_out:
        text = Paragraph(text=opencode_plugin(command))
        wanted.append(Wanted(client.folder(here) / client.hook_script, "javascript", [text]))
    told = client.instructions_file(here) if "instructions" not in leave_out else None
    if told and (removal or not client.reads_other_instructions(here)):
        wanted.append(Wanted(told, "text", [Paragraph(text=instructions(client.ask_tool))]))
    return wanted


def write(planned: Plan) -> None:
    """Write it, file by file, each with a copy of the old one beside it.
    :raises ChatbridgeError: this file and those after it were left alone."""
    for change in planned.changes:
        if not change.private:
            files.check_inside(change.path, change.base)
        files.check(change.path, before=change.before)
    for change in planned.changes:
        files.replace(change.path, before=change.before, after=change.after, private=change.private)
        folder = change.path.parent
        # Folders that held nothing but the file go, too. A client's own stays.
        while change.after is None and folder != change.base and folder.is_relative_to(change.base):
            try:
                folder.rmdir()
            except OSError:
                break
            folder = folder.parent


def wanted_wait() -> float:
    """How long a client should let a call wait: as long as a question may, also the one what is
    next, and at least an hour. :raises ChatbridgeError: the settings cannot be used."""
    from chatbridge import settings

    found = settings.load()
    next_task = found.claude.wait if found.claude.when_done == "ask" else 0.0
    return max(found.max_timeout, next_task, LEAST)


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
        told=client.told,
    )


def _change_in(
    wanted: Wanted, client: Client, at: Places, *, project: Path | None, removal: bool
) -> Change | None:
    """What has to change in one file; None: nothing. :raises ChatbridgeError:"""
    path = wanted.path
    if project is not None:
        files.check_inside(path, project)
    before = files.read(path)
    if removal and NAME.encode() not in (before or b""):
        return None  # nothing of ours: it need not even be readable
    way_out = f"chatbridge connect {client.name} --print"
    document = Document(
        path=path, format=wanted.format, content=before, parts=wanted.parts, way_out=way_out
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
        contents = _lines(self.before), _lines(self.after)
        return "\n".join(difflib.unified_diff(*contents, before, after, n=2, lineterm=""))

    def body(self) -> str:
        """The diff without its folder."""
        return f"{self.path.name}{self.diff().partition('@@')[2]}"

    def summary(self) -> str:
        """`~/.codex/config.toml   + 4 lines   backup: config.toml.bak`."""
        if self.after is None:
            return f"{self.shown:<32}  removed: it held nothing else"
        signs = [line[:1] for line in self.diff().splitlines()[2:] if line[:1] in "+-"]
        parts = [f"{sign} {n}" for sign in "+-" if (n := signs.count(sign))]
        count = f"{' '.join(parts)} line{'' if len(signs) == 1 else 's'}"
        note = "new file"
        if self.before is not None:
            note = f"backup: {files.next_backup(self.path, self.before).name}"
        return f"{self.shown:<32}  {count:<14}  {note}"


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").decode(errors="replace").removeprefix("\ufeff")
    lines = [_SECRET.sub(r"\g<name>…", line.rstrip("\r")) for line in text.split("\n")]
    shown = [visible(it if len(it) <= WIDEST else f"{it[:WIDEST]}…") for it in lines]
    return shown[:-1] if text.endswith("\n") or not text else shown


CLIENT = "claude-code"
PERMISSIONS = Words(
    keys=("permissions", "allow"),
    words=[f"{WHOLE}__{tool}" for tool in ASK_TOOLS],
    covered_by=ALLOWED,
)
LOCAL = ".claude/settings.local.json"
ENABLED = Words(
    keys=("enabledMcpjsonServers",), words=[NAME], refused_in=("disabledMcpjsonServers",)
)


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


def plan_folder(folder: Path, *, wait: float, removal: bool) -> Plan:
    """What has to be written in one folder of Claude Code, for launchers that run agents in folders
    of their own. Claude Code reads MCP servers from `.mcp.json` only, and asks before it uses one,
    unless the folder's local settings allow it. :raises ChatbridgeError:"""
    client, here = client_of(CLIENT), places()
    servers, settings = folder / ".mcp.json", folder / LOCAL
    wanted = (
        Wanted(servers, client.format, [entry_of(client, wait)]),
        Wanted(settings, "json", [PERMISSIONS, ENABLED]),
    )
    changes = [_change_in(it, client, here, project=folder, removal=removal) for it in wanted]
    made = tuple(change for change in changes if change is not None)
    return Plan(shown=client.shown, changes=made, restart=client.restart)
