"""That `python -m tests.load` works: few agents, few people, some seconds."""

from __future__ import annotations

import re
from pathlib import Path

from tests.bench.computer import computer
from tests.load.document import BEGIN, END, draw
from tests.load.side import Plan, Side

AGENTS, PEOPLE, RATE, SECONDS = 6, 4, 480.0, 1.0


async def test_a_short_load_loses_nothing_and_fills_the_page(tmp_path: Path) -> None:
    plan = Plan(store="sqlite", agents=AGENTS, people=PEOPLE, seed=1, profiled=True)
    async with Side.running(plan) as side:
        stage = await side.stage(RATE, SECONDS, answer=(0.01, 0.1), patience=20.0)
    assert stage["wrong"] == {}
    answers = stage["answers"]
    assert answers["heard"] == answers["asked"] - answers["unseen"] == 8
    assert {*answers["kinds"]} == {"link", "http"}
    assert {*answers["channels"]} <= {"telegram", "slack", "discord", "web"}
    assert stage["cpu"]["hub"] > 0

    page = tmp_path / "load.md"
    page.write_text(f"before\n{BEGIN}old{END}after\n")
    setup = {"agents": AGENTS, "people": PEOPLE, "rate": RATE, "minutes": 0.1}
    told = {"date": "2026-11-18", "machine": computer(), "stores": ["sqlite"], **setup}
    weight = {"connected": {"sqlite": stage["hub"]}}
    ramp, crowds = [{**stage, "broken": False}], [{**stage, "people": PEOPLE}]
    draw({**told, **weight, "stages": [stage], "ramp": ramp, "crowds": crowds}, page)
    text = page.read_text()
    assert text.startswith("before")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| questions asked, heard | 8, 8 |" in text
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) == 7
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1, table
