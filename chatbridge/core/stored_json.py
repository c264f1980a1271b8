"""Values stored as JSON text, such as the place of a card or the state of a channel.

Another version may have written them: unknown keys are ignored and missing ones get their default.
A value that still cannot be read is None.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from pydantic import TypeAdapter

log = logging.getLogger(__name__)

T = TypeVar("T")


def reader(kind: type[T]) -> Callable[[str], T | None]:
    """Return a function that reads values of this type."""

    @cache
    def adapter() -> TypeAdapter[T]:
        return TypeAdapter(kind)

    def read(text: str) -> T | None:
        try:
            return adapter().validate_python(json.loads(text))
        except (ValueError, TypeError, RecursionError) as error:
            # Without the text: it may hold what a person wrote.
            name = getattr(kind, "__qualname__", kind)
            log.warning("a stored %s cannot be read (%s)", name, type(error).__name__)
            return None

    return read


def number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
