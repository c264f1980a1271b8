"""What pages quote of chatbridge is what its code says, with a gap where something is filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.documents.pages import SPAN, blocks, pages
from tests.unit.test_doctor_screen import SAMPLE
from tests.unit.test_troubleshooting import GAP, said

FILLED_IN = {
    "api.telegram.org": GAP,
    **{f"{it}.allowed_users": f"{GAP}.allowed_users" for it in ("telegram", "slack", "discord")},
    "Telegram does not know": f"{GAP} does not know",
}
HEAD = "| it says | do |"


def quoted() -> Iterator[tuple[str, str]]:
    """The first cells of the tables that help with what chatbridge says."""
    for name, text in pages().items():
        for part in text.split(HEAD)[1:]:
            for row in part.split("\n\n")[0].splitlines()[2:]:
                yield from ((name, span) for span in SPAN.findall(row.split(" | ")[0]))


QUOTED = list(quoted())


def is_said(text: str) -> bool:
    """Numbers stand for any."""
    for what, gap in FILLED_IN.items():
        text = text.replace(what, gap)
    words = re.sub(r"\\?\d+", r"(?:\\d+|…|\\{\\w+\\})", re.escape(text).replace(GAP, ".*"))
    return re.search(words.replace(r"\ ", " "), said()) is not None


@pytest.mark.parametrize(("page", "text"), QUOTED, ids=[text for _, text in QUOTED])
def test_what_a_page_explains_is_what_the_code_says(page: str, text: str) -> None:
    assert is_said(text), page


def test_there_are_tables_of_this_kind() -> None:
    assert {page for page, _ in QUOTED} >= {"docs/matrix.md", "docs/setup.md", "docs/telegram.md"}


def test_the_line_that_shows_a_persons_number_is_the_hubs() -> None:
    (line,) = (it.first for it in blocks() if it.language == "text" and "telegram:" in it.first)
    assert re.sub(r"telegram|\d+", "%s", line) in said()


def test_the_doctors_screen_is_one_that_it_could_show() -> None:
    (screen,) = (it for it in blocks() if it.first == "$ chatbridge doctor")
    shown = screen.text.splitlines()[1:]
    assert [line for line in SAMPLE.splitlines() if line not in shown] == []
    explained = re.findall(r"^\| ([a-z, …-]+) \|", pages()["docs/doctor.md"], re.MULTILINE)
    names = {line[2:].split("  ")[0] for line in shown if line[:1] in set("✓!✗")}
    assert names <= {name for row in explained for name in row.split(", ")}
