"""`chatbridge pending`: the open questions, once or live."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from chatbridge.cli.ui.running import new_parser, run

if TYPE_CHECKING:
    from chatbridge.cli.ui.tables import Table

Json = dict[str, Any]

NOTHING = "Nothing is waiting."
TICK = 1.0
LEAVE = "Ctrl-C: leave"
FRAME = 4
"""The live view's lines beside the questions."""


def parser() -> argparse.ArgumentParser:
    found = new_parser("pending", "Lists the open questions, the nearest deadline first.")
    found.add_argument("--watch", action="store_true", help="stay, and show what changes")
    shape = found.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print them as JSON")
    shape.add_argument("--ids", action="store_true", help="print their ids alone, one a line")
    return found


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    return run(lambda: _watch(given) if given.watch else _once(given))


def _once(given: argparse.Namespace) -> int:
    from chatbridge.cli.hub.hub_client import ask_hub

    _print(ask_hub("pending", brief=not given.json)["asks"], given)
    return 0


def _print(asks: list[Json], given: argparse.Namespace) -> None:
    if given.json:
        print(json.dumps(asks, indent=None if given.watch else 2))
    elif given.ids:
        sys.stdout.write("".join(f"{ask['short']}\n" for ask in asks))
    else:
        from chatbridge.cli.ui import tables

        room = tables.console().width if tables.on_terminal() else None
        tables.write(*screen(asks, now=time.time(), room=room), *([""] if given.watch else []))
    sys.stdout.flush()


def screen(asks: list[Json], *, now: float, room: int | None = None) -> list[Table | str]:
    """With `room`, the terminal's width, also what can be done next."""
    if not asks:
        return [NOTHING]
    parts: list[Table | str] = [table(asks, now=now)]
    own = next((ask["short"] for ask in asks if not ask["approval"]), None)
    if room is not None:
        hints = [f"Answer here: chatbridge answer {own}"] if own else []
        hints.append("Live view: chatbridge pending --watch")
        line = "     ".join(hints)
        parts += ["", *([line] if len(line) <= room else hints)]
    return parts


def table(asks: list[Json], *, now: float) -> Table:
    from chatbridge.cli.ui.tables import Column, Table, cell
    from chatbridge.cli.ui.wording import left, seconds_of

    return Table(
        columns=(
            Column(title="ID", strong=True),
            Column(title="PROJECT", most=18),
            Column(title="AGENT", most=14),
            Column(title="QUESTION", gives_way=True),
            Column(title="LEFT", right=True),
        ),
        rows=[
            (
                ask["short"],
                cell(ask["agent"]["project"]),
                cell(ask["agent"]["name"]),
                cell(headline(ask)),
                left(seconds_of(ask["deadline"]) if ask["deadline"] else None, now=now),
            )
            for ask in asks
        ],
    )


def headline(ask: Json) -> str:
    """What an ask is about, in the words of whoever asks."""
    first, count = ask["questions"][0], len(ask["questions"])
    if ask["approval"]:
        return f"Approve: {first['subject']['code'] if 'subject' in first else first['question']}"
    if count == 1:
        return str(first["question"])
    done = f", {ask['done']} done" if ask["done"] else ""
    return f"{ask['title'] or first['question']} ({count} questions{done})"


def _watch(given: argparse.Namespace) -> int:
    from chatbridge.cli.ui import tables

    try:
        steered = tables.on_terminal() and not tables.console().is_dumb_terminal
        if steered and not given.json and not given.ids:
            return _live()
        return _printed_again(given)
    except KeyboardInterrupt:
        return 0  # there is no other way out


def _printed_again(given: argparse.Namespace) -> int:
    """Print everything again at each change, where the screen cannot be redrawn."""
    from chatbridge.cli.hub.hub_client import connected
    from chatbridge.core.errors import HubUnreachable

    with connected() as line:
        for event in line.events("watch", brief=not given.json):
            _print(event["asks"], given)
    raise HubUnreachable("the hub has gone. Watch again when there is another one")


def live_screen(asks: list[Json], *, now: float, height: int) -> list[Table | str]:
    """The questions that fit on the screen, and how many do not."""
    fits = max(height - FRAME, 1)
    parts, more = screen(asks[:fits], now=now), len(asks) - fits
    return [*parts, *([f"and {more} more: chatbridge pending"] if more > 0 else []), "", LEAVE]


def _live() -> int:
    """The table in its place, counting down. A hub that has gone is waited for."""
    from rich.console import Group
    from rich.live import Live

    from chatbridge.cli.hub.hub_client import connected
    from chatbridge.cli.ui import tables
    from chatbridge.core.errors import HubUnreachable

    with connected():
        pass  # without a hub there is nothing to watch
    console = tables.console()
    with Live(console=console, auto_refresh=False, screen=True) as live:

        def show(parts: list[Table | str]) -> None:
            live.update(Group(*tables.pictures(parts, console)))
            live.refresh()

        while True:
            try:
                with connected() as line:
                    line.begin("watch", brief=True)
                    asks: list[Json] | None = None
                    while True:
                        event = line.event(within=TICK)
                        asks = event["asks"] if event else asks
                        if asks is not None:
                            show(live_screen(asks, now=time.time(), height=console.height))
            except HubUnreachable:
                show(["The hub has gone. This goes on with the next one.", "", LEAVE])
                time.sleep(TICK)
