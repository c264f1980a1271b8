"""Rules for single settings, which every table of the settings uses.

Owns how lists, ids, secrets and addresses are read, and when a value is no wider than the one in
the owner's file. No message contains a value: people put tokens into the wrong places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from pydantic import SecretStr, ValidationError

T = TypeVar("T")
Fits = Callable[[Any, Any], bool]
"""Whether a value is no wider than the file's."""


def listed(value: object) -> object:
    """A list, also as JSON or comma-separated text."""
    if isinstance(value, str) and not value.lstrip().startswith("["):
        return [part.strip() for part in value.split(",") if part.strip()]
    import tomllib

    try:
        return tomllib.loads(f"x = {value}")["x"] if isinstance(value, str) else value
    except RecursionError:
        raise ValueError("this list is nested too deeply") from None


def each(parse: Callable[[Any], T | None], *, problem: str) -> Callable[[Any], tuple[T, ...]]:
    """A rule for one value or a list of them. `parse` returns None for what is none."""

    def rule(value: Any) -> tuple[T, ...]:
        given = listed([value] if isinstance(value, int) else value)
        items = given if isinstance(given, list | tuple) else [None]
        found = [item for item in map(parse, items) if item is not None]
        if len(found) < len(items):
            raise ValueError(problem)
        return tuple(dict.fromkeys(found))

    return rule


def number(least: int, most: int) -> Callable[[object], int | None]:
    """An item of `each`: an id that is a number. 0 is none."""

    def parse(item: object) -> int | None:
        if isinstance(item, str) and re.fullmatch(r"-?[0-9]{1,20}", item.strip()):
            item = int(item)
        if not isinstance(item, int) or isinstance(item, bool):
            return None
        return item if item and least <= item <= most else None

    return parse


def matching(form: str) -> Callable[[object], str | None]:
    """An item of `each`: an id of this form."""

    def parse(item: object) -> str | None:
        text = item.strip() if isinstance(item, str) else ""
        return text if re.fullmatch(form, text) else None

    return parse


def token(form: str, *, problem: str) -> Callable[[SecretStr | None], SecretStr | None]:
    """A rule for a token of this form, without the spaces around it; an empty one is none."""

    def rule(value: SecretStr | None) -> SecretStr | None:
        if value is None or not (found := value.get_secret_value().strip()):
            return None
        if not re.fullmatch(form, found):
            raise ValueError(problem)
        return type(value)(found)

    return rule


def address(value: str, *, accepted: str) -> SplitResult:
    """The parts of a server's address."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(value)
        host = parts.hostname or ""
        usable = bool(host) and is_host(host) and parts.port != 0
        usable = usable and parts.scheme in ("http", "https")
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment or re.search(r"\s", value):
        raise ValueError(f"accepted: {accepted}")
    if "@" in parts.netloc:
        raise ValueError("the address must have no user and no password in it")
    return parts


def api_address(example: str) -> Callable[[str], str]:
    """A rule for the address of a service's interface, with a slash at its end if `example` has
    one."""

    def rule(value: str) -> str:
        base = value.strip().rstrip("/")
        address(base, accepted=f"an http:// or https:// address, such as {example}")
        return f"{base}/" if example.endswith("/") else base

    return rule


def is_host(text: str) -> bool:
    """Whether the system can be asked for this name: no part of it is empty, or too long."""
    try:
        text.encode("idna")
    except UnicodeError:
        return False
    return True


def is_loopback(host: str) -> bool:
    from ipaddress import ip_address  # only who listens needs it

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def first_problem(error: ValidationError) -> str:
    """Without the value: it may be a token in the wrong place."""
    message = error.errors(include_input=False, include_url=False)[0]["msg"]
    return message.removeprefix("Value error, ")


# ── whether a value is no wider than the file's ───────────────────────────────────────────────────


def is_same(value: object, file: object) -> bool:
    return value == file


def is_within(value: Collection[object] | None, file: Collection[object]) -> bool:
    """None is no list but the default, which may be wider."""
    return value is not None and set(value) <= set(file)


def is_some_of(value: Collection[object], file: Collection[object]) -> bool:
    """An empty list would mean something else: those that follow from who may answer."""
    return bool(value) == bool(file) and is_within(value, file)


def is_in_order(value: Collection[object], file: Collection[object]) -> bool:
    return list(value) == [each for each in file if each in value]


def is_no_more(value: bool, file: bool) -> bool:
    return file or not value


def is_no_less(value: float, file: float) -> bool:
    return value >= file


def is_no_further(*order: str) -> Fits:
    """`order`: the values that a setting can have, the narrowest first."""
    return lambda value, file: order.index(value) <= order.index(file)


def is_same_or(narrowest: str | bool | None) -> Fits:
    return lambda value, file: value in (file, narrowest)
