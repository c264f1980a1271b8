"""`chatbridge stats`: what agents asked, how that ended, and how long they waited."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from chatbridge.cli.hub.hub_client import is_set_up
from chatbridge.cli.questions.lists import from_hub_or_database
from chatbridge.cli.ui import tables
from chatbridge.cli.ui.running import columns, wrapped
from chatbridge.cli.ui.tables import Column, Table
from chatbridge.cli.ui.wording import cell, duration
from chatbridge.core.cards.phrases import format_duration
from chatbridge.core.statistics import BETWEEN, COUNTED, ended_words, is_empty, time_words

Json = dict[str, Any]

BAR = 24
INDENT = "  "


def stats(given: argparse.Namespace) -> int:
    found = from_hub_or_database("stats", "stats", seconds=given.since)
    if given.json:
        print(json.dumps(found, indent=2))
        return 0
    room = columns() if tables.on_terminal() else None
    for parts in stats_screen(found, over=duration(given.since), room=room):
        tables.write(*parts)
    if is_empty(found) and not is_set_up():
        print("Next: chatbridge setup")
    sys.stdout.flush()
    return 0


def stats_screen(found: Json, *, over: str, room: int | None) -> list[list[Table | str]]:
    """Parts that are printed one after another: each has at most one kind of table."""
    if is_empty(found):
        return [[f"No agent has asked anything in the last {over}."]]
    more = found["agentsNotListed"]
    return [
        [f"The last {over}", *_told(found["total"], room), ""],
        _agents(found["agents"], room),
        [f"and {more:,} more that waited less", ""] if more else [""],
        [*_lines("By the hour of the day in which they asked", room)],
        [_hours(found["hours"], room), ""],
        [*_lines(COUNTED, room)],
    ]


def _lines(text: str, room: int | None, *, indent: str = "") -> list[str]:
    return [indent + text] if room is None else wrapped(text, room, indent=indent, hanging=indent)


def _agents(agents: list[Json], room: int | None) -> list[Table | str]:
    """A table where it fits, else a paragraph for each agent."""
    titles = ("ASKED", "ANSWERED", "TIMED OUT", "CANCELLED", "MEDIAN", "WORST", "APPROVALS")
    names = (Column(title="PROJECT", most=18), Column(title="AGENT", most=14))
    shown = (*names, *(Column(title=title, right=True) for title in (*titles, "WAITED")))
    table = Table(columns=shown, rows=[_row(agent) for agent in agents])
    wide = sum(tables.layout([table], None)) + tables.GAP * (len(shown) - 1)
    if room is None or wide <= room:
        return [table]
    return [line for agent in agents for line in _paragraph(agent, room)]


def _row(agent: Json) -> list[str]:
    questions = agent["questions"]
    counts = [questions[key] for key in ("asked", "answered", "timedOut", "cancelled")]
    return [
        cell(agent["project"]),
        cell(agent["agent"]),
        *(f"{count:,}" for count in counts),
        *(_time(agent[key]) for key in ("medianSeconds", "worstSeconds")),
        f"{agent['approvals']['asked']:,}",
        _time(agent["waitedSeconds"]),
    ]


def _paragraph(agent: Json, room: int) -> list[str]:
    name = f"{cell(agent['project'])} · {cell(agent['agent'])}"
    return [tables.cut(name, room), *_told(agent, room)]


def _told(figures: Json, room: int | None) -> list[str]:
    lines = []
    for text in (ended_words(figures), time_words(figures)):
        fits = room is None or len(INDENT) + len(text) <= room
        for part in [text] if fits else text.split(BETWEEN):
            lines += _lines(part, room, indent=INDENT)
    return lines


def _hours(hours: list[Json], room: int | None) -> Table:
    """With a bar for what was waited, where there is room for one."""
    most = max(hour["waitedSeconds"] for hour in hours)
    rows = [
        [
            f"{hour['hour']:02}:00",
            *(f"{hour[key]:,}" for key in ("asked", "answered", "timedOut")),
            _time(hour["waitedSeconds"]),
        ]
        for hour in hours
    ]
    titles = ("HOUR", "ASKED", "ANSWERED", "TIMED OUT", "WAITED")
    shown = tuple(Column(title=title, right=bool(number)) for number, title in enumerate(titles))
    plain = Table(columns=shown, rows=rows)
    left = BAR
    if room is not None:
        left = room - sum(tables.layout([plain], None)) - tables.GAP * len(shown)
    if left < tables.MIN_WIDTH or not most:
        return plain
    longest = min(left, BAR)
    bars = ["█" * -(-hour["waitedSeconds"] * longest // most) for hour in hours]
    columns = (*shown, Column(title=""))
    return Table(columns=columns, rows=[[*row, bar] for row, bar in zip(rows, bars, strict=True)])


def _time(seconds: int | None) -> str:
    return format_duration(seconds) if seconds else "–"
