"""Measures chatbridge, each figure beside a reference of the same run; prints a table with the
aims, and keeps the figures as JSON.

`draw` writes what was kept into the documentation: its tables and its picture.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.bench import document
from tests.bench.computer import computer, in_words
from tests.bench.machine import Json
from tests.bench.parts import PARTS, Part, full, quick
from tests.bench.table import table
from tests.bench.watchdog import Hung, say, watchdog

BUSY = 0.5
"""A load above which a machine is not idle."""


def main() -> int:
    options = _parser().parse_args()
    if options.do == "draw":
        for written in document.draw(_kept(options.json)):
            print(f"  {written}")
        return 0
    if options.do == "table":
        print(table(_kept(options.json)))
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing is left running
    # Where byte code is not written, every start compiles: that would measure the wrong thing.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    wanted = [part for part in PARTS if not options.only or part.name in options.only]
    try:
        failed = _measure(wanted, options.json, is_quick=options.quick, fresh=not options.only)
    except KeyboardInterrupt:
        say("Ended. What was measured until then is kept.")
        return 130
    print(table(_kept(options.json)))
    print(f"\nKept in {options.json}. Into the documentation: python -m tests.bench draw")
    if failed:
        say(f"Without figures, for the reasons above: {', '.join(failed)}")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    names = "\n".join(f"  {part.name:<12}{part.what}" for part in PARTS)
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=__doc__,
        epilog=f"parts:\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "do", nargs="?", choices=("measure", "table", "draw"), default="measure", help="what to do"
    )
    parser.add_argument(
        "--only",
        metavar="PART",
        action="append",
        choices=[part.name for part in PARTS],
        help="this part alone, or several of them; the other figures stay",
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, to try it out")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="where to keep them")
    return parser


def _kept(path: Path) -> Json:
    if not path.exists():
        raise SystemExit(f"There is no {path}. Run: make bench")
    kept: Json = json.loads(path.read_text())
    return kept


def _measure(parts: list[Part], path: Path, *, is_quick: bool, fresh: bool) -> list[str]:
    """The names of those that have failed. What was measured is kept part by part."""
    figures: Json = {} if fresh or not path.exists() else _kept(path)
    # One quick part among the others makes the whole no measurement.
    is_quick_still = is_quick or bool(figures.get("quick"))
    figures |= {"machine": computer(), "date": time.strftime("%Y-%m-%d"), "quick": is_quick_still}
    say(in_words(figures["machine"]))
    if figures["machine"]["load"] > BUSY:
        say(f"This machine is busy (load {figures['machine']['load']}): times will be too long.")
    failed = []
    began = time.monotonic()
    for number, part in enumerate(parts, start=1):
        say(f"[{number:2}/{len(parts)}] {part.name}: {part.what} …")
        started = time.monotonic()
        figures.pop(part.name, None)
        try:
            figures[part.name] = asyncio.run(_run(part, quick if is_quick else full))
        except (Hung, AssertionError, OSError, RuntimeError):
            traceback.print_exc()
            failed.append(part.name)
        say(f"        {time.monotonic() - started:.0f} s")
        path.write_text(json.dumps(figures, indent=2) + "\n")
    say(f"{time.monotonic() - began:.0f} s in all\n")
    return failed


async def _run(part: Part, rounds: Callable[[int], int]) -> Json:
    with watchdog(part.name, part.at_most):
        return await part.run(rounds)


if __name__ == "__main__":
    sys.exit(main())
