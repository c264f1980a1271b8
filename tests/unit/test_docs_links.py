"""Links of the documentation lead somewhere, down to the heading, the index has every page, and no
page is too long to be read."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest

from tests.documents.pages import ROOT, pages, prose

LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?:|mailto:)([^)\s]*)\)")
INDEX = "docs/README.md"
MOST_WORDS = 2_000
GROWS = {"docs/changelog.md"}
"""A log: nobody reads it to its end, and a version's list cannot be cut at some number of words."""
HEADING = re.compile(r"^#{1,6} (.+)$")


def anchors(text: str) -> set[str]:
    """Of its headings, as GitHub and others make them."""
    found: dict[str, int] = {}
    made = set()
    for _, line in prose(text):
        if heading := HEADING.match(line):
            name = re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-")
            times = found.get(name, 0)
            made.add(f"{name}-{times}" if times else name)
            found[name] = times + 1
    return made


def links(name: str) -> list[tuple[str, str]]:
    """Where a page's links lead: a file, as seen from the root, and a heading."""
    found = []
    for _, line in prose(pages()[name]):
        for target in LINK.findall(line):
            file, _, heading = target.partition("#")
            whole = (ROOT / PurePosixPath(name).parent / file).resolve() if file else ROOT / name
            found.append((str(whole.relative_to(ROOT)), heading))
    return found


@pytest.mark.parametrize("name", list(pages()))
def test_every_heading_that_a_link_names_is_there(name: str) -> None:
    for file, heading in links(name):
        assert not heading or heading in anchors(pages()[file]), f"{file}#{heading}"


def test_the_index_lists_every_page_once() -> None:
    listed = [file for file, _ in links(INDEX) if file.startswith("docs/")]
    assert sorted(listed) == sorted(set(pages()) - {"README.md", INDEX})


@pytest.mark.parametrize("name", sorted(set(pages()) - GROWS))
def test_no_page_is_longer_than_one_reads_at_a_sitting(name: str) -> None:
    """What has a letter or a digit in it is a word, in blocks and tables as well."""
    words = [word for word in pages()[name].split() if re.search(r"\w", word)]
    assert len(words) <= MOST_WORDS, f"{len(words)} words: split it by concept"


def test_every_page_can_be_reached_from_the_first() -> None:
    reached, open_ends = {"README.md"}, ["README.md"]
    while open_ends:
        for file, _ in links(open_ends.pop()):
            if file in pages() and file not in reached:
                reached.add(file)
                open_ends.append(file)
    assert set(pages()) - reached == set()


def test_every_picture_is_shown_somewhere() -> None:
    shown = "".join(pages().values())
    for picture in (ROOT / "docs").rglob("*.*"):
        if picture.suffix in (".png", ".svg", ".gif", ".webp"):
            assert picture.name in shown, picture.name
