"""Our hooks in a client's settings, known by their command, wherever their owner has put them.

Imports little, because `chatbridge hook` looks, too: Claude Code runs the hooks of our plug-in
beside those that `chatbridge connect` has written, even if their commands are the same.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from chatbridge.cli.connect.editing import value_at

Json = dict[str, Any]
_OURS = re.compile(r"""(?:^|[\s/])chatbridge['"]?\s+hook(?:\s+--limit[ =]\d+)?\s*$""")


def own_hooks(tree: Json, event: str) -> Iterator[tuple[int, int, Json, Json]]:
    """Those for this event: the place of the group, the place in it, the group, the hook."""
    groups = value_at(tree, ("hooks", event))
    for index, group in enumerate(groups if isinstance(groups, list) else []):
        for place, handler in enumerate(handlers(group)):
            if is_own(handler):
                yield index, place, group, handler


def handlers(group: Any) -> list[Any]:
    found = group.get("hooks") if isinstance(group, dict) else None
    return found if isinstance(found, list) else []


def is_own(handler: Any) -> bool:
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and _OURS.search(command) is not None


def has_own_hook(event: object, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the settings of this person's Claude Code have one for this event."""
    folder = environ.get("CLAUDE_CONFIG_DIR", "").strip() or os.path.expanduser("~/.claude")
    try:
        with open(os.path.join(folder, "settings.json"), "rb") as file:
            tree = json.load(file)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(event, str) and next(own_hooks(tree, event), None) is not None
