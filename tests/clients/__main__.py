"""Plays every scene with every program that is installed, and prints what came of it.

    python -m tests.clients [--only NAME …] [--scene NAME …] [--jobs N] [--json FILE] [--write-docs]

Its exit code is 1 where a program did what is not known of it. CHATBRIDGE_CLIENTS_KEEP names a
folder that keeps each run's home, to see what happened.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from tests.clients import isolation
from tests.clients.desk import desk
from tests.clients.programs import PROGRAMS, Program
from tests.clients.scenes import SCENES, Scene
from tests.clients.table import Json, as_text, write_docs

STOPPING = threading.Event()


def main() -> int:
    given = _arguments()
    # What a shell starts with & ignores Ctrl-C, and so would the programs that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    how = isolation.enter()
    print(f"  clients   {how}", flush=True)
    programs = [it for it in PROGRAMS if not given.only or it.name in given.only]
    scenes = [it for it in SCENES if not given.scene or it.name in given.scene]
    tried = [it for it in programs if it.installed]
    pool = ThreadPoolExecutor(given.jobs)
    try:
        rows = list(pool.map(lambda program: _row(program, scenes), tried))
    finally:  # After Ctrl-C nothing more begins
        STOPPING.set()
        pool.shutdown(cancel_futures=True)
    found: Json = {
        "date": datetime.now(UTC).strftime("%-d %B %Y"),
        "isolation": how,
        "headings": [it.heading for it in scenes],
        "rows": rows,
        "leftOut": [it.shown for it in programs if not it.installed],
    }
    print(f"\n{as_text(found)}")
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    if given.write_docs:
        write_docs(found)
    surprises = [it for row in rows for it in row["surprises"]]
    print("\n".join(surprises))
    return int(bool(surprises))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.clients")
    parser.add_argument("--only", nargs="+", choices=[it.name for it in PROGRAMS])
    parser.add_argument("--scene", nargs="+", choices=[it.name for it in SCENES])
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--json", help="write the results to this file, too")
    parser.add_argument("--write-docs", action="store_true", help="put them into docs/clients.md")
    given = parser.parse_args()
    if given.write_docs and (given.only or given.scene):
        parser.error("--write-docs needs every program and every scene")
    return given


def _row(program: Program, scenes: Sequence[Scene]) -> Json:
    row: Json = {"program": program.shown, "version": program.version, "era": "?"}
    row |= {"cells": [], "surprises": []}
    for scene in scenes:
        cell = "–"
        if scene.fits(program) and not STOPPING.is_set():
            cell, era = _cell(program, scene)
            row["era"] = era or row["era"]
        row["cells"].append(cell)
        known = program.known.get(scene.name)
        if (cell.startswith("✗") or known) and cell != f"✗ {known}":
            told = f", and not as known: {known}" if known else ""
            row["surprises"].append(f"  {program.name}, {scene.name}: {cell}{told}")
        print(f"  {program.name:<18} {scene.name:<10} {cell}", flush=True)
    return row


def _cell(program: Program, scene: Scene) -> tuple[str, str | None]:
    """What came of it, and the protocol's version that was spoken."""
    era = None
    try:
        with desk(
            program,
            scene.script(program),
            settings=scene.settings,
            limit=scene.limit,
            limit_told=scene.limit_told,
            held=scene.held,
        ) as here:
            try:
                scene.play(here)
            finally:
                era = here.era()
    except Exception as error:  # noqa: BLE001  it is a cell, not the end of the table
        return f"✗ {error}".splitlines()[0], era
    return "✓", era


if __name__ == "__main__":
    sys.exit(main())
