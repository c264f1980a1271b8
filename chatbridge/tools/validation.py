"""How a tool refuses its arguments: the first line is the contract's sentence, the second says
where, what was given and what is accepted."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import ValidationError

from chatbridge.core.errors import ToolInputError
from chatbridge.core.text import one_line, shortened


def refused(sentence: str, path: str, given: object, accepted: str) -> ToolInputError:
    return ToolInputError(
        sentence,
        path=path,
        given=shortened(repr(given), 120),
        accepted=shortened(one_line(accepted), 400),
    )


def misshapen(error: ValidationError, fields: Collection[str]) -> ToolInputError:
    """The first problem that a shape check found. `fields` are the names a path can have."""
    first = error.errors(include_url=False)[0]
    # What pydantic adds for unions and validators is no part of the path.
    parts = [p for p in first["loc"] if isinstance(p, int) or p in fields]
    path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in parts).lstrip(".")
    names = [p for p in parts if isinstance(p, str)]
    kind, given, message = first["type"], first["input"], first["msg"].removeprefix("Value error, ")
    accepted = message[0].lower() + message[1:]
    if kind == "missing":
        return refused(f"Validation error: {path} is required", path, None, "some value")
    if kind == "string_too_long":
        return ToolInputError(
            f"Validation error: {names[-1]} is too long",
            path=path,
            given=f"{len(given):,} characters",
            accepted=accepted,
        )
    return refused(f"Validation error: {path} is not valid", path, given, accepted)
