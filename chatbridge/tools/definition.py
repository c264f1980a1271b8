"""What all tools share: how one describes itself to clients, and how it refuses arguments."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

from mcp_types import Icon, Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict, ValidationError

from chatbridge.core.errors import ToolInputError
from chatbridge.core.text import one_line, shortened

_SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'><path fill='#0A6A50' d='M4 3h16a2 "
    "2 0 0 1 2 2v10a2 2 0 0 1-2 2h-8l-5 4v-4H4a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2z'/></svg>"
)
ICON = Icon(
    src=f"data:image/svg+xml;base64,{b64encode(_SVG.encode()).decode()}",
    mime_type="image/svg+xml",
    sizes=["any"],
)


def described(
    name: str,
    *,
    title: str,
    description: str,
    schema: dict[str, Any],
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    open_world: bool = True,
) -> Tool:
    """Only a command of the owner's can be destructive."""
    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=schema,
        annotations=ToolAnnotations(
            title=title,
            read_only_hint=read_only,
            destructive_hint=destructive,
            idempotent_hint=idempotent,
            open_world_hint=open_world,
        ),
        icons=[ICON],
    )


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


def refused(sentence: str, path: str, given: object, accepted: str) -> ToolInputError:
    return ToolInputError(
        sentence,
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
    if kind == "missing":
        return refused(f"Validation error: {path} is required", path, None, "some value")
    if kind == "string_too_long":
        return too_long(names[-1], path, f"{len(given):,} characters", accepted)
    return refused(f"Validation error: {path} is not valid", path, given, accepted)
