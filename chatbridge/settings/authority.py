"""Settings that decide who may allow what: where the owner's file has them, nothing from a hub's
environment widens them.

A hub can be started by whoever runs as its owner, an agent too, with variables of its own. So a
variable or a credential may narrow what `config.toml` and the secrets beside it say, or say the
same; else the file counts, and the owner is told. A file that says nothing of a setting leaves it
to variables, as in a container, except which programs run: that is said in the file or nowhere. An
empty list says something: nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from chatbridge.core.errors import SettingsError
from chatbridge.settings.telegram import Telegram

Key = tuple[str, ...]
Fits = Callable[[Any, Any], bool]
"""Whether a value is no wider than the file's."""


def _same(value: object, file: object) -> bool:
    return value == file


def _within(value: Collection[object] | None, file: Collection[object]) -> bool:
    """None is no list but the default, which may be wider."""
    return value is not None and set(value) <= set(file)


def _some_of(value: Collection[object], file: Collection[object]) -> bool:
    """None at all would mean something else: those that follow from who may answer."""
    return bool(value) == bool(file) and _within(value, file)


def _in_order(value: Collection[object], file: Collection[object]) -> bool:
    return list(value) == [each for each in file if each in value]


def _no_more(value: bool, file: bool) -> bool:
    return file or not value


def _same_or(narrowest: str | None) -> Fits:
    return lambda value, file: value in (file, narrowest)


LIMITS: Mapping[Key, Fits] = {
    ("approvals", "channels"): _within,
    ("telegram", "allowed_users"): _within,
    ("telegram", "chat_id"): _some_of,
    ("telegram", "api_base"): _same,
    ("matrix", "allowed_users"): _within,
    ("matrix", "room_id"): _some_of,
    ("matrix", "homeserver"): _same,
    ("matrix", "user_id"): _same,
    ("commands", "enabled"): _no_more,
    ("commands", "dirs"): _in_order,
    ("commands", "path"): _same,
    ("commands", "environment"): _same,
    ("web", "enabled"): _no_more,
    ("web", "host"): _same,
    ("web", "url"): _same_or(None),
    ("http", "address"): _same_or(None),
    ("http", "hosts"): _within,
    ("store",): _same,
    ("on_timeout",): _same_or("never"),
    ("elicit",): _same_or("chats"),
}
FILE_ONLY = frozenset({("commands", "path"), ("commands", "environment")})
"""Which programs run. A file that is silent about them says that there are none."""
CHATS: Mapping[str, Collection[str]] = {
    "telegram": ("token", "allowed_users"),
    "matrix": ("user_id", "allowed_users"),
}
"""A file that has one of these keys names that chat: its bot, or people there."""


def chats_in(file: Mapping[str, Any]) -> frozenset[str]:
    """The chats that the file names. Whoever says what comes from them speaks for people."""
    return frozenset(
        chat
        for chat, keys in CHATS.items()
        if isinstance(table := file.get(chat), Mapping) and any(table.get(key) for key in keys)
    )


def widened(settings: BaseModel, file: Mapping[str, Any]) -> Iterator[tuple[Key, Any]]:
    """The settings that are wider than the file's, each with what the file says.

    :raises SettingsError: what the file says is no value of that setting.
    """
    implied = _implied(chats_in(file))
    for key, fits in LIMITS.items():
        *tables, name = key
        model = getattr(settings, tables[0]) if tables else settings
        given = file.get(tables[0]) if tables else file
        field = type(model).model_fields[name]
        if isinstance(given, Mapping) and given.get(name) not in (None, ""):
            said = _value(key, field, given[name])
        elif key in implied:
            said = implied[key] if getattr(model, name) is not None else None
        elif key in FILE_ONLY:
            said = field.get_default(call_default_factory=True)
        else:
            continue
        if said is not None and not fits(getattr(model, name), said):
            yield key, said


def _value(key: Key, field: FieldInfo, given: object) -> object:
    try:
        return TypeAdapter(field.rebuild_annotation()).validate_python(given)
    except ValidationError as error:
        # Without the value: it may be a token in the wrong place.
        (problem, *_) = error.errors(include_input=False, include_url=False)
        raise SettingsError(
            f"{'.'.join(key)}: {problem['msg'].removeprefix('Value error, ')}. Check the "
            "configuration file: a variable does not take its place"
        ) from None


def _implied(chats: Collection[str]) -> dict[Key, Any]:
    """What a file says by naming chats: approvals are given there, and Telegram is Telegram itself
    (another server could bring taps that nobody made)."""
    found: dict[Key, Any] = {("approvals", "channels"): tuple(sorted(chats))} if chats else {}
    if "telegram" in chats:
        found["telegram", "api_base"] = Telegram.model_fields["api_base"].default
    return found


def variable_of(key: Key) -> str:
    return f"CHATBRIDGE_{'__'.join(key)}".upper()
