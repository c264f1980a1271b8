"""`chatbridge connect` and `disconnect`: show what would change in a client's configuration, ask,
and write."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from chatbridge.cli.connect.catalogue import CLIENTS, PLUGIN, UnknownClient, client_of
from chatbridge.cli.connect.document import Document, ServerEntry
from chatbridge.cli.connect.installed import InstalledClient, has_plugin, installed_clients
from chatbridge.cli.connect.machine import user_folders
from chatbridge.cli.connect.plans import (
    Change,
    Plan,
    Wanted,
    entry_of,
    folder_of,
    is_off,
    plan,
    plan_folder,
    wanted_in,
    wanted_wait,
    write,
)
from chatbridge.cli.ui.running import (
    WrongUsage,
    columns,
    fitted,
    is_interactive,
    prints_colours,
    say,
)
from chatbridge.cli.ui.wording import lasted
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import visible

ANY = "cursor"
"""Most other clients take an entry like this one's."""
BOTH = f"""\
Claude Code has the chatbridge plug-in, which brings the same. With both, nothing is asked twice,
but agents see every tool twice. To keep only what follows: claude plugin uninstall {PLUGIN}"""
PARAGRAPH = "Without a paragraph for agents: --no-instructions"
PARTS = "Without hooks, or without a paragraph for agents: --no-hooks, --no-instructions"
_GREEN, _RED, _CYAN, _DIM, _PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[36m", "\x1b[2m", "\x1b[0m"
_COLOURS = {"+++": _DIM, "---": _DIM, "@@": _CYAN, "+": _GREEN, "-": _RED}
"""By how a line of a diff begins; the first that fits."""


class WhichClient(ChatbridgeError):
    exit_code = 2


def connect(given: argparse.Namespace) -> int:
    project = _project(given)
    if given.show:
        return _print(given, project)
    return _list() if given.client is None else _change(given, project, removal=False)


def disconnect(given: argparse.Namespace) -> int:
    project = _project(given)
    if given.client is None:
        raise WhichClient(f"Which client? One of: {', '.join(CLIENTS)}.")
    return _change(given, project, removal=True)


def _project(given: argparse.Namespace) -> Path | None:
    if given.workspace and given.client != "claude-code":
        raise WrongUsage("--workspace goes with claude-code")
    if given.workspace and given.project:
        raise WrongUsage("give --project or --workspace")
    try:
        client_of(given.client or ANY)
    except UnknownClient as error:
        raise WhichClient(str(error)) from None
    return Path.cwd() if given.project else None


def _change(given: argparse.Namespace, project: Path | None, *, removal: bool) -> int:
    word = "disconnect" if removal else "connect"
    again = shlex.join(["chatbridge", word, *given.argv, "--yes"])
    if given.workspace:
        return _folders(given, again, removal=removal)
    leave_out = () if removal else given.leave_out
    planned = plan(given.client, project=project, removal=removal, leave_out=leave_out)
    if not planned.changes:
        done(f"{planned.title} is {'not' if removal else 'already'} connected, nothing to change.")
        return 0
    here = [it.client.name for it in installed_clients()]
    if not removal and project is None and given.client not in here:
        print(f"{planned.title} was not found on this computer. Its file would be a new one.\n")
    if not removal and project is None and has_plugin(client_of(given.client), user_folders()):
        print(f"{BOTH}\n")
    show_diffs(planned.changes)
    show_summaries(planned.changes)
    if not removal and len(planned.changes) > 1:
        known = client_of(given.client)
        print(f"\n{PARTS if known.hooks or known.hook_script else PARAGRAPH}\n")
    code = agreed(yes=given.yes, again=again)
    if code is None:
        write(planned)
        done(f"{planned.title} is {word}ed. {planned.restart}")
    return code or 0


def _print(given: argparse.Namespace, folder: Path | None) -> int:
    client, wait, here = client_of(given.client or ANY), wanted_wait(), user_folders()
    if given.client is None:
        entry = entry_of(client, wait)
        wanted = [Wanted(Path(), client.format, [ServerEntry(keys=entry.keys, shape=entry.shape)])]
        hint = "Most clients take this; look for “MCP servers” in yours. Time-out: an hour or more."
    else:
        hint = f"{client.title} reads this from {{}}:"
        wanted = wanted_in(client, here, folder, wait, leave_out=given.leave_out)
    for path, format_name, parts_of_file in wanted:
        new = Document(
            path=path, format=format_name, content=None, parts=parts_of_file, way_out=""
        ).connected()
        say(visible(hint.format(here.display_path(path))))
        print((new or b"").decode(), end="", flush=True)
    return 0


def _list() -> int:
    here = installed_clients()
    if not here:
        print(
            "No client that chatbridge knows was found here. It knows:\n"
            f"{', '.join(CLIENTS)}.\n"
            "For any other: chatbridge connect --print"
        )
        return 0
    width = max(len(it.client.title) for it in here)
    states = [_state(it) for it in here]
    state_width = max(map(len, states))
    room = columns() - len("✓ ") if sys.stdout.isatty() else None
    for it, state in zip(here, states, strict=True):
        sign = "!" if it.problem else "✓" if it.connected else "–"
        file = user_folders().display_path(it.file)
        text = visible(f"{it.client.title:<{width}}  {state:<{state_width}}  {file}")
        remark(sign, text if room is None or len(text) <= room else f"{text[: room - 1]}…")
    free = next((it.client.name for it in here if not it.connected and not it.problem), None)
    if free is None:
        print(f"\nRemove one:    chatbridge disconnect {here[0].client.name}")
    else:
        print(f"\nConnect one:   chatbridge connect {free}")
    print("Any other:     chatbridge connect --print")
    return 0


def _state(found: InstalledClient) -> str:
    if found.problem:
        return "its file cannot be read"
    if not found.connected:
        return "not connected"
    limit = found.gives_up
    return "connected" if limit is None else f"connected, waits up to {lasted(limit)}"


def _folders(given: argparse.Namespace, again: str, *, removal: bool) -> int:
    """One line for each folder; one that fails does not stop the others."""
    wait = wanted_wait()
    lines: dict[str, tuple[str, str]] = dict.fromkeys(given.workspace, ("", ""))
    plans: dict[str, Plan] = {}
    for name in lines:
        try:
            folder = folder_of(name)
            if not removal and is_off(folder):
                lines[name] = ("–", "skipped: its .chatbridge.toml says enabled = false")
                continue
            planned = plan_folder(folder, wait=wait, removal=removal)
        except ChatbridgeError as error:
            lines[name] = ("✗", str(error))
            continue
        if planned.changes:
            plans[name] = planned
        else:
            lines[name] = ("✓", "not connected" if removal else "already connected")
    if plans:
        _show_each_once(plans)
        code = agreed(yes=given.yes, again=again)
        if code is not None:
            return code
    for name, planned in plans.items():
        try:
            write(planned)
            lines[name] = ("✓", "disconnected" if removal else "connected")
        except ChatbridgeError as error:
            lines[name] = ("✗", str(error))
    width = max(map(len, lines))
    for name, (sign, text) in lines.items():
        remark(sign, visible(f"{name:<{width}}  {text}"))
    return 1 if any(sign == "✗" for sign, _ in lines.values()) else 0


def _show_each_once(plans: Mapping[str, Plan]) -> None:
    """Folders in which the same would change share one diff."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, planned in plans.items():
        alike.setdefault(tuple(it.body() for it in planned.changes), []).append(name)
    for first, *others in alike.values():
        show_diffs(plans[first].changes)
        if others:
            print(f"Likewise in {len(others)} more: {', '.join(map(visible, others))}\n")


def show_diffs(changes: Iterable[Change]) -> None:
    for change in changes:
        for line in change.diff().splitlines():
            colours = (colour for begin, colour in _COLOURS.items() if line.startswith(begin))
            print(_painted(line, next(colours, "")))
        print()


def show_summaries(changes: Iterable[Change]) -> None:
    for change in changes:
        print(fitted(f"  {change.summary()}"))


def agreed(*, yes: bool, again: str) -> int | None:
    """Whether to write: None, or the exit code if not."""
    if yes:
        return None
    if not is_interactive():
        say(f"Nothing was written: nobody is there to ask. To write it: {again}")
        return 2
    try:
        answer = input("Write these? [Y/n] ").strip().lower()
    except (EOFError, KeyboardInterrupt):
        print()
        answer = "n"
    if answer in ("", "y", "yes"):
        return None
    print("Nothing was written.")
    return 1


def done(text: str) -> None:
    remark("✓", text)


def remark(sign: str, text: str) -> None:
    print(f"{_painted(sign, {'✗': _RED, '✓': _GREEN}.get(sign, _DIM))} {text}")


def _painted(text: str, colour: str) -> str:
    return f"{colour}{text}{_PLAIN}" if colour and prints_colours() else text
