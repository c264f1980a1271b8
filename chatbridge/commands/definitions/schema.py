"""The schema of definition files for editors, made of the models: `config/tools.schema.json`."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from chatbridge.commands.definitions.definition import Definition

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@cache
def schema() -> dict[str, Any]:
    """As JSON Schema 2020-12."""
    made = _tidy(Definition.model_json_schema(by_alias=True))
    made["title"] = "chatbridge: a command-line tool for agents"
    return {"$schema": _DIALECT, **made}


def published() -> str:
    """The text of the file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _tidy(node: Any, *, named: bool = False) -> Any:
    """Without titles that repeat names, and defaults that say that there is none. `named`: the
    keys of this one are fields' names."""
    if isinstance(node, list):
        return [_tidy(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _tidy(value, named=not named and key in ("properties", "$defs"))
        for key, value in node.items()
        if named or not (key == "title" or (key == "default" and value is None))
    }
