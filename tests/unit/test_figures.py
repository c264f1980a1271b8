"""Figures into tables and a picture: nothing is lost, nothing breaks out, and twice is the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.bench import document, picture
from tests.bench.parts import PARTS
from tests.bench.rows import LIBRARIES, SECTIONS, sections
from tests.bench.table import table
from tests.bench.words import at_least, at_most, ms

Json = dict[str, Any]
SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"[0-9][0-9,]*")


def spread(p50: float) -> Json:
    return {"p50": p50, "p95": p50 * 1.2, "p99": p50 * 1.5}


def both(out: float, back: float) -> Json:
    return {"out_ms": spread(out), "back_ms": spread(back)}


def acknowledged(out: float, back: float) -> Json:
    return {**both(out, back), "toast_ms": spread(back)}


def asked(card: float, result: float) -> Json:
    cold = {"rounds": 5, "card_ms": card + 1200, "result_ms": result + 2}
    return {"warm": {"rounds": 10, "card_ms": card, "result_ms": result}, "cold": cold}


def grown(p50: float) -> Json:
    return {
        **both(p50, p50),
        "start_ms": 1150.0,
        "history_command_ms": 95.0,
        "beside": {**both(3.2, 3.2), "start_ms": 1140.0, "history_command_ms": 70.0},
        "pages_ms": {
            **dict.fromkeys(("search", "search_one", "search_all", "search_short"), 40.0),
            "history": 21.0,
            "list": 300.0,
            "card": 4.0,
            "stats": 90.0,
        },
        "longest_wait_ms": 30.0,
        "look_ms": 60.0,
        "database_mb": 81.4,
    }


def loaded(page: float) -> Json:
    return {
        "pages_ms": {"list": page, "card": page, "history": page},
        "longest_wait_ms": {"quiet": 2.0, "entering": page, "drawing": page},
    }


def measured() -> Json:
    """All parts, with numbers as a machine might have them."""
    return {
        "machine": {
            "cores": 2,
            "cpu": "Abacus <7> & sons",
            "architecture": "aarch64",
            "memory_gb": 24,
            "system": "Debian GNU/Linux 12",
            "kernel": "6.1",
            "python": "CPython 3.11.7",
            "disk": "ext4 on a virtual disk",
            "load": 0.1,
        },
        "date": "2026-11-15",
        "quick": False,
        "references": {
            "commit_ms": spread(0.9),
            "request_ms": spread(0.4),
            "empty_call_ms": spread(1.0),
        },
        "startup": {
            "link": {"ms": 41.5, "sdk_ms": 987.2},
            "first": {"ms": 1141.0, "sdk_ms": 987.0},
            "standalone": {"ms": 1120.0, "sdk_ms": 980.0},
            "help_ms": {"--help": 49.0, "ask --help": 61.0, "doctor --help": 140.0},
            "asked_ms": {"pending": 90.0, "status": 95.0, "history": 92.0},
            "python_ms": 30.0,
        },
        "one_ask": {
            "web": asked(4.4, 4.6),
            "telegram": asked(8.5, 11.6),
            "matrix": asked(54.0, 47.0),
            "matrix_encrypted": asked(80.0, 50.0),
            "slack": asked(9.0, 11.0),
            "discord": asked(9.5, 12.0),
            "ntfy": asked(9.2, 13.0),
            "terminal": asked(120.0, 130.0),
        },
        "web": both(3.3, 3.0),
        "attachments": {
            "plain_ms": spread(3.3),
            "picture_mb": 2.07,
            "card_ms": spread(12.0),
            "preview_ms": spread(150.0),
            "small_file_mb": 0.4,
            "large_file_mb": 0.9,
            "decoding_s": 1.2,
            "beside_ms": spread(3.5),
            "slowest_request_ms": 9.0,
        },
        "messages": {
            "without_ms": spread(3.0),
            "along_ms": spread(5.0),
            "told_ms": spread(2.5),
            "hook_ms": 60.0,
            "python_ms": 16.0,
        },
        "http": {**both(5.0, 4.0), "ping_ms": spread(1.5)},
        "terminal": {**both(110.0, 120.0), "python_ms": 20.0},
        "telegram": {name: both(6.0, 7.6) for name in ("ours", "server", "script")},
        "matrix": {
            "ours": both(52.7, 45.9),
            "server": both(41.5, 44.0),
            "script": both(40.0, 42.0),
        },
        "slack": {name: acknowledged(7.0, 8.0) for name in ("ours", "server", "script")},
        "discord": {name: acknowledged(7.5, 8.5) for name in ("ours", "server", "script")},
        "ntfy": {name: both(7.2, 9.0) for name in ("ours", "server", "script")},
        "growth": {
            "empty": grown(3.2),
            "open_1000": grown(3.3),
            "ended_100000": grown(3.4),
            "open_10000_ended_100000": grown(3.5),
        },
        "worst": {"asks": 20, "short": loaded(4.0), "worst": loaded(20.0)},
        "burst": {
            "asks": 1000,
            "rounds": 5,
            "seconds": 1.86,
            "fastest": 1.74,
            "slowest": 1.93,
            "kb_per_open_ask": 21.9,
            "hub_cpu": 1.71,
            "sdk_seconds": 0.93,
            "longest_wait_ms": {"asking": 31.0, "answering": 24.0},
        },
        "runner": {
            "first_ms": 60.0,
            "order_to_started_ms": spread(1.05),
            "order_to_ended_ms": spread(1.6),
            "subprocess_ms": spread(0.95),
            "pss_mb": 7.0,
        },
        "commands": {
            "call_to_running_ms": spread(6.7),
            "call_to_result_ms": spread(8.6),
            "subprocess_ms": spread(0.95),
            "many": 1000,
            "seconds_for_many": 4.97,
            "hub_grew_mb": 14.0,
        },
        "imports": {
            name: {"ms": 150.0, "library_ms": 120.0, "mb": 12.0, "library_mb": 10.0}
            for name in LIBRARIES
        },
        "memory": {
            **{f"hub_{name}_mb": 95.0 for name in LIBRARIES},
            **{f"bare_{name}_mb": 48.0 for name in LIBRARIES},
            "link_mb": 6.5,
            "hub_mb": 78.0,
            "hub_matrix_encrypted_mb": 104.0,
            "standalone_mb": 77.0,
            "sdk_mb": 62.0,
            "asks": 10_000,
            "before_mb": 110.0,
            "after_mb": 112.5,
        },
        "idle": {
            "seconds": 30,
            "links_count": 100,
            "hub": 0.0015,
            "links": 0.0,
            "heartbeat": 0.02,
            "hub_page": 0.003,
            **{f"hub_{name}": 0.004 for name in LIBRARIES},
            **{f"bare_{name}": 0.01 for name in LIBRARIES},
            "hub_matrix_encrypted": 0.012,
            "wake_ups": {
                "hub_none": 2,
                **{f"hub_{name}": 12 for name in LIBRARIES},
                **{f"bare_{name}": 24 for name in LIBRARIES},
            },
        },
    }


def page(folder: Path) -> Path:
    made = folder / "figures.md"
    made.write_text(f"# Figures\n\n{document.BEGIN}old\n{document.END}\n## How\nBy hand.\n")
    return made


def test_every_part_that_is_measured_is_shown() -> None:
    assert {it.part for it in SECTIONS} | {"references"} == {it.name for it in PARTS}
    assert set(measured()) >= {it.name for it in PARTS}


def test_the_page_has_every_row_and_keeps_what_is_written_by_hand(tmp_path: Path) -> None:
    written = page(tmp_path)
    list(document.draw(measured(), page=written, svg=tmp_path / "figures.svg"))
    text = written.read_text()
    assert text.startswith("# Figures\n")
    assert text.endswith("\n## How\nBy hand.\n")
    assert "old" not in text
    lines = text.splitlines()
    for section, rows in sections(measured()):
        assert f"### {section.title}" in lines
        for row in rows:
            assert f"| {' | '.join(row)} |" in lines


def test_drawing_twice_writes_the_same(tmp_path: Path) -> None:
    written, svg = page(tmp_path), tmp_path / "figures.svg"
    list(document.draw(measured(), page=written, svg=svg))
    once = written.read_text(), svg.read_text()
    list(document.draw(measured(), page=written, svg=svg))
    assert (written.read_text(), svg.read_text()) == once


def test_the_documentation_shows_the_rows_that_are_measured_and_no_others() -> None:
    def told(text: str) -> set[str]:
        made = text.partition(document.BEGIN)[2].partition(document.END)[0]
        rows = [line.split(" | ") for line in made.splitlines() if line.startswith("| ")]
        return {NUMBER.sub("…", row[0].removeprefix("| ").partition(":")[0]) for row in rows}

    made = f"{document.BEGIN}{document.text(measured())}{document.END}"
    assert told(document.PAGE.read_text()) == told(made)


def test_the_picture_is_well_formed_and_says_names_as_they_are() -> None:
    drawn = ElementTree.fromstring(picture.draw(measured()))  # noqa: S314 - our own
    said = [it.text or "" for it in drawn.iter(f"{SVG}text")]
    assert "2 cores of Abacus <7> & sons (aarch64), 24 GB of memory" in said
    for panel in picture.panels(measured()):
        assert panel.title in said
        assert {row.label for row in panel.rows} <= set(said)
        assert {ms(row.ours) for row in panel.rows if row.ours < 1000 and panel.unit == "ms"} <= {
            *said
        }


def test_every_dot_is_inside_the_picture_and_further_right_where_it_is_more() -> None:
    drawn = ElementTree.fromstring(picture.draw(measured()))  # noqa: S314 - our own
    places = [float(it.attrib["cx"]) for it in drawn.iter(f"{SVG}circle")]
    assert all(picture.LEFT <= x <= picture.TO for x in places)
    (quick, slow), *_ = (panel.rows[:2] for panel in picture.panels(measured()))
    scale = picture.Scale(next(picture.panels(measured())))
    assert scale.x(quick.ours) < scale.x(slow.ours)


def test_a_part_that_was_not_measured_has_no_rows_and_no_panel() -> None:
    few = {key: measured()[key] for key in ("machine", "date", "quick", "burst")}
    assert [section.part for section, _ in sections(few)] == ["burst"]
    assert list(picture.panels(few)) == []
    assert "1,000 answers at once" in table(few)


@pytest.mark.parametrize(
    ("aim", "words"),
    [
        (at_most(1.9, 2, "s"), "≤ 2 s"),
        (at_most(2.1, 2, "s"), "≤ 2 s: missed"),
        (at_least(23.8, 20, "times"), "≥ 20 times"),
        (at_least(19.0, 20, "times"), "≥ 20 times: missed"),
    ],
)
def test_an_aim_that_is_missed_says_so(aim: Any, words: str) -> None:
    assert aim.words == words


def test_the_machine_is_told_without_its_name_or_paths() -> None:
    assert "/" not in document.text(measured()).split("\n")[0].replace("GNU/Linux", "")
