"""Settings that decide who may allow what. The environment cannot widen what the owner's file says.

Any program that runs as the owner, an agent too, can start a hub with variables of its own. So a
variable or a credential may narrow or repeat what `config.toml` and the secrets beside it say. If
it is wider, the file counts, and the owner is told. Variables decide what the file leaves out, as
in a container, except those in `FILE_ONLY`. An empty list means nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from chatbridge.channels.registry import channel_specs
from chatbridge.core.errors import SettingsError
from chatbridge.setting_rules import (
    Fits,
    first_problem,
    is_in_order,
    is_no_further,
    is_no_less,
    is_no_more,
    is_same,
    is_same_or,
    is_within,
)

Key = tuple[str, ...]

FILE_ONLY = frozenset(
    {
        ("approvals", "allow"),
        ("commands", "path"),
        ("commands", "environment"),
        ("voice", "command"),
        ("messages", "terminal"),
        ("people",),
        ("routes",),
        ("audit", "enabled"),
        ("audit", "retention"),
        ("audit", "texts"),
    }
)
"""What is allowed without asking, which programs run, whose words reach agents as the owner's, who
the people are, and what is written down of all that. A file that is silent about them says the
default: none, and a person's."""


def limits() -> dict[Key, Fits]:
    """The settings that variables must not widen."""
    return {
        ("people",): is_same,
        ("routes",): is_same,
        ("audit", "enabled"): is_same_or(True),
        ("audit", "retention"): is_no_less,
        ("audit", "texts"): is_no_more,
        ("approvals", "channels"): is_within,
        ("approvals", "allow"): is_same,
        **_of_channels(chats=True),
        ("commands", "enabled"): is_no_more,
        ("commands", "dirs"): is_in_order,
        ("commands", "path"): is_same,
        ("commands", "environment"): is_same,
        **_of_channels(chats=False),
        ("voice", "command"): is_same,
        ("voice", "url"): is_same_or(""),
        ("messages", "terminal"): is_no_further("nobody", "person", "anybody"),
        ("push", "detail"): is_no_further("nothing", "project", "all"),
        ("push", "services"): is_within,
        ("http", "address"): is_same_or(None),
        ("http", "hosts"): is_within,
        ("store",): is_same,
        ("on_timeout",): is_same_or("never"),
        ("elicit",): is_same_or("chats"),
    }


def _of_channels(*, chats: bool) -> dict[Key, Fits]:
    specs = [spec for spec in channel_specs() if spec.is_chat == chats]
    return {(spec.name, name): fits for spec in specs for name, fits in spec.limits.items()}


def chats_in(file: Mapping[str, Any]) -> frozenset[str]:
    """The chats that the file names. Whoever says what comes from them speaks for people."""
    return frozenset(
        spec.name
        for spec in channel_specs()
        if (
            isinstance(table := file.get(spec.name), Mapping)
            and any(table.get(key) for key in spec.named_by)
        )
        or any(person.get(spec.name) for person in _people_in(file) if spec.people)
    )


def _people_in(file: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    listed = file.get("people")
    return [it for it in listed if isinstance(it, Mapping)] if isinstance(listed, list) else []


def widened(settings: BaseModel, file: Mapping[str, Any]) -> Iterator[tuple[Key, Any]]:
    """The settings that are wider than the file's, each with what the file says.
    :raises SettingsError: what the file says is no value of that setting."""
    implied = _implied(chats_in(file))
    if _people_in(file):  # which are all that there are, beside the channels' own lists there
        named = (spec for spec in channel_specs() if spec.people)
        implied |= {(spec.name, str(spec.people)): () for spec in named}
    for key, fits in limits().items():
        table, name = key[0], key[-1]
        model, given = (getattr(settings, table), file.get(table)) if key[1:] else (settings, file)
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
        raise SettingsError(
            f"{'.'.join(key)}: {first_problem(error)}. Check the configuration file: a variable "
            "does not take its place"
        ) from None


def _implied(chats: Collection[str]) -> dict[Key, Any]:
    """What a file says by naming chats: approvals are given there, at the services' own servers."""
    named = [spec for spec in channel_specs() if spec.name in chats]
    allowed = tuple(sorted(spec.name for spec in named if spec.approvals))
    found: dict[Key, Any] = {("approvals", "channels"): allowed} if allowed else {}
    return found | {
        (spec.name, name): spec.settings.model_fields[name].default
        for spec in named
        for name in spec.file_default
    }


def variable_of(key: Key) -> str:
    return f"CHATBRIDGE_{'__'.join(key)}".upper()
