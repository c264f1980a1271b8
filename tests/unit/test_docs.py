"""The documentation says what is so: commands, tests and files that it names exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from chatbridge.cli import COMMANDS
from tests.documents import help_texts

ROOT = Path(__file__).resolve().parents[2]
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONTRACTS = ROOT / "docs" / "contracts.md"
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
MODULE = re.compile(r"`((?:\w+/)+\w+\.py)(?:::\w+)?`")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")

PICTURE = re.compile(r'(?:!\[[^\]]*\]\(|<img src=")([^)"]+)')


def words(text: str) -> str:
    """Without line breaks: argparse breaks lines differently from one Python to the next. Since
    3.13 it names an option's value once, after the long name."""
    return re.sub(r"(-\w) ([A-Z]+), (--[\w-]+ \2)\b", r"\1, \3", " ".join(text.split()))


@pytest.mark.process
@pytest.mark.parametrize(
    "command", [(), ("mcp", "--standalone"), *((name,) for name in COMMANDS)], ids=" ".join
)
def test_each_help_is_once_on_the_command_lines_pages_word_for_word(
    command: tuple[str, ...],
) -> None:
    shown = words(help_texts.help_of(*command))
    found = [text for it in help_texts.PAGES if shown in words(text := it.read_text())]
    assert len(found) == 1, "To write it there: .venv/bin/python -m tests.documents.help_texts"
    assert not command or f"\n## chatbridge {' '.join(command)}\n" in found[0]


@cache
def functions_of(file: Path) -> set[str]:
    return set(re.findall(r"^ *(?:async )?def (\w+)\(", file.read_text(), re.MULTILINE))


def test_every_promise_names_tests_and_each_of_them_exists() -> None:
    text = (ROOT / "docs" / "invariants.md").read_text()
    promises = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert len(promises) == 12
    for promise in promises:
        named = TEST.findall(promise)
        assert named, promise
        for file, test in named:
            assert test in functions_of(ROOT / file), f"{file}::{test}"


def test_every_way_in_has_what_stops_it_and_tests_that_exist() -> None:
    text = "".join((ROOT / "docs" / f"threats-{it}.md").read_text() for it in ("network", "local"))
    rows = re.findall(r"^\| (?!who \||where \||which \||-)(.*) \|$", text, re.MULTILINE)
    assert len(rows) > 30
    for row in rows:
        *said, shown_by = row.split(" | ")
        assert len(said) == 3, row
        assert all(said), row
        assert TEST.findall(shown_by), row
    for file, test in TEST.findall(text):
        assert test in functions_of(ROOT / file), f"{file}::{test}"


def test_every_line_about_a_contract_names_tests_that_exist_or_says_why_there_is_none() -> None:
    rows = re.findall(r"^\| (?!in the document|what \|)(.*)$", CONTRACTS.read_text(), re.MULTILINE)
    assert rows
    for row in rows:
        named = TEST.findall(row)
        assert named or "nothing to show" in row, row
        for file, test in named:
            assert test in functions_of(ROOT / file), f"{file}::{test}"


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_every_module_that_a_page_names_by_its_folder_is_there(page: Path) -> None:
    for name in MODULE.findall(page.read_text()):
        assert (ROOT / name).exists() or (ROOT / "chatbridge" / name).exists(), name


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_every_file_that_a_page_links_to_is_there(page: Path) -> None:
    text = page.read_text()
    for target in (*LINK.findall(text), *PICTURE.findall(text)):
        assert (page.parent / target).exists(), target
