"""Checks the text of a definition file and reports all of its problems at once.

The hub, `chatbridge tools check` and `doctor` use this one validator. It reads no files.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from chatbridge.commands.definitions.definition import SCHEMA, Definition, tool_name
from chatbridge.commands.definitions.problems import (
    Finding,
    Problem,
    Unusable,
    Where,
    described,
    shaped,
)
from chatbridge.commands.definitions.rules import rules
from chatbridge.commands.definitions.versions import Translated, first_version
from chatbridge.core.text import encodable

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Checked:
    definition: Definition | None
    """None: it has problems."""
    problems: tuple[Problem, ...] = ()
    remarks: tuple[Problem, ...] = ()


def check(
    text: str, *, file: Path, taken: Callable[[str], str | None] = lambda tool: None
) -> Checked:
    """Look at the text of a file; `file` is only its name in problems. `taken` says who else has a
    tool of this name; asked of a sound file."""
    text = text.removeprefix(_BYTE_ORDER_MARK)
    try:
        raw = read(text)
    except Unusable as error:
        line, column = Lines(text).at(error.position)
        return Checked(None, (error.finding.in_file(file, line, column),))
    places = Places(text)
    if not isinstance(raw, dict):
        accepted, mend = "one object in {…}", 'begin with { "schema": 2, … }'
        whole = Finding((), "wrong_type", described(raw), accepted, mend)
        return Checked(None, _placed([whole], places, file))
    version = raw.get("schema")
    if isinstance(version, int) and version > SCHEMA:
        accepted = f"versions up to {SCHEMA}, which is what this chatbridge knows"
        found = f"version {described(version)}"
        newer = Finding(("schema",), "newer_schema", found, accepted, "update chatbridge")
        return Checked(None, _placed([newer], places, file))
    bad: list[Finding] = []
    made = _newest(_clean(raw, (), bad))
    definition, misshapen = shaped(made.raw)
    spoilt = {finding.where for finding in bad}
    later = [*misshapen, *rules(made.raw)]
    if definition is not None and not (bad or made.problems or later or places.twice):
        later += _taken(definition, taken)
    # With its place in the file, where an older version says it elsewhere.
    returned = [replace(each, where=made.origin(each.where)) for each in later]
    told = [*bad, *made.problems, *(each for each in returned if each.where not in spoilt)]
    problems = list(_placed(told, places, file))
    for where, line, before in places.twice:
        found = f"{described(where[-1])} again, after line {before}"
        accepted, mend = "each key once in its object", "take one of them out"
        problems.append(Finding(where, "duplicate", found, accepted, mend).in_file(file, line))
    problems.sort(key=lambda each: (each.line or 0, each.column or 0))
    remarks = _placed(made.remarks, places, file)
    return Checked(None if problems else definition, tuple(problems), remarks)


def _newest(raw: dict[str, Any]) -> Translated:
    version = raw.get("schema")
    as_said = Translated(raw={**raw, "schema": SCHEMA})
    if type(version) is int and version in (1, SCHEMA):
        return as_said if version == SCHEMA else first_version(raw)
    mend = f'write "schema": {SCHEMA}'
    if "schema" in raw:
        wrong = Finding(("schema",), "not_allowed", described(version), f"{SCHEMA}, or 1", mend)
    elif "subcommands" in raw or isinstance(raw.get("command"), list):
        wrong = Finding(("schema",), "missing", 'no "schema"', f"{SCHEMA}", mend)
    else:
        return first_version(raw)
    as_said.problems.append(wrong)
    return as_said


def _clean(value: Any, where: Where, bad: list[Finding]) -> Any:
    """Without what no program can be given: it is told, and the rest is looked at all the same."""
    if isinstance(value, dict):
        return {encodable(key): _clean(it, (*where, key), bad) for key, it in value.items()}
    if isinstance(value, list):
        return [_clean(it, (*where, i), bad) for i, it in enumerate(value)]
    if isinstance(value, str):
        kept = encodable(value).replace("\0", "")
        if kept != value:
            accepted = "text without NUL and without halves of characters"
            bad.append(Finding(where, "not_allowed", described(value), accepted, "take them out"))
        return kept
    if isinstance(value, float) and not isfinite(value):
        accepted = "a number that a computer can count with"
        bad.append(Finding(where, "range", "a number that is too large", accepted, "write less"))
        return 1
    return value


def _taken(definition: Definition, taken: Callable[[str], str | None]) -> Iterator[Finding]:
    accepted = "a name that no other tool has"
    mend = "rename the subcommand or the definition, or set enabled to false"
    for i, part in enumerate(definition.subcommands):
        tool = tool_name(definition.name, part.name)
        if definition.enabled and part.enabled and (found := taken(tool)) is not None:
            yield Finding(("subcommands", i, "name"), "collision", found, accepted, mend)


def _placed(findings: Iterable[Finding], places: Places, file: Path) -> tuple[Problem, ...]:
    return tuple(each.in_file(file, *places.at(each.where)) for each in findings)


LARGEST = 1_000_000
MOST_SIGNS = 50_000
"""Brackets, commas, colons and values. An honest file has hundreds; all of them may be wrong, and
somebody waits for what is said about it."""
DEEPEST = 32
_LONGEST_NUMBER = 300
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{},:]|[^\s\[\]{},:"]++', re.DOTALL)
_BLANK = " \t\r\n"
_MISTAKES = {
    "Expecting ',' delimiter": ("{at} where a comma is missing", "write a comma before it"),
    "Expecting property name": ("{at} where a key should be", 'write the key in "…"'),
    "Expecting ':'": ("{at} where a colon is missing", "write a colon after the key"),
    "Extra data": ("something after the end", "keep one object and take out the rest"),
    "Unterminated string": ("a text that does not end", "close it with a quotation mark"),
    "Invalid control character": (
        "a line break or control character in a text",
        r"write \n for a line break",
    ),
    "Invalid.*escape": ("a backslash that means nothing", r"write \\ for a backslash"),
}
"""What Python's reader says, as a pattern, and what we say."""


class Lines:
    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer(r"\r\n|\n|\r", text))]

    def at(self, position: int) -> tuple[int, int]:
        line = bisect_right(self._starts, position)
        return line, position - self._starts[line - 1] + 1


class Places:
    """Where every value of a sound text begins, or its key where it has one."""

    def __init__(self, text: str) -> None:
        self._lines = Lines(text)
        self._starts: dict[Where, int] = {}
        self.twice: list[tuple[Where, int, int]] = []
        """Keys that stand in their object again: where, the line, and that of the one before."""
        tokens = _TOKEN.finditer(text)
        first = next(tokens)
        self._walk(tokens, first[0], (), first.start())

    def at(self, where: Where) -> tuple[int, int]:
        """Line and column; for what is missing those of what it is missing from."""
        while where not in self._starts:
            where = where[:-1]
        return self._lines.at(self._starts[where])

    def _walk(self, tokens: Iterator[re.Match[str]], sign: str, where: Where, start: int) -> None:
        self._starts[where] = start
        keys: dict[str, int] = {}
        index = 0
        while sign in ("{", "[") and (token := next(tokens))[0] not in ("}", "]"):
            if token[0] == ",":
                continue
            if sign == "[":
                self._walk(tokens, token[0], (*where, index), token.start())
                index += 1
                continue
            key, at = json.loads(token[0]), token.start()
            if key in keys:
                line, before = self._lines.at(at)[0], self._lines.at(keys[key])[0]
                self.twice.append(((*where, key), line, before))
            keys[key] = at
            next(tokens)  # the colon
            self._walk(tokens, next(tokens)[0], (*where, key), at)


def read(text: str) -> Any:
    """What the text says. Numbers that are too large for a computer are infinite. :raises
    Unusable:"""
    if len(text) > LARGEST or len(text.encode("utf-8", "replace")) > LARGEST:
        raise _too_large("more than a megabyte")
    _measure(text)

    def constant(word: str) -> NoReturn:
        """Python's reader knows NaN and the like, and JSON does not."""
        found = (it.start() for it in _TOKEN.finditer(text) if it[0].startswith(word))
        accepted, mend = "numbers such as 5 or 0.5", "write a number, or leave the field out"
        raise Unusable("syntax", word, accepted, mend, position=next(found, 0))

    def integer(digits: str) -> int | float:
        return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)

    try:
        return json.loads(text, parse_constant=constant, parse_int=integer)
    except json.JSONDecodeError as error:
        raise _explained(text, error) from None


def _too_large(found: str) -> Unusable:
    accepted = f"at most 1 MB and {MOST_SIGNS:,} brackets, commas and values"
    mend = "make several files of it, with a few subcommands each"
    return Unusable("too_large", found, accepted, mend)


def _measure(text: str) -> None:
    depth = 0
    for i, token in enumerate(_TOKEN.finditer(text)):
        if i == MOST_SIGNS:
            raise _too_large("too many values")
        if token[0] in ("{", "["):
            depth += 1
        elif token[0] in ("}", "]"):
            depth -= 1
        if depth > DEEPEST:
            found = f"more than {DEEPEST} levels of brackets"
            accepted = "what the schema describes, which is not deep"
            mend = "take out what does not belong there"
            raise Unusable("too_deep", found, accepted, mend, position=token.start())


def _explained(text: str, error: json.JSONDecodeError) -> Unusable:
    if not text.strip(_BLANK):
        found, mend = "an empty file", 'begin with { "schema": 2, … }'
        return Unusable("syntax", found, "one object in braces", mend)
    position, message = min(error.pos, len(text)), error.msg
    if message.startswith("Expecting"):
        position += len(text[position:]) - len(text[position:].lstrip(_BLANK))
        # Python 3.13 tells of the comma itself, older ones of what follows.
        if text[position : position + 1] in ("}", "]"):
            before = text[:position].rstrip(_BLANK)
            position = len(before) - 1 if before.endswith(",") else position
    here, after = text[position : position + 1], text[position + 1 :].lstrip(_BLANK)[:1]
    at = described(here)
    if not here:
        found, mend = "the end of the file", "close what is open: a text, [ or {"
    elif text.startswith(("//", "/*", "#"), position):
        found, mend = "a comment", "take it out: JSON has none"
    elif here == "," and after in ("}", "]"):
        found, mend = f"a comma before {after}", "take the comma out"
    elif here in "'“”‘’„":
        found, mend = f"the quotation mark {here}", 'write texts in "…"'
    else:
        known = (words for start, words in _MISTAKES.items() if re.match(start, message))
        found, mend = next(known, ("{at} where a value should be", "write a value there"))
    return Unusable(
        "syntax", found.replace("{at}", at), "JSON as json.org has it", mend, position=position
    )
