"""Checks names, types and limits of fields, and turns the models' errors into plain words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
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
from chatbridge.commands.definitions.problems import Finding, Where, listed, meant, shown

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
_DURATION = 'seconds such as 90, or a text such as "10min" or "2h"'


def shaped(raw: Mapping[str, Any]) -> tuple[Definition | None, list[Finding]]:
    """The definition, or everything that its fields are not."""
    try:
        made = Definition.model_validate_json(json.dumps(raw), by_alias=True, by_name=False)
    except ValidationError as error:
        return None, list(_findings(raw, error.errors(include_url=False)))
    return made, []


def fields(where: Where) -> list[str]:
    """What an object there may have."""
    return [each for each in _node(where).get("properties", {}) if each != "$schema"]


def unknown(where: Where, known: Sequence[str]) -> Finding:
    near = meant(where[-1], known)
    mend = f"did you mean {shown(near)}?" if near else "take it out"
    return Finding(where, "unknown_field", shown(where[-1]), listed(known), mend)


def _findings(raw: Mapping[str, Any], errors: list[ErrorDetails]) -> Iterator[Finding]:
    told: set[tuple[Where, str]] = set()
    for error in errors:
        where, value = _reached(raw, error["loc"])
        found = _finding(where, value, error)
        if found is not None and (found.where, found.kind) not in told:
            told.add((found.where, found.kind))
            yield found


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
        return _not_allowed(where, value, node)
    if kind == "string_pattern_mismatch":
        return _mismatched(where, value, str(error["ctx"]["pattern"]))
    if kind == "value_error":
        return Finding(where, "not_allowed", shown(value), _DURATION, "write it like that")
    if kind in ("too_short", "string_too_short"):
        # Lists are counted after bad items were left out of them.
        if len(value) >= error["ctx"]["min_length"]:
            return None
        return Finding(where, "range", shown(value), "at least one", _example(where, "write some"))
    if kind == "string_too_long":
        most = error["ctx"]["max_length"]
        characters = "one character" if most == 1 else f"at most {most} characters"
        return Finding(where, "range", shown(value), characters, "make it shorter")
    if "ctx" in error and (limit := _limit(error["ctx"])):
        return Finding(where, "range", shown(value), limit, "write a number within that")
    return _mistyped(where, value, node)


def _missing(where: Where) -> Finding:
    node, name = _node(where), shown(where[-1])
    accepted = node.get("description") or _accepted(node)
    mend = _example(where, f"add {name}")
    return Finding(where, "missing", f"no {name}", accepted.rstrip("."), mend)


def _not_allowed(where: Where, value: Any, node: Mapping[str, Any]) -> Finding:
    accepted = node.get("enum", [node["const"]] if "const" in node else [])
    near = meant(value, [each for each in accepted if isinstance(each, str)])
    mend = f"did you mean {shown(near)}?" if near else "write one of these"
    return Finding(where, "not_allowed", shown(value), listed(accepted), mend)


def _mismatched(where: Where, value: str, pattern: str) -> Finding:
    words = re.sub(r"[^a-z0-9]+", "_", value.lower()).strip("_")
    tries = [words, words.replace("_", "-"), f"--{words.replace('_', '-')}"]
    fits = next((each for each in tries if re.search(pattern, each)), None)
    mend = f"write {shown(fits)}" if fits and fits != value else "write it like that"
    return Finding(where, "pattern", shown(value), _PATTERNS[pattern], mend)


def _limit(ctx: Mapping[str, Any]) -> str | None:
    words = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}
    limits = [f"{words[each]} {ctx[each]:g}" for each in words if each in ctx]
    return f"a number of {limits[0]}" if limits else None


def _mistyped(where: Where, value: Any, node: Mapping[str, Any]) -> Finding:
    accepted, mend = _accepted(node), "write it like that"
    types = _types(node)
    if types == ["array"] and isinstance(value, str):
        mend = f"write [{shown(value)}]"
    elif isinstance(value, str) and types in (["integer"], ["number"], ["boolean"]):
        mend = "write it without quotation marks" if _plain(value) else mend
    elif types == ["string"] and isinstance(value, int | float):
        mend = f'write "{json.dumps(value)}"'
    return Finding(where, "wrong_type", shown(value), accepted, mend)


def _plain(value: str) -> bool:
    return re.fullmatch(r"true|false|-?[0-9]+(\.[0-9]+)?", value) is not None


def _example(where: Where, otherwise: str) -> str:
    examples = _node(where).get("examples")
    if not examples:
        return otherwise
    return f"write {shown(where[-1])}: {json.dumps(examples[0], ensure_ascii=False)}"


def _accepted(node: Mapping[str, Any]) -> str:
    if "enum" in node:
        return listed(node["enum"])
    types = _types(node)
    return " or ".join(_TYPES[each] for each in types if each != "integer" or "number" not in types)


def _types(node: Mapping[str, Any]) -> list[str]:
    if "anyOf" in node:
        return [each["type"] for each in node["anyOf"] if "type" in each]
    return [node["type"]] if "type" in node else []


def _node(where: Where) -> Mapping[str, Any]:
    """What the schema says of a place; nothing of one that it does not know."""
    node: Mapping[str, Any] = schema()
    for part in where:
        node = node.get("items", {}) if isinstance(part, int) else _property(node, part)
        node = _resolved(node)
    return node


def _property(node: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = node.get("properties", {}).get(name, {})
    return found


def _resolved(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without a reference, and without null beside one other."""
    others = [each for each in node.get("anyOf", ()) if each.get("type") != "null"]
    if len(others) == 1:
        node = {**node, **others[0]}
        node.pop("anyOf")
    if "$ref" in node:
        definition = schema()["$defs"][node["$ref"].rpartition("/")[2]]
        node = {**definition, **{key: node[key] for key in node if key != "$ref"}}
    return node
