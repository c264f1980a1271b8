"""Lists, secrets and addresses as people write them, for every table. No message has a value in it:
people put tokens into the wrong places."""

from __future__ import annotations

import re
import tomllib
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr


def listed(value: object) -> object:
    """A list, also as JSON or comma-separated text."""
    if isinstance(value, str) and not value.lstrip().startswith("["):
        return [part.strip() for part in value.split(",") if part.strip()]
    try:
        return tomllib.loads(f"x = {value}")["x"] if isinstance(value, str) else value
    except RecursionError:
        raise ValueError("this list is nested too deeply") from None


def token(value: SecretStr | None, form: re.Pattern[str], *, problem: str) -> SecretStr | None:
    """A token of this form, without the spaces around it; an empty one is none."""
    found = value.get_secret_value().strip() if value else ""
    if not found:
        return None
    if not form.fullmatch(found):
        raise ValueError(problem)
    return SecretStr(found)


def address(value: str, *, accepted: str) -> SplitResult:
    """The parts of a server's address."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment or re.search(r"\s", value):
        raise ValueError(f"accepted: {accepted}")
    if "@" in parts.netloc:
        raise ValueError("the address must have no user and no password in it")
    return parts
