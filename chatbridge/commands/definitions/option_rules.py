"""What holds between the fields of one option, and between the options of one subcommand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from chatbridge.commands.definitions.command import PROJECT
from chatbridge.commands.definitions.patterns import matcher
from chatbridge.commands.definitions.problems import Finding, Where, shown

_TEXT_RULES = ("pattern", "minLength", "maxLength", "within")
_NUMBER_RULES = ("minimum", "maximum")
_VALUE_RULES = ("enum", *_TEXT_RULES, *_NUMBER_RULES)
_ARRAY_RULES = ("items", "join")
_SIZE_RULES = ("minItems", "maxItems")
_BOUNDS = (("minLength", "maxLength"), ("minimum", "maximum"), ("minItems", "maxItems"))
_NUMBERS = ("integer", "number")
_TYPES = ("boolean", "string", *_NUMBERS, "array", "object")


def parts(listing: object) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a list, with their index; None stands for what is not said."""
    for i, each in enumerate(listing if isinstance(listing, list) else []):
        if isinstance(each, dict):
            yield i, {key: value for key, value in each.items() if value is not None}


def whole_path(text: str) -> bool:
    """As the owner writes it: `~` is their home, and nobody else's."""
    return text.startswith(("/", "~/")) or text == "~"


def option_rules(where: Where, options: object) -> Iterator[Finding]:
    for i, option in parts(options):
        yield from _option((*where, i), option)
    yield from _names(where, options)
    yield from _flags(where, options)
    yield from _order(where, options)


def _option(where: Where, option: Mapping[str, Any]) -> Iterator[Finding]:
    kind = option.get("type")
    if kind not in _TYPES:
        return
    yield from _positional(where, option)
    yield from _style(where, option)
    if kind != "array":
        yield from _not_with(where, option, _ARRAY_RULES, f'only with "type": {shown("array")}')
    if kind not in ("array", "object"):
        yield from _not_with(where, option, _SIZE_RULES, "only with an array or an object")
    if kind != "object" and option.get("encode") != "pairs":
        yield from _not_with(where, option, ("encode",), f'only with "type": {shown("object")}')
    yield from _bounds(where, option)
    if kind in ("boolean", "object"):
        yield from _not_with(where, option, _VALUE_RULES, f"nothing of that with {shown(kind)}")
        return
    items = option.get("items")
    if kind != "array":
        yield from _value(where, option, kind)
        return
    inner = {} if not isinstance(items, dict) else items
    item_kind = inner.get("type", "string")
    yield from _value(where, option, item_kind)
    if isinstance(items, dict):
        said = {key: value for key, value in items.items() if value is not None}
        yield from _value((*where, "items"), said, item_kind)
        yield from _bounds((*where, "items"), said)


def _positional(where: Where, option: Mapping[str, Any]) -> Iterator[Finding]:
    if option.get("positional") is not True:
        return
    for name in ("flag", "style"):
        if name in option:
            found = f"{shown(name)} of a positional value"
            mend = f"take out {shown(name)} or {shown('positional')}"
            yield Finding((*where, name), "conflict", found, "either of the two", mend)
    if option["type"] == "boolean":
        found = "a boolean that is positional"
        accepted = "a boolean with a flag, or a positional value of another type"
        mend = 'take out "positional"'
        yield Finding((*where, "positional"), "conflict", found, accepted, mend)


def _style(where: Where, option: Mapping[str, Any]) -> Iterator[Finding]:
    style, flag = option.get("style"), flag_of(option)
    if style is None or option.get("positional") is True:
        return
    if option["type"] == "boolean":
        found = f"{shown(style)} for a boolean, which has no value"
        yield Finding((*where, "style"), "conflict", found, "no style", "take it out")
    elif style == "joined" and flag is not None and len(flag) > 2:
        found = f"{shown(style)} with the flag {shown(flag)}"
        accepted = '"equals" or "separate"; "joined" only with a dash and one letter'
        mend = "a value joined to it could become another flag: write one of these"
        yield Finding((*where, "style"), "conflict", found, accepted, mend)


def _not_with(
    where: Where, option: Mapping[str, Any], names: tuple[str, ...], accepted: str
) -> Iterator[Finding]:
    for name in names:
        if name in option:
            found = f"{shown(name)} with {shown(option['type'])}"
            yield Finding((*where, name), "conflict", found, accepted, "take it out")


def _bounds(where: Where, value: Mapping[str, Any]) -> Iterator[Finding]:
    for low, high in _BOUNDS:
        least, most = value.get(low), value.get(high)
        if _number(least) and _number(most) and least > most:
            found = f"{shown(low)} {shown(least)} above {shown(high)} {shown(most)}"
            accepted = f"{low} up to {high}"
            yield Finding((*where, low), "conflict", found, accepted, "exchange them")


def _value(where: Where, value: Mapping[str, Any], kind: str) -> Iterator[Finding]:
    if kind == "string":
        yield from _not_with_kind(where, value, _NUMBER_RULES, kind, "only with numbers")
        yield from _pattern(where, value.get("pattern"))
        yield from _within(where, value.get("within"))
    elif kind in _NUMBERS:
        yield from _not_with_kind(where, value, _TEXT_RULES, kind, "only with strings")
    yield from _enum(where, value.get("enum"), kind)


def _not_with_kind(
    where: Where, value: Mapping[str, Any], names: tuple[str, ...], kind: str, accepted: str
) -> Iterator[Finding]:
    for name in names:
        if name in value:
            found = f"{shown(name)} for values of type {shown(kind)}"
            yield Finding((*where, name), "conflict", found, accepted, "take it out")


def _pattern(where: Where, pattern: object) -> Iterator[Finding]:
    if not isinstance(pattern, str):
        return
    try:
        matcher(pattern)
    except ValueError as error:
        found = f"{shown(pattern)}: {error}"
        accepted = "a regular expression without look-around and back-references"
        mend = r"mend it; a backslash is written \\ in JSON"
        yield Finding((*where, "pattern"), "not_allowed", found, accepted, mend)


def _within(where: Where, folders: object) -> Iterator[Finding]:
    for i, folder in enumerate(folders if isinstance(folders, list) else []):
        if not isinstance(folder, str) or folder == PROJECT:
            continue
        if not whole_path(folder):
            accepted = '"project", or a whole path such as "/srv/data" or "~/notes"'
            mend = 'write "project" for the agent\'s project and everything in it'
            at = (*where, "within", i)
            yield Finding(at, "not_allowed", shown(folder), accepted, mend)


def _enum(where: Where, values: object, kind: str) -> Iterator[Finding]:
    seen: list[object] = []
    for i, value in enumerate(values if isinstance(values, list) else []):
        at = (*where, "enum", i)
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            continue
        if not _is_a(kind, value):
            accepted = {"string": "texts", "integer": "whole numbers"}.get(kind, "numbers")
            mend = f"write a value of type {shown(kind)}"
            yield Finding(at, "conflict", f"{shown(value)} for type {shown(kind)}", accepted, mend)
        elif value in seen:
            yield twice(at, value, "take one of them out")
        seen.append(value)


def _is_a(kind: str, value: str | int | float) -> bool:
    if kind == "string":
        return isinstance(value, str)
    if kind == "integer":
        return isinstance(value, int)
    return kind not in _NUMBERS or not isinstance(value, str)


def _names(where: Where, options: object) -> Iterator[Finding]:
    seen: set[str] = set()
    for i, option in parts(options):
        name = option.get("name")
        if not isinstance(name, str):
            continue
        plain = name.replace("-", "_")
        if plain in seen:
            yield twice((*where, i, "name"), name, "rename one of them")
        seen.add(plain)


def flag_of(option: Mapping[str, Any]) -> str | None:
    """The flag that an option has, as far as it can be said."""
    if isinstance(option.get("flag"), str):
        return str(option["flag"])
    name = option.get("name")
    return f"--{name.replace('_', '-')}" if isinstance(name, str) else None


def _flags(where: Where, options: object) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for i, option in parts(options):
        flag, name = flag_of(option), option.get("name")
        if flag is None or not isinstance(name, str) or option.get("positional") is True:
            continue
        if seen.setdefault(flag, name) != name:
            mend = f"give it another flag than {shown(seen[flag])}, or take one of them out"
            at = (*where, i, "flag" if "flag" in option else "name")
            yield twice(at, flag, mend)


def _order(where: Where, options: object) -> Iterator[Finding]:
    """Positional values are told apart by their place alone."""
    many: str | None = None
    optional: str | None = None
    for i, option in parts(options):
        if option.get("positional") is not True or not isinstance(option.get("name"), str):
            continue
        name, at = option["name"], (*where, i, "positional")
        if many is not None:
            found = f"{shown(name)} after {shown(many)}, which can be any number of values"
            mend = f"move {shown(many)} to the end"
            yield Finding(at, "conflict", found, f"{shown(many)} as the last", mend)
        elif optional is not None and option.get("required") is True:
            found = f"{shown(name)}, which is required, after {shown(optional)}, which is not"
            mend = f'move it before {shown(optional)}, or write "required": true there as well'
            yield Finding(at, "conflict", found, "required ones first", mend)
        if _any_number(option):
            many = many or name
        if option.get("required") is not True:
            optional = optional or name


def _any_number(option: Mapping[str, Any]) -> bool:
    if option.get("type") == "array":
        return "join" not in option
    return option.get("type") == "object" and option.get("encode") != "json"


def _number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def twice(where: Where, value: object, mend: str) -> Finding:
    return Finding(where, "duplicate", f"{shown(value)} again", "each only once", mend)
