"""Hooks in a client's settings, in Claude Code's form, which Codex and Gemini CLI have, too: ours
among those of others.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from chatbridge.cli.connect.document import WasThere, remove_empty, with_value
from chatbridge.cli.connect.editing import CannotEdit, Editor, is_number
from chatbridge.cli.connect.jsonc import Jsonc, Steps
from chatbridge.cli.connect.own_hooks import handlers, is_own, own_hooks
from chatbridge.link.preface import MAX_LIMIT_SECONDS

Json = dict[str, Any]
NOTICE_SECONDS = 60
DEFAULT_SECONDS = 600.0
"""How long a hook may take that has no time-out."""
OFF = "disableAllHooks"


@dataclass(frozen=True, slots=True)
class Hook:
    event: str
    matcher: str | None = None
    asks: bool = False
    """Whether it asks a person what the client would ask in its own window."""
    waits: bool = False
    """Whether it may wait for a person without that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    hooks: Sequence[Hook]
    command: Sequence[str]
    wait: float
    """How many seconds those that wait for a person may take at least."""
    unit: int = 1
    """How many of a time-out's units are a second."""

    def add(self, editor: Editor, text: str) -> str:
        """:raises CannotEdit:"""
        assert isinstance(editor, Jsonc)
        tree = editor.load(text)
        if tree.get(OFF) is True:
            raise CannotEdit(f"“{OFF}” is true, so no hook would run. Without them: --no-hooks")
        for hook in self.hooks:
            found = list(_ours(tree, hook.event))
            for steps, _, there in found:
                for key, value in self._handler(hook, there).items():
                    if there.get(key) != value:
                        text = editor.put(text, (*steps, key), value)
            if not found:
                group = {} if hook.matcher is None else {"matcher": hook.matcher}
                new = group | {"hooks": [self._handler(hook, {})]}
                text = editor.append(text, ("hooks", hook.event), new)
        return text

    def _handler(self, hook: Hook, there: Json) -> Json:
        """A longer time-out is the owner's. The hub is told of it, to stop asking before."""
        waits = hook.asks or hook.waits
        least = int(self.wait if waits else NOTICE_SECONDS) * self.unit
        said: Any = there.get("timeout")
        timeout = said if is_number(said) and said >= least else least
        limit = ["--limit", str(int(min(timeout / self.unit, MAX_LIMIT_SECONDS)))]
        command = shlex.join([*self.command, *(limit if waits else [])])
        return {"type": "command", "command": command, "timeout": timeout}

    def is_in(self, tree: Json) -> bool:
        return any(True for hook in self.hooks for _ in _ours(tree, hook.event))

    def restore(self, editor: Editor, text: str, tree: Json) -> str:
        assert isinstance(editor, Jsonc)
        for hook in self.hooks:
            groups = {steps[2]: group for steps, group, _ in _ours(tree, hook.event)}
            for group in groups.values():
                text = editor.append(text, ("hooks", hook.event), group)
        return text

    def rest_of(self, tree: Json) -> Json:
        for hook in self.hooks:
            tree = with_value(tree, ("hooks", hook.event), _others)
        return tree

    def remove(self, editor: Editor, text: str, was_there: WasThere) -> str:
        assert isinstance(editor, Jsonc)
        for hook in self.hooks:
            event = ("hooks", hook.event)
            while found := next(_ours(editor.load(text), hook.event), None):
                steps, group, handler = found
                if all(map(is_own, group["hooks"])):
                    text = editor.discard(text, event, group)
                else:
                    text = editor.discard(text, steps[:-1], handler)
            text = remove_empty(editor, text, event, was_there)
        return text


def waiting(hooks: Sequence[Hook], tree: Json) -> float | None:
    """How many seconds each of these waits for a person at least; None: one of them is missing, or
    hooks are switched off."""
    found = [[it for *_, it in _ours(tree, hook.event)] for hook in hooks]
    if tree.get(OFF) is True or not all(found):
        return None
    said = [handler.get("timeout") for each in found for handler in each]
    return min(it if is_number(it) else DEFAULT_SECONDS for it in said)


def _ours(tree: Json, event: str) -> Iterator[tuple[Steps, Json, Json]]:
    """Our hooks for this event: the way to each, its group, and itself."""
    for index, place, group, handler in own_hooks(tree, event):
        yield ("hooks", event, index, "hooks", place), group, handler


def _others(groups: Any) -> Any:
    """Everything but our hooks, and the groups that hold nothing else."""
    if not isinstance(groups, list):
        return groups
    others = []
    for group in groups:
        left = [handler for handler in handlers(group) if not is_own(handler)]
        if left == handlers(group):
            others.append(group)
        elif left:
            others.append(group | {"hooks": left})
    return others
