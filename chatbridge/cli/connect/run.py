"""What the two commands do once they know what is asked of them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from chatbridge.cli.connect import screen
from chatbridge.cli.connect.catalogue import CLIENTS, UnknownClient, client_of
from chatbridge.cli.connect.document import connected
from chatbridge.cli.connect.found import Found, found_clients
from chatbridge.cli.connect.parts import Entry
from chatbridge.cli.connect.places import places
from chatbridge.cli.connect.plans import (
    Plan,
    entry_of,
    file_of,
    plan,
    plan_removal,
    wanted_wait,
    write,
)
from chatbridge.cli.connect.workspace import folder_of, is_off, plan_folder
from chatbridge.cli.ui.running import say
from chatbridge.cli.ui.times import lasted
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import visible

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
        screen.done(f"{planned.shown} is already connected, nothing to change.")
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
        screen.done(f"{planned.shown} is not connected, nothing to change.")
        return 0
    return _carry_out(planned, given, f"{planned.shown} is disconnected. {planned.restart}")


def _carry_out(planned: Plan, given: argparse.Namespace, then: str) -> int:
    screen.show_diffs(planned.changes)
    screen.show_summaries(planned.changes)
    code = screen.agreed(yes=given.yes, again=given.again)
    if code is None:
        write(planned)
        screen.done(then)
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
    whole = connected(Path(), client.format, None, [entry], "")
    say(visible(hint))
    print((whole or b"").decode(), end="")
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
        screen.remark(sign, screen.fitting(visible(text)))
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
        code = screen.agreed(yes=given.yes, again=given.again)
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
        screen.show_diffs(plans[first].changes)
        if others:
            print(f"Likewise in {len(others)} more: {', '.join(map(visible, others))}\n")


def _said(lines: Sequence[tuple[str, str, str]]) -> int:
    width = max(len(name) for name, _, _ in lines)
    for name, sign, text in lines:
        screen.remark(sign, visible(f"{name:<{width}}  {text}"))
    return 1 if any(sign == "✗" for _, sign, _ in lines) else 0
