"""`chatbridge pending`, once or live, `chatbridge history` and `chatbridge summary`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any, NoReturn

from chatbridge.cli.hub.hub_client import HubGone, NotRunning, ask_hub, connected, is_set_up
from chatbridge.cli.ui import tables
from chatbridge.cli.ui.running import columns
from chatbridge.cli.ui.tables import Column, Table
from chatbridge.cli.ui.wording import cell, day, left, seconds_of
from chatbridge.core.errors import HubUnreachable
from chatbridge.core.text import visible

Json = dict[str, Any]

TICK_SECONDS = 1.0
LEAVE = "Ctrl-C: leave"
FRAME_LINES = 4
"""The live view's lines beside the questions."""
NARROW_COLUMNS = 60
"""Columns of a terminal on which the time a snooze ends would be cut off beside its words."""
VERDICTS = {"allow": "allowed once", "session": "allowed for this session", "deny": "denied"}


def pending(given: argparse.Namespace) -> int:
    if given.watch:
        return _watch(given)
    asks = _asks("pending", brief=not given.json)
    _print(asks, given)
    if not asks and not (given.json or given.ids):
        _say_next()
    return 0


def _asks(do: str, **given: Any) -> list[Json]:
    return list(from_hub_or_database(do, "asks", **given))


def from_hub_or_database(do: str, part: str, **given: Any) -> Any:
    try:
        return ask_hub(do, **given)[part]
    except NotRunning:
        from chatbridge.cli.questions import stored

        found = getattr(stored, do)(**given)
        return ask_hub(do, start=True, **given)[part] if found is None else found


def _say_next() -> None:
    if not is_set_up():
        print("Next: chatbridge setup")


def _print(asks: list[Json], given: argparse.Namespace) -> None:
    if given.json:
        print(json.dumps(asks, indent=None if given.watch else 2))
    elif given.ids:
        sys.stdout.write("".join(f"{ask['short']}\n" for ask in asks))
    else:
        room = columns() if tables.on_terminal() else None
        parts = pending_screen(asks, now=time.time(), room=room)
        tables.write(*parts, *([""] if given.watch else []))
    sys.stdout.flush()


def pending_screen(asks: list[Json], *, now: float, room: int | None = None) -> list[Table | str]:
    """With `room`, the terminal's width, also what can be done next."""
    if not asks:
        return ["Nothing is waiting."]
    columns = (
        Column(title="ID"),
        Column(title="PROJECT", most=18),
        Column(title="AGENT", most=14),
        Column(title="QUESTION", gives_way=True),
        Column(title="LEFT", right=True),
    )
    rows = [
        (
            ask["short"],
            cell(ask["agent"]["project"]),
            cell(ask["agent"]["name"]),
            cell(("urgent: " if ask.get("priority") == "urgent" else "") + headline(ask)),
            _left(ask, now=now, narrow=room is not None and room < NARROW_COLUMNS),
        )
        for ask in asks
    ]
    parts: list[Table | str] = [Table(columns=columns, rows=rows)]
    if room is not None:
        here = (ask for ask in asks if not ask["approval"] and "whatNext" not in ask)
        own = next((ask["short"] for ask in here), None)
        hints = [f"Answer here: chatbridge answer {own}"] if own else []
        hints.append("Live view: chatbridge pending --watch")
        line = "     ".join(hints)
        parts += ["", *([line] if len(line) <= room else hints)]
    return parts


def _left(ask: Json, *, now: float, narrow: bool) -> str:
    from chatbridge.core.cards.phrases import format_time

    if snoozed := ask.get("snoozedUntil"):
        words = "back" if narrow else "snoozed until"
        return f"{words} {format_time(seconds_of(snoozed), now=now)}"
    return left(seconds_of(ask["deadline"]) if ask["deadline"] else None, now=now)


def headline(ask: Json) -> str:
    """What an ask is about, in the words of whoever asks."""
    first, count = ask["questions"][0], len(ask["questions"])
    text = ask.get("headline") or first["question"]  # an older hub does not say it
    if ask["approval"]:
        about = first.get("subject") or {}
        return f"Approve: {about.get('file') or about.get('code') or text}"
    if count == 1:
        return str(text)
    done = f", {ask['done']} done" if ask["done"] else ""
    return f"{ask['title'] or text} ({count} questions{done})"


def _watch(given: argparse.Namespace) -> int:
    try:
        if tables.supports_escapes() and not given.json and not given.ids:
            _live()
        with connected() as line:
            line.begin("watch", brief=not given.json)
            while event := line.event(within=None):
                _print(event["asks"], given)
    except KeyboardInterrupt:
        pass  # there is no other way out
    except HubGone:
        raise HubUnreachable("the hub has stopped. Watch again when another one runs") from None
    return 0


def live_screen(asks: list[Json], *, now: float, height: int) -> list[Table | str]:
    """The questions that fit on the screen, and how many do not."""
    fits = max(height - FRAME_LINES, 1)
    parts, more = pending_screen(asks[:fits], now=now), len(asks) - fits
    return [*parts, *([f"and {more} more: chatbridge pending"] if more > 0 else []), "", LEAVE]


def _live() -> NoReturn:
    """The table in its place, counting down. A hub that has gone is waited for."""
    from shutil import get_terminal_size

    def show(parts: list[Table | str]) -> None:
        drawn = "\n".join(tables.lines(parts, columns(), bold=True))
        print(f"\x1b[H\x1b[J{drawn}", end="", flush=True)

    with connected():
        pass  # without a hub there is nothing to watch
    print("\x1b[?1049h\x1b[?25l", end="")  # a screen of its own, without a cursor
    try:
        while True:
            try:
                with connected() as line:
                    line.begin("watch", brief=True)
                    asks: list[Json] | None = None
                    while True:
                        event = line.event(within=TICK_SECONDS)
                        asks = event["asks"] if event else asks
                        if asks is not None:
                            height = get_terminal_size().lines
                            show(live_screen(asks, now=time.time(), height=height))
            except HubUnreachable:
                show(["The hub has stopped. This continues with the next one.", "", LEAVE])
                time.sleep(TICK_SECONDS)
    finally:
        print("\x1b[?25h\x1b[?1049l", end="", flush=True)


def history(given: argparse.Namespace) -> int:
    brief = not (given.json or given.yaml)
    asks = _asks("history", limit=given.limit, search=given.search, brief=brief)
    if given.json:
        print(json.dumps(asks, indent=2))
    elif given.yaml:
        import yaml

        # A terminal must not be steered by what an agent wrote.
        found = _revealed(asks) if tables.on_terminal() else asks
        sys.stdout.write(yaml.safe_dump(found, allow_unicode=True, sort_keys=False))
    elif not asks:
        print("Nothing was found." if given.search else "The history is empty.")
        _say_next()
    else:
        tables.write(*history_screen(asks))
    return 0


def summary(given: argparse.Namespace) -> int:
    found = from_hub_or_database("summary", "summary", since=given.since, brief=not given.json)
    if given.json:
        print(json.dumps(found, indent=2))
    else:
        room = columns() if tables.on_terminal() else None
        tables.write(*summary_screen(found, now=time.time(), room=room))
        if not found["waiting"]:
            _say_next()
    return 0


def summary_screen(found: Json, *, now: float, room: int | None = None) -> list[Table | str]:
    from chatbridge.core.nights.hours import Period
    from chatbridge.core.nights.summary import Tally, format_counts, format_heading

    tally = Tally(
        timed_out=found["timedOut"],
        late=found["lateAnswers"],
        notices=found["notices"],
        failed=found["failedCommands"],
    )
    asks = found["waiting"]
    heading = format_heading(Period(seconds_of(found["since"]), seconds_of(found["until"])))
    screen: list[Table | str] = [heading, *format_counts(len(asks), tally)]
    return [*screen, "", *pending_screen(asks, now=now, room=room)] if asks else screen


def history_screen(asks: list[Json]) -> list[Table | str]:
    """A table for each day. Their columns are in line: it is read as one list."""
    from chatbridge.core.cards.phrases import clock_time

    days: dict[str, list[tuple[str, ...]]] = {}
    for ask in reversed(asks):
        at = seconds_of(ask["outcome"]["at"])
        row = (clock_time(at), cell(ask["agent"]["project"]), cell(headline(ask)), cell(said(ask)))
        days.setdefault(day(at), []).append(row)
    columns = (
        Column(title="TIME"),
        Column(title="PROJECT", most=18),
        Column(title="QUESTION", gives_way=True),
        Column(title="ANSWER", gives_way=True),
    )
    parts: list[Table | str] = []
    for name, rows in days.items():
        parts += [*([""] if parts else []), name]
        parts.append(Table(columns=columns, rows=rows, headed=False))
    return parts


def said(ask: Json) -> str:
    """How it ended, in a few words."""
    outcome, ended = ask.get("late") or ask["outcome"], str(ask["status"]).replace("_", " ")
    answers = outcome["answers"]
    if ask["approval"]:
        if not answers:
            return ended
        verdict, subject = answers[0]["values"][0], ask["questions"][0].get("subject") or {}
        if grant := outcome.get("grant"):
            edits = f", edits in {grant['folder']}" if grant["folder"] else ""
            taken_back = ", taken back" if grant["takenBackAt"] else ""
            return f"allowed {grant['lasting']}{edits}{taken_back}"
        # More than once, as the card said.
        return "allowed" if verdict == "allow" and subject.get("beyond") else VERDICTS[verdict]
    if answers:
        answered = ask.get("said") or "; ".join(map(_answer, answers))
        return f"{answered} (late)" if ask.get("late") else answered
    return f"{ended}: {outcome['reason']}" if outcome.get("reason") else ended


def _answer(answer: Json) -> str:
    if "askBack" in answer:
        return f"asked to {answer['askBack']}"
    parts = [*answer["values"], *filter(None, [answer.get("customText")])]
    return ", ".join(parts) or "skipped"


def _revealed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _revealed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_revealed(item) for item in value]
    return visible(value) if isinstance(value, str) else value
