"""Checks the text of a definition file and reports all of its problems at once.

The hub, `chatbridge tools check` and `doctor` use this one validator. It reads no files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chatbridge.commands.definitions.definition import SCHEMA, Definition
from chatbridge.commands.definitions.positions import Lines, Places, oversized, read
from chatbridge.commands.definitions.problems import Finding, Problem, Unusable, Where, shown
from chatbridge.commands.definitions.rules import named_tool, parts, rules
from chatbridge.commands.definitions.shape import shaped
from chatbridge.commands.definitions.versions import Translated, first_version
from chatbridge.core.text import encodable

__all__ = ["Checked", "Problem", "check", "collision"]

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Checked:
    definition: Definition | None
    """None: it has problems."""
    problems: tuple[Problem, ...] = ()
    remarks: tuple[Problem, ...] = ()
    """What it says without effect."""


def check(text: str, *, file: Path) -> Checked:
    """Look at the text of a file; `file` is only its name in problems."""
    text = text.removeprefix(_BYTE_ORDER_MARK)
    try:
        raw = read(text)
    except Unusable as error:
        line, column = Lines(text).at(error.position)
        return Checked(None, (error.finding.in_file(file, line, column),))
    places = Places(text)
    if not isinstance(raw, dict):
        accepted, mend = "one object in {…}", 'begin with { "schema": 2, … }'
        whole = Finding((), "wrong_type", shown(raw), accepted, mend)
        return Checked(None, _placed([whole], places, file))
    if _newer(raw):
        return Checked(None, _placed([_update(raw)], places, file))
    bad: list[Finding] = []
    made = _newest(_clean(raw, (), bad))
    definition, misshapen = shaped(made.raw)
    spoilt = {finding.where for finding in bad}
    later = [_returned(each, made) for each in (*misshapen, *rules(made.raw))]
    told = [*bad, *made.problems, *(each for each in later if each.where not in spoilt)]
    problems = (*_twice(places, file), *_placed(told, places, file))
    remarks = _placed(made.remarks, places, file)
    ordered = sorted(problems, key=lambda each: (each.line or 0, each.column or 0))
    return Checked(None if ordered else definition, tuple(ordered), remarks)


def collision(text: str, *, file: Path, tool: str, found: str) -> Problem:
    """Of a sound file with a tool whose name somebody else has, which `found` says."""
    text = text.removeprefix(_BYTE_ORDER_MARK)
    made = _newest(read(text))
    where: Where = ("subcommands",)
    for i, part in parts(made.raw.get("subcommands")):
        if named_tool(made.raw.get("name"), part.get("name")) == tool:
            where = ("subcommands", i, "name")
    mend = "rename the subcommand or the definition, or set enabled to false"
    finding = Finding(where, "collision", found, "a name that no other tool has", mend)
    return _placed([_returned(finding, made)], Places(text), file)[0]


def _newer(raw: dict[str, Any]) -> bool:
    version = raw.get("schema")
    return isinstance(version, int) and version > SCHEMA


def _update(raw: dict[str, Any]) -> Finding:
    return Finding(
        ("schema",),
        "newer_schema",
        f"version {shown(raw['schema'])}",
        f"versions up to {SCHEMA}, which is what this chatbridge knows",
        "update chatbridge",
    )


def _newest(raw: dict[str, Any]) -> Translated:
    """What it says in the words of the newest version."""
    version = raw.get("schema")
    as_said = Translated(raw={**raw, "schema": SCHEMA})
    if version == SCHEMA and type(version) is int:
        return as_said
    if version == 1 and type(version) is int:
        return first_version(raw)
    mend = f'write "schema": {SCHEMA}'
    if "schema" in raw:
        wrong = Finding(("schema",), "not_allowed", shown(version), f"{SCHEMA}, or 1", mend)
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
            bad.append(Finding(where, "not_allowed", shown(value), accepted, "take them out"))
        return kept
    if oversized(value):
        accepted = "a number that a computer can count with"
        bad.append(Finding(where, "range", "a number that is too large", accepted, "write less"))
        return 1
    return value


def _returned(finding: Finding, made: Translated) -> Finding:
    """With its place in the file, where an older version says it elsewhere."""
    return replace(finding, where=made.origin(finding.where))


def _twice(places: Places, file: Path) -> Iterable[Problem]:
    for where, line, before in places.twice:
        found = f"{shown(where[-1])} again, after line {before}"
        accepted, mend = "each key once in its object", "take one of them out"
        yield Finding(where, "duplicate", found, accepted, mend).in_file(file, line)


def _placed(findings: Iterable[Finding], places: Places, file: Path) -> tuple[Problem, ...]:
    return tuple(each.in_file(file, *places.at(each.where)) for each in findings)
