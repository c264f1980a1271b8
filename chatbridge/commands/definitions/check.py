"""Checks the text of a definition file and reports all of its problems at once.

The hub, `chatbridge tools check` and `doctor` use this one validator. It reads no files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

from chatbridge.commands.definitions.definition import SCHEMA, Definition, tool_name
from chatbridge.commands.definitions.json_text import Lines, Positions, parse
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
        raw = parse(text)
    except Unusable as error:
        line, column = Lines(text).at(error.position)
        return Checked(None, (error.finding.in_file(file, line, column),))
    positions = Positions(text)
    if not isinstance(raw, dict):
        accepted, mend = "one object in {…}", 'begin with { "schema": 2, … }'
        whole = Finding((), "wrong_type", described(raw), accepted, mend)
        return Checked(None, _placed([whole], positions, file))
    version = raw.get("schema")
    if isinstance(version, int) and version > SCHEMA:
        accepted = f"versions up to {SCHEMA}, which is what this chatbridge knows"
        unknown = f"version {described(version)}"
        newer = Finding(("schema",), "newer_schema", unknown, accepted, "update chatbridge")
        return Checked(None, _placed([newer], positions, file))
    bad_values: list[Finding] = []
    newest = _newest(_clean(raw, (), bad_values))
    definition, found = shaped(newest.raw)
    found += rules(newest.raw)
    if definition is not None and not (
        bad_values or newest.problems or found or positions.repeated
    ):
        found += _taken(definition, taken)
    # An older version says it elsewhere in the file. Of a value one problem is enough.
    found = [replace(each, where=newest.origin(each.where)) for each in found]
    replaced = {each.where for each in bad_values}
    found = [each for each in found if each.where not in replaced]
    problems = list(_placed([*bad_values, *newest.problems, *found], positions, file))
    for where, line, before in positions.repeated:
        again = f"{described(where[-1])} again, after line {before}"
        accepted, mend = "each key once in its object", "take one of them out"
        problems.append(Finding(where, "duplicate", again, accepted, mend).in_file(file, line))
    problems.sort(key=lambda each: (each.line or 0, each.column or 0))
    remarks = _placed(newest.remarks, positions, file)
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


def _placed(findings: Iterable[Finding], positions: Positions, file: Path) -> tuple[Problem, ...]:
    return tuple(each.in_file(file, *positions.at(each.where)) for each in findings)
