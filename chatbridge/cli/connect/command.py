"""`chatbridge connect`: shows what would change in a client's configuration, asks, and writes."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from chatbridge.cli.connect.catalogue import CLIENTS, UnknownClient, client_of, places
from chatbridge.cli.connect.document import Document, Entry
from chatbridge.cli.connect.found import Found, found_clients
from chatbridge.cli.connect.plans import (
    Change,
    Plan,
    entry_of,
    file_of,
    folder_of,
    is_off,
    plan,
    plan_folder,
    plan_removal,
    wanted_wait,
    write,
)
from chatbridge.cli.ui.running import FAILED, colourful, complain, run, say
from chatbridge.cli.ui.wording import lasted
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import visible

DESCRIPTION = """\
Adds chatbridge to the MCP servers of an agent's program. Shows what would change and asks; the rest
of the file stays as it is, and a copy is kept beside it. Without a client: lists those on this
computer.
"""
USAGE = 2
EPILOG = "clients: {}. For any other: chatbridge connect --print"


def main(argv: list[str]) -> int:
    given = checked(parser(), argv)
    return carried_out(connect, given)


def parser() -> argparse.ArgumentParser:
    found = argument_parser("connect", DESCRIPTION)
    found.add_argument(
        "--print", action="store_true", dest="show", help="print the entry, write nothing"
    )
    return found


def carried_out(work: Callable[[argparse.Namespace], int], given: argparse.Namespace) -> int:
    """The exit code."""

    def carry_out() -> int:
        try:
            return work(given)
        except ChatbridgeError as error:
            complain(str(error))
            return USAGE if isinstance(error, UnknownClient) else FAILED

    return run(carry_out)


def argument_parser(word: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"chatbridge {word}",
        description=description,
        epilog=EPILOG.format(", ".join(CLIENTS)),
    )
    parser.add_argument("client", nargs="?", help="the program, such as codex")
    parser.add_argument(
        "--project", action="store_true", help="for this folder's project only, not for all"
    )
    parser.add_argument(
        "--workspace",
        nargs="+",
        metavar="DIR",
        help="claude-code: these folders, with the permission to use the tools",
    )
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    return parser


def checked(parser: argparse.ArgumentParser, argv: list[str]) -> argparse.Namespace:
    """What was asked for. What does not go together ends the program, with a sentence."""
    given = parser.parse_args(argv)
    if given.workspace and given.client != "claude-code":
        parser.error("--workspace goes with claude-code")
    if given.workspace and given.project:
        parser.error("give --project or --workspace")
    given.folder = Path.cwd() if given.project else None
    given.again = shlex.join([*parser.prog.split(), *argv, "--yes"])
    return given


ANY = "cursor"
"""Most other clients take an entry like this one's."""


def connect(given: argparse.Namespace) -> int:
    """:raises ChatbridgeError:"""
    if given.show:
        return _print(given.client, given.folder)
    if given.client is None:
        return _list()
    if given.workspace:
        return _folders(given, removal=False)
    planned = plan(given.client, project=given.folder)
    if not planned.changes:
        done(f"{planned.shown} is already connected, nothing to change.")
        return 0
    if given.folder is None and given.client not in [it.client for it in found_clients()]:
        print(f"{planned.shown} was not found on this computer. Its file would be a new one.\n")
    return _carry_out(planned, given, f"{planned.shown} is connected. {planned.restart}")


def disconnect(given: argparse.Namespace) -> int:
    """:raises ChatbridgeError:"""
    if given.client is None:
        raise UnknownClient(f"Which client? One of: {', '.join(CLIENTS)}.")
    if given.workspace:
        return _folders(given, removal=True)
    planned = plan_removal(given.client, project=given.folder)
    if not planned.changes:
        done(f"{planned.shown} is not connected, nothing to change.")
        return 0
    return _carry_out(planned, given, f"{planned.shown} is disconnected. {planned.restart}")


def _carry_out(planned: Plan, given: argparse.Namespace, then: str) -> int:
    show_diffs(planned.changes)
    show_summaries(planned.changes)
    code = agreed(yes=given.yes, again=given.again)
    if code is None:
        write(planned)
        done(then)
    return code or 0


def _print(name: str | None, folder: Path | None) -> int:
    client = client_of(name or ANY)
    entry = entry_of(client, wanted_wait())
    if name is None:
        entry = Entry(keys=entry.keys, shape=entry.shape)
        hint = "Most clients take this; look for “MCP servers” in yours. Time-out: an hour or more."
    else:
        here = places()
        hint = f"{client.shown} reads this from {here.shown(file_of(client, here, folder))}:"
    new = Document(path=Path(), format=client.format, content=None, parts=[entry], way_out="")
    say(visible(hint))
    print((new.connected() or b"").decode(), end="")
    return 0


def _list() -> int:
    here = found_clients()
    if not here:
        print(
            "No client that chatbridge knows was found here. It knows:\n"
            f"{', '.join(CLIENTS)}.\n"
            "For any other: chatbridge connect --print"
        )
        return 0
    width = max(len(it.shown) for it in here)
    states = [_state(it) for it in here]
    state_width = max(map(len, states))
    for it, state in zip(here, states, strict=True):
        sign = "!" if it.problem else "✓" if it.connected else "–"
        text = f"{it.shown:<{width}}  {state:<{state_width}}  {places().shown(it.file)}"
        remark(sign, fitting(visible(text)))
    free = next((it.client for it in here if not it.connected and not it.problem), None)
    if free is None:
        print(f"\nTake one out:  chatbridge disconnect {here[0].client}")
    else:
        print(f"\nConnect one:   chatbridge connect {free}")
    print("Any other:     chatbridge connect --print")
    return 0


def _state(found: Found) -> str:
    if found.problem:
        return "its file cannot be read"
    if not found.connected:
        return "not connected"
    limit = found.gives_up
    return "connected" if limit is None else f"connected, waits up to {lasted(limit)}"


def _folders(given: argparse.Namespace, *, removal: bool) -> int:
    """One line for each folder; one that fails does not stop the others."""
    wait = wanted_wait()
    lines: dict[str, tuple[str, str]] = {}
    plans: dict[str, Plan] = {}
    for name in dict.fromkeys(given.workspace):
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
            continue
        lines[name] = ("✓", "not connected" if removal else "already connected")
    if plans:
        _show_each_once(plans)
        code = agreed(yes=given.yes, again=given.again)
        if code is not None:
            return code
    for name, planned in plans.items():
        try:
            write(planned)
            lines[name] = ("✓", "disconnected" if removal else "connected")
        except ChatbridgeError as error:
            lines[name] = ("✗", str(error))
    return _said([(name, *lines[name]) for name in dict.fromkeys(given.workspace)])


def _show_each_once(plans: Mapping[str, Plan]) -> None:
    """Folders in which the same would change share one diff."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, planned in plans.items():
        alike.setdefault(tuple(it.body() for it in planned.changes), []).append(name)
    for first, *others in alike.values():
        show_diffs(plans[first].changes)
        if others:
            print(f"Likewise in {len(others)} more: {', '.join(map(visible, others))}\n")


def _said(lines: Sequence[tuple[str, str, str]]) -> int:
    width = max(len(name) for name, _, _ in lines)
    for name, sign, text in lines:
        remark(sign, visible(f"{name:<{width}}  {text}"))
    return 1 if any(sign == "✗" for _, sign, _ in lines) else 0


_GREEN, _RED, _CYAN, _DIM, _PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[36m", "\x1b[2m", "\x1b[0m"


def show_diffs(changes: Iterable[Change]) -> None:
    for change in changes:
        for line in change.diff().splitlines():
            print(_coloured(line))
        print()


def show_summaries(changes: Iterable[Change]) -> None:
    for change in changes:
        print(f"  {change.summary()}")


def agreed(*, yes: bool, again: str) -> int | None:
    """Whether to write: None, or the exit code if not."""
    if yes:
        return None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
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


def fitting(text: str) -> str:
    """A line that does not run over the terminal's edge, with its sign before it."""
    if not sys.stdout.isatty():
        return text
    room = shutil.get_terminal_size().columns - len("✓ ")
    return text if len(text) <= room else f"{text[: room - 1]}…"


def done(text: str) -> None:
    print(f"{_painted('✓', _GREEN)} {text}")


def remark(sign: str, text: str) -> None:
    colour = {"✗": _RED, "✓": _GREEN}.get(sign, _DIM)
    print(f"{_painted(sign, colour)} {text}")


def _coloured(line: str) -> str:
    if line.startswith(("+++", "---", "@@")):
        return _painted(line, _CYAN if line.startswith("@@") else _DIM)
    return _painted(line, {"+": _GREEN, "-": _RED}.get(line[:1], ""))


def _painted(text: str, colour: str) -> str:
    return f"{colour}{text}{_PLAIN}" if colour and colourful() else text
