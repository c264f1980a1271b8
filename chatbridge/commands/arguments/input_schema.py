"""Builds the input schema and the description of a command's tool.

The schema uses the plainest words of JSON Schema, because not every client knows all of them.
`argv` and `values` refuse more than it says: values with a leading dash where they could be taken
for an option, items that contain the joiner, paths elsewhere, a positional value without the one
before it, NUL, lone surrogates, what is too large, and patterns that only Python reads.
"""

from __future__ import annotations

import re
from typing import Any

from chatbridge.commands.arguments.argv import empty_taken
from chatbridge.commands.arguments.values import items_of, plain
from chatbridge.commands.definitions.definition import (
    ARGUMENT,
    PROJECT,
    WORKING_DIRECTORY,
    Command,
    Option,
    Value,
)
from chatbridge.core.cards.phrases import format_duration

_PYTHONS_OWN = re.compile(r"\(\?[P#>(aiLmsux-]|\\[AZ]|[*+?}]\+|\{,")
"""What other dialects do not have, or mean something else by."""
_MEMBER = {"type": ["string", "number", "boolean"]}


def schema_of(command: Command) -> dict[str, Any]:
    properties = {option.name: _of_option(option) for option in command.options}
    if command.working_directory == ARGUMENT:
        properties[WORKING_DIRECTORY] = {
            "type": "string",
            "description": "The folder to run in, inside the project. Default: its root",
            "minLength": 1,
        }
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required := [option.name for option in command.options if option.required]:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def _of_option(option: Option) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": option.type}
    if description := _description(option):
        schema["description"] = description
    if option.type == "array":
        items = items_of(option)
        schema |= {"items": {"type": items.type, **_rules(items.type, items, option)}}
        schema |= _present(minItems=option.min_items, maxItems=option.max_items)
    elif option.type == "object":
        schema |= _members(option)
    elif option.type != "boolean":
        schema |= _rules(option.type, option, option)
    return schema


def _description(option: Option) -> str:
    within = items_of(option).within
    if within is None:
        return option.description
    where = " or ".join("the project" if each == PROJECT else each for each in within)
    what = "Paths in" if option.type == "array" else "A path in"
    said = option.description.rstrip(". ")
    return f"{said}. {what} {where}" if said else f"{what} {where}"


def _rules(kind: str, value: Value, option: Option) -> dict[str, Any]:
    if kind != "string":
        low, high = value.minimum, value.maximum
        return _present(
            enum=list(value.enum) if value.enum is not None else None,
            minimum=None if low is None else plain(low),
            maximum=None if high is None else plain(high),
        )
    empty = (empty_taken(option) or option.join is not None) and not value.within
    return _present(
        enum=list(value.enum) if value.enum is not None else None,
        pattern=_pattern(value.pattern),
        minLength=value.min_length if value.min_length or empty else 1,
        maxLength=value.max_length,
    )


def _members(option: Option) -> dict[str, Any]:
    names = {"propertyNames": {"pattern": "^[^=]+$"}} if option.encode == "pairs" else {}
    size = _present(minProperties=option.min_items, maxProperties=option.max_items)
    return {"additionalProperties": _MEMBER, **names, **size}


def _pattern(pattern: str | None) -> str | None:
    """As schemas take it: found anywhere in a text unless it says otherwise."""
    if pattern is None or _PYTHONS_OWN.search(pattern):
        return None
    whole = pattern.startswith("^") and pattern.endswith("$") and "|" not in pattern
    return pattern if whole and not pattern.endswith("\\$") else f"^(?:{pattern})$"


def _present(**rules: object) -> dict[str, Any]:
    return {name: rule for name, rule in rules.items() if rule is not None}


_GUIDANCE = """\
Runs in the background: the call returns an operationId at once. Go on with other work; do not \
wait. {told} Call await only for the final validation, when nothing else is left to do."""
_PUSHED = (
    "The result is pushed to you when it ends, and status, which never waits, shows it at any time."
)
_LOOKED_UP = "Look at the result with status, which never waits."
_ASKED = {
    "never": "",
    "always": "A person is asked on their phone before each run, and may deny it.",
    "once-per-session": "A person is asked on their phone before the first run of a session, and "
    "may deny it.",
}
_FINAL = "What it does cannot be taken back: call it only if you are meant to."


def description_of(command: Command, *, pushed: bool = True) -> str:
    """`pushed`: whether its client can be told of an end outside of a call."""
    return "\n".join(part for part in _parts(command, pushed) if part)


def _parts(command: Command, pushed: bool) -> list[str]:
    about = [
        _sentence(command.description),
        _FINAL if command.destructive else "",
        _ASKED[command.approve],
    ]
    if command.synchronous:
        return about
    hints = "; ".join(hint.strip().rstrip(".") for hint in command.hints)
    return [
        *about,
        _GUIDANCE.format(told=_PUSHED if pushed else _LOOKED_UP),
        f"Meanwhile: {hints}." if hints else "",
        f"It is ended after {format_duration(command.timeout)}.",
    ]


def _sentence(text: str) -> str:
    text = text.strip()
    return text if re.search(r"[.!?:…]$", text) else f"{text}."
