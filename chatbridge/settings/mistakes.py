"""Says what is wrong with settings: the key, its line, and what was probably meant.

Never says a value: one of them may be a token in the wrong place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from chatbridge.core.text import did_you_mean, one_line
from chatbridge.settings.authority import variable_of

TOLD = 10
"""Problems at once."""
EXAMPLE = Path(__file__).with_name("example.toml")
"""`config/chatbridge.example.toml`, as it comes with every installation."""
_ACCEPTED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "string_type": "a text in quotes",
    "tuple_type": "a list in brackets",
}
"""By pydantic's types of errors, whose own words are for programmers."""
_HEADER = re.compile(r"\s*(\[\[?)([^\[\]]+)\]")
_KEY = re.compile(r"\s*([^#\[\]={}]+?)\s*=")

Loc = Sequence[str | int]


def explained(
    error: ValidationError,
    *,
    settings: type[BaseModel],
    found: Mapping[str, Any],
    text: str,
    path: Path,
) -> str:
    """All problems in a sentence. `found` is what `text`, the file at `path`, says."""
    items = error.errors(include_url=False)
    problems = [(item["loc"], _problem(item, settings)) for item in items]
    return located(problems, found=found, text=text, path=path)


def located(
    problems: Sequence[tuple[Loc, str]], *, found: Mapping[str, Any], text: str, path: Path
) -> str:
    """The same of problems that were put into words already."""
    told = "; ".join(problem + _place(loc, text) for loc, problem in problems[:TOLD])
    more = f"; and {len(problems) - TOLD} more" if len(problems) > TOLD else ""
    where = f"Correct {path}"
    if not all(_is_in(found, loc) for loc, _ in problems):
        where = f"Check {path}, the secrets beside it and the CHATBRIDGE_ variables"
    return f"{told}{more}. {where}; {EXAMPLE} explains every key"


def _problem(item: ErrorDetails, settings: type[BaseModel]) -> str:
    *tables, name = item["loc"]
    # Of a list of tables, people count from 1.
    parts = (part + 1 if isinstance(part, int) else part for part in item["loc"])
    key = one_line(".".join(map(str, parts)))
    if item["type"] == "extra_forbidden":
        return f"{key} is not a setting{did_you_mean(name, _names(settings, tables), before=', ')}"
    if item["type"] in ("model_type", "model_attributes_type"):
        return f"{key} is a table: write [{key}] in a line of its own, and its keys below"
    message = item["msg"].removeprefix("Value error, ").replace("Input should be ", "accepted: ", 1)
    if item["type"] in _ACCEPTED:
        message = f"accepted: {_ACCEPTED[item['type']]}"
    accepted = re.findall(r"'([^']+)'", message)
    return f"{key}: {message}{did_you_mean(item['input'], accepted, before='; ')}"


def _names(kind: Any, tables: Loc) -> list[str]:
    """The settings of this table."""
    for part in tables:
        if _is_table(kind):
            field = kind.model_fields.get(str(part))
            kind = field.annotation if field else None
        else:  # one of several tables, by its name or number
            kind = next(filter(_is_table, get_args(kind)), None)
    return list(kind.model_fields) if _is_table(kind) else []


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _is_in(found: Any, loc: Loc) -> bool:
    """Whether the file has it, or a value in its place that is no table."""
    for part in loc:
        if isinstance(found, Mapping):
            if part not in found:
                return False
            found = found[part]
    return True


def _place(loc: Loc, text: str) -> str:
    variable = variable_of(tuple(map(str, loc)))
    if variable in os.environ:  # which overrides the file
        return f" (variable {variable})"
    line = line_of(text, loc)
    return f" (line {line})" if line else ""


def line_of(text: str, loc: Loc) -> int | None:
    """The line of a key in a TOML file, or of the table around it."""
    wanted = tuple(each for each in loc if isinstance(each, str))
    index = next((each for each in loc if isinstance(each, int)), 0)
    table: tuple[str, ...] = ()
    entries: dict[tuple[str, ...], int] = {}
    entry: int | None = None  # of a list of tables
    best, line = 0, None
    for number, row in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(row):
            table = key = _parts(header[2])
            entry = None
            if header[1] == "[[":
                entry = entries[table] = entries.get(table, -1) + 1
        elif pair := _KEY.match(row):
            key = (*table, *_parts(pair[1]))
        else:
            continue
        if key == wanted[: len(key)] and len(key) > best and entry in (None, index):
            best, line = len(key), number
    return line


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip(" \t\"'") for part in name.split("."))
