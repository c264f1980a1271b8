"""Problems of definition files: the place, what was found, what is accepted, how to mend it.

`shaped` checks names, types and limits of fields, and turns the models' errors into plain words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from chatbridge.commands.definitions.definition import (
    FLAG,
    NAME,
    OPTION_NAME,
    SEPARATOR,
    VARIABLE,
    Definition,
    schema,
)
from chatbridge.core.text import encodable, nearest_name, one_line, shortened

Where = tuple[str | int, ...]
"""Keys and indexes that lead to a value."""

VALUE_LENGTH = 60
PATH_LENGTH = 200
TEXT_LENGTH = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One of a file. `kind` is a stable short word for programs."""

    file: Path
    line: int | None
    """None: it is not about a line."""
    column: int | None = None
    path: str
    """`subcommands[1].options[0].type`; empty: the whole file."""
    kind: str
    found: str
    accepted: str
    mend: str

    def text(self) -> str:
        place = one_line(str(self.file)) + (f":{self.line}" if self.line else "")
        about = f"{self.path}: " if self.path else ""
        return (
            f"{place}: {about}{self.found} ({self.kind})\n  accepted: {self.accepted}; {self.mend}"
        )

    def as_json(self) -> dict[str, str | int | None]:
        return {**asdict(self), "file": encodable(str(self.file))}


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem by its place in what the file says, before its line is known."""

    where: Where
    kind: str
    found: str
    accepted: str
    mend: str

    def in_file(self, file: Path, line: int | None = None, column: int | None = None) -> Problem:
        path = "".join(f"[{it}]" if isinstance(it, int) else f".{it}" for it in self.where)
        return Problem(
            file=file,
            line=line,
            column=column,
            path=safe(path.removeprefix("."), PATH_LENGTH),
            kind=self.kind,
            found=safe(self.found),
            accepted=safe(self.accepted),
            mend=safe(self.mend),
        )


class Unusable(Exception):
    """Nothing in the file can be used. `position` is the place in its text, where there is one."""

    def __init__(
        self, kind: str, found: str, accepted: str, mend: str, *, position: int = 0
    ) -> None:
        super().__init__(found)
        self.finding, self.position = Finding((), kind, found, accepted, mend), position


def safe(text: str, limit: int = TEXT_LENGTH) -> str:
    """As one short line that can be written anywhere: a file may say anything."""
    # Cut before it is looked over, because a value may be as long as its file.
    return shortened(one_line(encodable(shortened(text, limit))), limit)


def described(value: Any) -> str:
    """What a file says somewhere, as its writer will recognise it."""
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, str):
        return json.dumps(safe(value, VALUE_LENGTH), ensure_ascii=False)
    return shortened(json.dumps(value), VALUE_LENGTH)


def listed(values: Iterable[Any]) -> str:
    return safe(", ".join(described(value) for value in values))


_TYPES = {
    "string": 'a text in "…"',
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list in […]",
    "object": "an object in {…}",
    "null": "null",
}
_PATTERNS = {
    NAME: 'small letters, digits, "-" and "_", such as "commit"',
    OPTION_NAME: 'small letters, digits and "_", such as "dry_run"',
    FLAG: 'one or two dashes and a name, such as "--message" or "-m"',
    VARIABLE: 'the name of a variable, such as "SSH_AUTH_SOCK"',
    SEPARATOR: '"--", a word such as "--end-of-options", or null',
}
_BOUNDS = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}
_DURATION = 'seconds such as 90, or a text such as "10min" or "2h"'


def shaped(raw: Mapping[str, Any]) -> tuple[Definition | None, list[Finding]]:
    """The definition, or everything that its fields are not."""
    try:
        made = Definition.model_validate_json(json.dumps(raw), by_alias=True, by_name=False)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        found = [_finding(*_reached(raw, each["loc"]), each) for each in errors]
        once = {(each.where, each.kind): each for each in reversed(found) if each is not None}
        return None, list(reversed(once.values()))
    return made, []


def fields(where: Where) -> list[str]:
    return [each for each in _node(where).get("properties", {}) if each != "$schema"]


def unknown(where: Where, known: Sequence[str]) -> Finding:
    near = nearest_name(where[-1], known)
    mend = f"did you mean {described(near)}?" if near else "take it out"
    return Finding(where, "unknown_field", described(where[-1]), listed(known), mend)


def _reached(raw: Any, loc: tuple[str | int, ...]) -> tuple[Where, Any]:
    """How far the place leads in what was written: models add steps of their own."""
    where: Where = ()
    for part in loc:
        known = range(len(raw)) if isinstance(raw, list) else raw if isinstance(raw, dict) else ()
        if part not in known:
            break
        raw, where = raw[part], (*where, part)
    return where, raw


def _finding(where: Where, value: Any, error: ErrorDetails) -> Finding | None:
    kind, node = error["type"], _node(where)
    if kind == "missing":
        return _missing((*where, error["loc"][-1]))
    if kind == "extra_forbidden":
        return unknown(where, fields(where[:-1]))
    if kind == "literal_error":
        accepted = node.get("enum", [node["const"]] if "const" in node else [])
        near = nearest_name(value, [each for each in accepted if isinstance(each, str)])
        mend = f"did you mean {described(near)}?" if near else "write one of these"
        return Finding(where, "not_allowed", described(value), listed(accepted), mend)
    if kind == "string_pattern_mismatch":
        pattern = str(error["ctx"]["pattern"])
        words = re.sub(r"[^a-z0-9]+", "_", value.lower()).strip("_")
        tries = [words, words.replace("_", "-"), f"--{words.replace('_', '-')}"]
        fits = next((each for each in tries if re.search(pattern, each)), None)
        mend = f"write {described(fits)}" if fits and fits != value else "write it like that"
        return Finding(where, "pattern", described(value), _PATTERNS[pattern], mend)
    if kind == "value_error":
        return Finding(where, "not_allowed", described(value), _DURATION, "write it like that")
    if kind in ("too_short", "string_too_short"):
        # Lists are counted after bad items were left out of them.
        if len(value) >= error["ctx"]["min_length"]:
            return None
        return Finding(
            where, "range", described(value), "at least one", _example(where, "write some")
        )
    if kind == "string_too_long":
        most = error["ctx"]["max_length"]
        characters = "one character" if most == 1 else f"at most {most} characters"
        return Finding(where, "range", described(value), characters, "make it shorter")
    for name, words in _BOUNDS.items():
        if name in error.get("ctx", {}):
            limit = f"a number of {words} {error['ctx'][name]:g}"
            return Finding(where, "range", described(value), limit, "write a number within that")
    return _mistyped(where, value, node)


def _missing(where: Where) -> Finding:
    node, name = _node(where), described(where[-1])
    accepted = node.get("description") or _accepted(node)
    mend = _example(where, f"add {name}")
    return Finding(where, "missing", f"no {name}", accepted.rstrip("."), mend)


def _mistyped(where: Where, value: Any, node: Mapping[str, Any]) -> Finding:
    types, mend = _types(node), "write it like that"
    if types == ["array"] and isinstance(value, str):
        mend = f"write [{described(value)}]"
    elif isinstance(value, str) and types in (["integer"], ["number"], ["boolean"]):
        if re.fullmatch(r"true|false|-?[0-9]+(\.[0-9]+)?", value):
            mend = "write it without quotation marks"
    elif types == ["string"] and isinstance(value, int | float):
        mend = f'write "{json.dumps(value)}"'
    return Finding(where, "wrong_type", described(value), _accepted(node), mend)


def _example(where: Where, otherwise: str) -> str:
    examples = _node(where).get("examples")
    if not examples:
        return otherwise
    return f"write {described(where[-1])}: {json.dumps(examples[0], ensure_ascii=False)}"


def _accepted(node: Mapping[str, Any]) -> str:
    if "enum" in node:
        return listed(node["enum"])
    types = _types(node)
    return " or ".join(_TYPES[each] for each in types if each != "integer" or "number" not in types)


def _types(node: Mapping[str, Any]) -> list[str]:
    if "anyOf" in node:
        return [each["type"] for each in node["anyOf"] if "type" in each]
    return [node["type"]] if "type" in node else []


def _node(where: Where) -> dict[str, Any]:
    """What the schema says of a place; nothing of one that it does not know."""
    node = schema()
    for part in where:
        named = isinstance(part, str)
        node = node.get("properties", {}).get(part, {}) if named else node.get("items", {})
        # Without null beside one other, and without a reference.
        others = [each for each in node.get("anyOf", ()) if each.get("type") != "null"]
        if len(others) == 1:
            node = {**node, **others[0]}
            del node["anyOf"]
        if "$ref" in node:
            node = {**schema()["$defs"][node["$ref"].rpartition("/")[2]], **node}
            del node["$ref"]
    return node
