"""Hooks in a client's settings, in Claude Code's form: ours among those of others.

A hook of ours is known by its command, wherever its owner has put it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from chatbridge.cli.connect.document import Kept, beside, without_empty
from chatbridge.cli.connect.editing import CannotEdit, Editor, at
from chatbridge.cli.connect.jsonc import Jsonc, Steps

NOTICE_SECONDS = 60
DEFAULT_SECONDS = 600.0
"""How long a hook may take that has no time-out."""
OFF = "disableAllHooks"
_OURS = re.compile(r"""(?:^|[\s/])chatbridge['"]?\s+hook(?:\s+--limit[ =]\d+)?\s*$""")


@dataclass(frozen=True, slots=True)
class Hook:
    event: str
    matcher: str | None = None
    asks: bool = False
    """Whether it waits for a person; otherwise it only tells something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    hooks: Sequence[Hook]
    command: Sequence[str]
    wait: float
    """How many seconds those that ask may take at least."""

    def add(self, editor: Editor, text: str) -> str:
        """:raises CannotEdit:"""
        assert isinstance(editor, Jsonc)
        tree = editor.load(text)
        if tree.get(OFF) is True:
            raise CannotEdit(f"“{OFF}” is true, so no hook would run. Without them: --no-hooks")
        for hook in self.hooks:
            found = list(_ours(tree, hook.event))
            for steps, there in found:
                for key, value in self._handler(hook, there).items():
                    if there.get(key) != value:
                        text = editor.put(text, (*steps, key), value)
            if not found:
                group = {} if hook.matcher is None else {"matcher": hook.matcher}
                new = group | {"hooks": [self._handler(hook, {})]}
                text = editor.append(text, ("hooks", hook.event), new)
        return text

    def _handler(self, hook: Hook, there: dict[str, Any]) -> dict[str, Any]:
        """A longer time-out is the owner's. The hub is told of it, to stop asking before."""
        least = int(self.wait) if hook.asks else NOTICE_SECONDS
        said: Any = there.get("timeout")
        timeout = said if _is_number(said) and said >= least else least
        limit = ["--limit", str(int(timeout))] if hook.asks else []
        command = shlex.join([*self.command, *limit])
        return {"type": "command", "command": command, "timeout": timeout}

    def there(self, tree: dict[str, Any]) -> bool:
        return any(True for hook in self.hooks for _ in _ours(tree, hook.event))

    def again(self, editor: Editor, text: str, tree: dict[str, Any]) -> str:
        assert isinstance(editor, Jsonc)
        for hook in self.hooks:
            for index in dict.fromkeys(steps[2] for steps, _ in _ours(tree, hook.event)):
                text = editor.append(text, ("hooks", hook.event), tree["hooks"][hook.event][index])
        return text

    def beside(self, tree: dict[str, Any]) -> dict[str, Any]:
        for hook in self.hooks:
            tree = beside(tree, ("hooks", hook.event), _without_ours)
        return tree

    def take(self, editor: Editor, text: str, kept: Kept) -> str:
        assert isinstance(editor, Jsonc)
        for hook in self.hooks:
            event = ("hooks", hook.event)
            while found := next(_ours(editor.load(text), hook.event), None):
                (*_, index, _, _), handler = found
                group = at(editor.load(text), event)[index]
                if len(group["hooks"]) == 1:
                    text = editor.discard(text, event, group)
                else:
                    text = editor.discard(text, (*event, index, "hooks"), handler)
            text = without_empty(editor, text, event, kept)
        return text


def waiting(hooks: Sequence[Hook], tree: dict[str, Any]) -> float | None:
    """How many seconds all that ask wait for a person at least; None: one of them is missing, or
    hooks are switched off."""
    found = [[it for _, it in _ours(tree, hook.event)] for hook in hooks if hook.asks]
    if tree.get(OFF) is True or not all(found):
        return None
    said: list[Any] = [handler.get("timeout") for each in found for handler in each]
    return min(float(it) if _is_number(it) else DEFAULT_SECONDS for it in said)


def _ours(tree: dict[str, Any], event: str) -> Iterator[tuple[Steps, dict[str, Any]]]:
    """Our hooks for this event, each with the way to it."""
    groups = at(tree, ("hooks", event))
    for index, group in enumerate(groups if isinstance(groups, list) else []):
        handlers = group.get("hooks") if isinstance(group, dict) else None
        for place, handler in enumerate(handlers if isinstance(handlers, list) else []):
            if _is_ours(handler):
                yield ("hooks", event, index, "hooks", place), handler


def _is_ours(handler: Any) -> bool:
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and _OURS.search(command) is not None


def _without_ours(groups: Any) -> Any:
    if not isinstance(groups, list):
        return groups
    left = []
    for group in groups:
        handlers = group.get("hooks") if isinstance(group, dict) else None
        others = [it for it in handlers if not _is_ours(it)] if isinstance(handlers, list) else []
        if others:
            left.append(group | {"hooks": others})
        elif not handlers or not isinstance(handlers, list):
            left.append(group)
    return left


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
