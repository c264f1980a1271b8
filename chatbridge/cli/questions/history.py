"""`chatbridge history`: what was asked before, and how it ended."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from chatbridge.cli.questions.pending import headline
from chatbridge.cli.ui.running import new_parser, run

if TYPE_CHECKING:
    from chatbridge.cli.ui.tables import Table

Json = dict[str, Any]

LIMIT = 20
VERDICTS = {"allow": "allowed once", "session": "allowed for this session", "deny": "denied"}


def parser() -> argparse.ArgumentParser:
    found = new_parser("history", "Lists questions that have ended, the newest last, by day.")
    found.add_argument("--search", metavar="TEXT", help="only those with this in them")
    found.add_argument(
        "--limit", metavar="N", type=_count, default=LIMIT, help=f"how many ({LIMIT})"
    )
    shape = found.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print them as JSON, the newest first")
    shape.add_argument("--yaml", action="store_true", help="print them as YAML, the newest first")
    return found


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 1_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 1000")
    return int(text)


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    return run(lambda: _history(given))


def _history(given: argparse.Namespace) -> int:
    from chatbridge.cli.hub.hub_client import ask_hub
    from chatbridge.cli.ui import tables

    brief = not (given.json or given.yaml)
    asks = ask_hub("history", limit=given.limit, search=given.search, brief=brief)["asks"]
    if given.json:
        print(json.dumps(asks, indent=2))
    elif given.yaml:
        sys.stdout.write(_yaml(asks, reveal_hidden=tables.on_terminal()))
    elif not asks:
        print("Nothing was found." if given.search else "Nothing has been asked yet.")
    else:
        tables.write(*screen(asks))
    return 0


def screen(asks: list[Json]) -> list[Table | str]:
    """A table for each day. Their columns are in line: it is read as one list."""
    from chatbridge.cli.ui.tables import Column, Table, cell
    from chatbridge.cli.ui.wording import day, seconds_of
    from chatbridge.core.cards.phrases import clock_time

    days: dict[str, list[tuple[str, ...]]] = {}
    for ask in reversed(asks):
        at = seconds_of(ask["outcome"]["at"])
        row = (clock_time(at), cell(ask["agent"]["project"]), cell(headline(ask)), cell(said(ask)))
        days.setdefault(day(at), []).append(row)
    columns = (
        Column(title="TIME", strong=True),
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
        return _verdict(ask, answers[0]["values"][0]) if answers else ended
    if answers:
        late = " (late)" if ask.get("late") else ""
        return "; ".join(_answer(answer) for answer in answers) + late
    return f"{ended}: {outcome['reason']}" if outcome.get("reason") else ended


def _verdict(ask: Json, verdict: str) -> str:
    subject = ask["questions"][0].get("subject") or {}
    if verdict == "allow" and subject.get("beyond"):
        return "allowed"  # more than once, as the card said
    return VERDICTS[verdict]


def _answer(answer: Json) -> str:
    if "askBack" in answer:
        return f"asked to {answer['askBack']}"
    parts = [*answer["values"], *filter(None, [answer.get("customText")])]
    return ", ".join(parts) or "skipped"


def _yaml(asks: list[Json], *, reveal_hidden: bool) -> str:
    """The same as JSON has. `reveal_hidden`: for a terminal, which must not be steered by it."""
    import yaml

    from chatbridge.core.text import visible

    def shown(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shown(item) for key, item in value.items()}
        if isinstance(value, list):
            return [shown(item) for item in value]
        return visible(value) if isinstance(value, str) else value

    found = shown(asks) if reveal_hidden else asks
    text: str = yaml.safe_dump(found, allow_unicode=True, sort_keys=False)
    return text
