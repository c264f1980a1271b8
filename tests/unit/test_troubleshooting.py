"""The pages for people who have seen an error: their headings are what chatbridge says."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from chatbridge.channels.chat.bot import NOBODY
from chatbridge.channels.matrix import channel as matrix_channel
from chatbridge.core.errors import HubUnreachable

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in (
        "troubleshooting.md",
        "troubleshooting-chats.md",
        "agent-tools-troubleshooting.md",
    )
]
HEADINGS = [
    heading
    for page in PAGES
    for line in re.findall(r"^### (.*)$", page, re.MULTILINE)
    for heading in line.split(" · ")
]
GAP = "…"
FOLDER = "this command's working directory"
"""Filled in, too."""


@cache
def said() -> str:
    """Every text in the code, a line each, with a gap where something is filled in."""
    found = []
    for file in (ROOT / "chatbridge").rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                found.append("".join(map(_part, node.values)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(re.sub(r"\s+", " ", text) for text in found)


def _part(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else GAP


@cache
def said_with_gaps() -> str:
    """With one where something is filled in later, too."""
    return re.sub(r"\{\w+\}|(?:%s)+", GAP, said())


@pytest.mark.parametrize("heading", HEADINGS)
def test_a_heading_is_what_the_code_says(heading: str) -> None:
    assert heading.replace(FOLDER, GAP) in said_with_gaps()


@pytest.mark.parametrize(
    "text",
    [
        str(HubUnreachable()),
        NOBODY.format(name="telegram"),
        matrix_channel.NOBODY,
        # Those of the doctor, which the test before this one finds in the code.
        "another program polls this bot (409)",
        "This bot has a webhook, so its messages go elsewhere",
        "The bot may not write to you (403).",
        "The phone's chat was deleted or left.",
        "access token refused.",
        f"Strangers are in the room: {GAP}.",
    ],
)
def test_what_a_person_sees_first_has_a_heading(text: str) -> None:
    beginning = text.partition(". ")[0]
    assert any(beginning.startswith(heading) or heading == beginning for heading in HEADINGS)


def test_no_heading_comes_twice() -> None:
    assert len(HEADINGS) == len(set(HEADINGS))
