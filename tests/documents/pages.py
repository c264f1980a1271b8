"""What the documentation consists of: blocks, the commands in them and in the prose, headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHELL = ("", "sh", "bash", "console")
"""Blocks of these languages are commands, unless `ways.NO_COMMANDS` names them."""
PROGRAMS = re.compile(
    r"apt|apt-get|bash|brew|caddy|cargo|chatbridge|chmod|claude|codex|cp|createdb|createuser|curl"
    r"|docker|export|gemini"
    r"|git|goose|install|journalctl|loginctl|make|mkdir|mv|nginx|node|npm|npx|opencode|pip|pipx"
    r"|pg_dump|pg_restore|podman|pytest|python3?|rm|source|sqlite3|ssh|sudo|systemctl|systemd-analyze|tailscale"
    r"|timedatectl|uvx?|wget|\.venv/.+|\.ci/.+"
)
"""What begins with one of these in the prose, and goes on, is a command."""
FENCE = re.compile(r"^(\s*)```(\w*)\s*$")
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
COMMENT = re.compile(r"(?:^|\s+)#\s+(.*)$")
IN_COMMENT = re.compile(r"(?:^|: )((?:chatbridge|make|pip|pipx|uv) .+)$")
IN_HELP = re.compile(r"^(?:  |example: )(chatbridge [a-z].*?)(?: {3,}.*)?$")
ASSIGNED = re.compile(r"[A-Z_]+=\S*")


@dataclass(frozen=True)
class Place:
    page: str
    line: int

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Block:
    place: Place
    language: str
    text: str

    @property
    def first(self) -> str:
        return self.text.partition("\n")[0].strip()

    @property
    def is_help(self) -> bool:
        """tests/unit/test_docs.py holds these to what `--help` prints."""
        return self.first.startswith(("usage: chatbridge", "chatbridge carries "))


@cache
def pages() -> dict[str, str]:
    """The text of each, by its path."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {str(it.relative_to(ROOT)): it.read_text(encoding="utf-8") for it in found}


@cache
def blocks() -> tuple[Block, ...]:
    return tuple(block for name, text in pages().items() for block in _blocks(name, text))


def _blocks(name: str, text: str) -> Iterator[Block]:
    opened: tuple[int, str, str] | None = None
    inside: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None:
            if fence:
                opened, inside = (number, fence[1], fence[2]), []
        elif fence:
            began, indent, language = opened
            whole = "".join(f"{it.removeprefix(indent)}\n" for it in inside)
            yield Block(Place(name, began), language, whole)
            opened = None
        else:
            inside.append(line)
    assert opened is None, f"{name}:{opened} is not closed"


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Its lines outside of blocks, with their numbers."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield number, line


def spans() -> Iterator[tuple[Place, str]]:
    """What stands between single backticks."""
    for name, text in pages().items():
        for number, line in prose(text):
            for found in SPAN.findall(line):
                yield Place(name, number), found


# ── commands ──────────────────────────────────────────────────────────────────────────────────────


def commands_of(block: Block) -> Iterator[tuple[int, str]]:
    """Its commands with their lines, also those that a comment offers instead."""
    lines = block.text.splitlines()
    prompted = any(line.startswith("$ ") for line in lines)
    number = 0
    while number < len(lines):
        at, line = block.place.line + 1 + number, lines[number]
        while line.endswith("\\") and number + 1 < len(lines):
            number += 1
            line = f"{line[:-1].rstrip()} {lines[number].strip()}"
        number += 1
        if prompted and not line.startswith("$ "):
            continue  # what the command has printed
        line = line.removeprefix("$ ")
        remark = COMMENT.search(line)
        if command := COMMENT.sub("", line).strip():
            yield at, command
        if remark and (other := IN_COMMENT.search(remark[1])):
            yield at, other[1].strip()


def is_command(span: str) -> bool:
    words = [word for word in span.split() if not ASSIGNED.fullmatch(word)]
    if len(words) < 2:
        return False
    some_program = words[1].startswith("-") and re.fullmatch(r"[a-z][\w./-]+", words[0])
    return bool(some_program or PROGRAMS.fullmatch(words[0]))


def commands(no_commands: frozenset[str]) -> dict[str, list[Place]]:
    """Every command of every page, and where it stands. Not of the blocks that begin like this."""
    found: dict[str, list[Place]] = {}
    for block in blocks():
        page = block.place.page
        if block.is_help:
            for number, line in enumerate(block.text.splitlines(), 1):
                if example := IN_HELP.match(line):
                    place = Place(page, block.place.line + number)
                    found.setdefault(example[1], []).append(place)
        elif block.language in SHELL and block.first not in no_commands:
            for line_number, command in commands_of(block):
                found.setdefault(command, []).append(Place(page, line_number))
    for place, span in spans():
        if is_command(span):
            found.setdefault(span, []).append(place)
    return found
