"""What may be done without asking: which changes an approval given in advance can cover at all, and
which of the owner's rules covers the use of a tool.

Checks files when a tool is about to be used, never before. Not for the event loop.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from chatbridge.core.approval_rules import COMMAND_TOOL, Rule, command_fits, path_fits
from chatbridge.core.exact_text import exact_line
from chatbridge.core.model import Project
from chatbridge.tools.approvals.subject import Json, change_of, command_of, has_to_be_read

INSTRUCTIONS = frozenset({
    "agents.md", "agents.override.md", "claude.local.md", "claude.md", "gemini.md", "skill.md",
})  # fmt: skip
"""Files that tell the next agent what to do."""
_NAMED = re.compile(r"[\w./+@-]{1,100}")
"""Folders below the project's that can stand in a sentence: a longer one would be cut where it has
to be read, and one with spaces could go on with words of its own."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that is about to be used, and with what."""

    tool: str
    given: Json
    project: Project
    folder: str | None
    """Where a command would run, or where its agent was started."""


def plain_file(use: ToolUse) -> str | None:
    """The real path of the file that this would change, if that can be allowed in advance: plain
    text inside the project, without a link in its path, that nothing runs automatically. None: a
    person has to look at it, whatever was allowed."""
    found, root, project = change_of(use.tool, use.given), _root(use.project), use.project
    if found is None or root is None:
        return None
    path, diff = found
    above = next((top for top in (project.key, root) if path.startswith(f"{top}/")), None)
    if above is None or exact_line(path) != path:  # hidden signs, or some that look like others
        return None
    if os.path.basename(path).lower() in INSTRUCTIONS:
        return None
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):
        return None
    unlinked = real == os.path.join(root, path[len(above) + 1 :])  # and without dots in it
    return real if unlinked and not has_to_be_read(path, real, diff, project) else None


def folders_of(file: str, project: Project) -> tuple[str, ...]:
    """The folders in which edits can be allowed with this one, the narrowest first: its own, unless
    that is the project's, and the project's."""
    root, folder = _root(project), os.path.dirname(file)
    if root is None or not PurePosixPath(file).is_relative_to(root):
        return ()
    named = _NAMED.fullmatch(folder, len(root))
    return (folder, root) if folder != root and named else (root,)


def fitting_rule(rules: Sequence[Rule], use: ToolUse, file: str | None, now: float) -> int | None:
    """The number of the owner's rule that covers this, counted from 1. `file` is what `plain_file`
    says of it."""
    root = _root(use.project)
    command = command_of(use.given) if use.tool == COMMAND_TOOL else None
    for number, rule in enumerate(rules, 1):
        if root is None or rule.is_over(now) or use.tool not in rule.tools:
            continue
        if os.path.realpath(rule.project) != root:
            continue
        if command is not None and command_fits(rule, command) and _is_inside(use.folder, root):
            return number
        if file is not None and path_fits(rule, os.path.relpath(file, root)):
            return number
    return None


def _root(project: Project) -> str | None:
    """The real folder of a project that the hub can look at."""
    if project.outsider or not project.key.startswith("/"):
        return None
    root = os.path.realpath(project.key)
    return None if root == "/" else root


def _is_inside(folder: str | None, root: str) -> bool:
    if folder is None or not folder.startswith("/"):
        return False
    return PurePosixPath(os.path.realpath(folder)).is_relative_to(root)
