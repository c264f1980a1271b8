"""Arguments of tools: pieces of their schemas, how they are checked, and how they are refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from chatbridge.core.errors import ToolInputError
from chatbridge.core.text import one_line, shortened


def present(**members: object) -> dict[str, Any]:
    """An object with those of its members that are there."""
    return {name: value for name, value in members.items() if value is not None}


def object_schema(*required: str, **properties: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def text_field(description: str, **limits: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **limits}


def number_field(description: str, *, whole: bool = False, **limits: float) -> dict[str, Any]:
    return {"type": "integer" if whole else "number", "description": description, **limits}


def array_field(description: str, items: dict[str, Any], **limits: int) -> dict[str, Any]:
    return {"type": "array", "description": description, **limits, "items": items}


def flag_field(description: str, *, default: bool) -> dict[str, Any]:
    return {"type": "boolean", "description": description, "default": default}


def refused(problem: str, path: str, given: object, accepted: str) -> ToolInputError:
    return ToolInputError(
        f"Validation error: {problem}",
        path=path,
        given=shortened(repr(given), 120),
        accepted=shortened(one_line(accepted), 400),
    )


def too_long(name: str, path: str, given: str, accepted: str) -> ToolInputError:
    sentence = f"Validation error: {name} is too long"
    return ToolInputError(sentence, path=path, given=given, accepted=accepted)


def unknown_id(sentence: str, path: str, given: str, open_ids: Sequence[str]) -> ToolInputError:
    known = ", ".join(open_ids)
    accepted = f"one that is open: {known}" if known else "none, as none is open"
    given = shortened(repr(given), 120)
    return ToolInputError(sentence, path=path, given=given, accepted=accepted)


class Shape(BaseModel):
    """The arguments of a tool, or a part of them."""

    model_config = ConfigDict(strict=True, extra="ignore")


AnyShape = TypeVar("AnyShape", bound=Shape)


def validated(shape: type[AnyShape], arguments: Mapping[str, Any], *parts: type[Shape]) -> AnyShape:
    """`parts` are the shapes inside it. :raises ToolInputError:"""
    try:
        return shape.model_validate(dict(arguments))
    except ValidationError as error:
        shapes: list[type[Shape]] = [shape, *parts]
        fields = {name for each in shapes for name in each.model_fields}
        raise invalid_arguments(error, fields) from None


def invalid_arguments(error: ValidationError, fields: Collection[str]) -> ToolInputError:
    """The first problem that pydantic found. `fields` are the names a path can have."""
    first = error.errors(include_url=False)[0]
    # What pydantic adds for unions and validators is no part of the path.
    parts = [p for p in first["loc"] if isinstance(p, int) or p in fields]
    path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in parts).lstrip(".")
    names = [p for p in parts if isinstance(p, str)]
    kind, given, message = first["type"], first["input"], first["msg"].removeprefix("Value error, ")
    accepted = message[0].lower() + message[1:]
    if kind == "model_type":
        accepted = "an object"  # instead of the name of our class
    if kind == "missing":
        return refused(f"{path} is required", path, None, "some value")
    if kind == "string_too_long":
        return too_long(names[-1], path, f"{len(given):,} characters", accepted)
    return refused(f"{path} is not valid", path, given, accepted)
