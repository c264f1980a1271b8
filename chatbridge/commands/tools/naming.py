"""Which operations a call of `status`, `await` or `cancel` means."""

from __future__ import annotations

from typing import Any

from chatbridge.commands.operations.operations import SHORTEST_PREFIX
from chatbridge.core.errors import ToolInputError
from chatbridge.tools.definition import refused

ONE, SEVERAL = "operationId", "operationIds"
MOST = 100
ID_SCHEMA: dict[str, Any] = {
    "type": "string",
    "description": f"An operation's id, or the first {SHORTEST_PREFIX} characters of it",
    "minLength": SHORTEST_PREFIX,
}


def one_named(arguments: dict[str, Any]) -> str | None:
    """:raises ToolInputError:"""
    given = arguments.get(ONE)
    return None if given is None else _checked(given, ONE)


def all_named(arguments: dict[str, Any]) -> list[str]:
    """The one, or the several, in their order. :raises ToolInputError:"""
    one, several = one_named(arguments), arguments.get(SEVERAL)
    if several is None:
        return [] if one is None else [one]
    if not isinstance(several, list) or len(several) > MOST:
        accepted = f"a list of at most {MOST} ids"
        raise refused(f"Validation error: {SEVERAL} is not valid", SEVERAL, several, accepted)
    named = [_checked(each, f"{SEVERAL}[{at}]") for at, each in enumerate(several)]
    return list(dict.fromkeys([*([one] if one else []), *named]))


def required(path: str) -> ToolInputError:
    return refused(
        f"Validation error: {path} is required", path, None, "the operationId that a call returned"
    )


def _checked(given: object, path: str) -> str:
    if isinstance(given, str) and len(given.strip()) >= SHORTEST_PREFIX:
        return given.strip()
    raise refused(
        f"Validation error: {path} is not valid",
        path,
        given,
        f"the operationId that a call returned, or at least its first {SHORTEST_PREFIX} characters",
    )
