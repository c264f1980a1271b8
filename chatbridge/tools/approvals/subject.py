"""What an approval shows of a tool's use: the command, the diff, or the input as it came.

What is shown is what is allowed: an input with a member that is not understood, or of another
shape, is shown whole. Left out of a command are only words about it, and how long it may take. How
it is drawn, to the letter, is the card's business.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from chatbridge.core.cards.build_approval import HEAD, LONG_DIFF, TAIL
from chatbridge.core.errors import ToolInputError
from chatbridge.core.exact_text import exact, exact_line
from chatbridge.core.model import Project, Subject
from chatbridge.core.text import encodable
from chatbridge.tools.approvals.diff import COMPARED, effort, replaced, written
from chatbridge.tools.approvals.file import has_to_be_read, real_path

Json = dict[str, Any]

COMMAND, CHANGE = "Run this command?", "Change this file?"
LONG_TEXT, LONG_LINES = 3_000, 20
"""Above either, a person sees only the ends at first, and nothing can be allowed before all of it
was shown."""
EVERYWHERE, WHOLE = "every occurrence", "the whole file"
_ASIDE = {"description", "timeout", "run_in_background"}
_PATHS = ("file_path", "notebook_path", "path")
_CELL_MODES = ("replace", "insert", "delete")
_CELL_TYPES = ("code", "markdown", "")
_CELL_ID = re.compile(r"[A-Za-z0-9_-]{0,100}", re.ASCII)


def subject_of(
    tool: str, given: Json, project: Project, *, folder: str | None, started: bool = False
) -> tuple[str, Subject]:
    """The question in our words, and what it is about in the agent's. `folder` is where the tool
    would be used, or only where its agent was `started`.

    Looks at files: not for the event loop.

    :raises ToolInputError: a path cannot be shown.
    """
    where = _where(folder)
    if tool == "Bash" and (command := _command(given)) is not None:
        subject = Subject(code=command, language="bash", folder=where, started=started)
        return COMMAND, whole_first(subject)
    if (change := _change(tool, given, project)) is not None:
        return CHANGE, change
    code = json.dumps(given, ensure_ascii=False, indent=2)
    name = exact_line(tool).replace("`", "⟨U+0060⟩")  # it stands between two of them
    leads_to = ", ".join(_elsewhere(given, project, folder or "")) or None
    subject = Subject(code=code, language="json", leads_to=leads_to, folder=where, started=started)
    return f"Use `{name}`?", whole_first(subject)


def whole_first(subject: Subject) -> Subject:
    """A command cannot be taken back."""
    shown = exact(subject.code)  # where hidden characters take room, too
    # So many lines in few words are all on the card: there would be nothing left to show.
    lines = shown.count("\n") >= LONG_LINES and len(shown) > HEAD + TAIL
    return replace(subject, whole_first=lines or _is_long(shown))


def _is_long(shown: str) -> bool:
    return len(shown.encode("utf-16-le", "surrogatepass")) // 2 > LONG_TEXT  # as chats count them


def _where(folder: str | None) -> str | None:
    if folder is None or not folder.startswith("/"):
        return None
    return as_written(_storable(folder))


def _storable(path: str) -> str:
    """Bytes that are no text would be lost, and two paths would look the same."""
    if encodable(path) != path:
        raise ToolInputError(
            "A path is no text, so nobody can be asked about it",
            path="path",
            given=exact_line(path),
            accepted="a path in UTF-8",
        )
    return path


def _command(given: Json) -> str | None:
    command = given.get("command")
    if not isinstance(command, str) or not command.strip():
        return None
    return command if given.keys() - _ASIDE == {"command"} else None


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def _change(tool: str, given: Json, project: Project) -> Subject | None:
    """None: it is to be shown as it came."""
    path, diff = _path(given), _diff(tool, given)
    if path is None or not diff:
        return None
    try:
        real = real_path(path, project)
    except ValueError:
        return None
    shown = exact(diff)
    long = _is_long(shown) or shown.count("\n") >= LONG_DIFF
    return Subject(
        code=diff,
        language="diff",
        file=_within(path, project),
        leads_to=_storable(real) if real and real != path else None,
        whole_first=long and has_to_be_read(path, real, diff, project),
    )


def _elsewhere(given: Json, project: Project, folder: str) -> Iterator[str]:
    """Where the paths of an input that is shown as it came lead, if that is elsewhere. All of them:
    which one its tool goes by is not known."""
    for path in filter(None, map(given.get, _PATHS)):
        if not isinstance(path, str) or not (whole := os.path.join(folder, path)).startswith("/"):
            continue
        try:
            real = real_path(whole, project)
        except ValueError:
            continue
        if real and real != whole:
            yield _storable(real)


def _diff(tool: str, given: Json) -> str | None:
    """None or nothing: it is to be shown as it came."""
    match tool:
        case "Edit":
            edit = _edit({key: value for key, value in given.items() if key != "file_path"})
            return _edited([edit]) if edit else None
        case "MultiEdit":
            edits = given.get("edits")
            if not isinstance(edits, list) or given.keys() != {"file_path", "edits"}:
                return None
            known = [edit for edit in map(_edit, edits) if edit is not None]
            return _edited(known) if len(known) == len(edits) else None
        case "Write":
            content = given.get("content")
            if not isinstance(content, str) or given.keys() != {"file_path", "content"}:
                return None
            return _headed(WHOLE, written(content))
        case "NotebookEdit":
            return _cell(given)
    return None


@dataclass(frozen=True, slots=True)
class _Edit:
    old: str
    new: str
    everywhere: bool


def _edit(found: object) -> _Edit | None:
    if not isinstance(found, dict) or found.keys() - {"old_string", "new_string", "replace_all"}:
        return None
    old, new = found.get("old_string"), found.get("new_string")
    everywhere = found.get("replace_all", False)
    if not isinstance(old, str) or not isinstance(new, str) or not isinstance(everywhere, bool):
        return None
    return _Edit(old, new, everywhere) if old != new else None


def _edited(edits: list[_Edit]) -> str:
    compare = sum(effort(edit.old, edit.new) for edit in edits) <= COMPARED
    shown = []
    for number, edit in enumerate(edits, 1):
        which = f"{number} of {len(edits)}" if len(edits) > 1 else ""
        header = ", ".join(part for part in (which, edit.everywhere and EVERYWHERE) if part)
        shown.append(_headed(header, replaced(edit.old, edit.new, compare=compare)))
    return "\n".join(shown)


def _cell(given: Json) -> str | None:
    known = {"notebook_path", "cell_id", "cell_type", "edit_mode", "new_source"}
    if given.keys() - known or not all(isinstance(value, str) for value in given.values()):
        return None
    mode, source = given.get("edit_mode", "replace"), given.get("new_source", "")
    kind, cell = given.get("cell_type", ""), given.get("cell_id", "")
    if mode not in _CELL_MODES or kind not in _CELL_TYPES or not _CELL_ID.fullmatch(cell):
        return None
    return _headed(" ".join(part for part in (mode, kind, "cell", cell) if part), written(source))


def _headed(header: str, diff: str) -> str:
    return "\n".join(part for part in (f"@@ {header} @@" if header else "", diff) if part)


def _path(given: Json) -> str | None:
    """A relative one could mean two files; then the input is shown as it came."""
    path = given.get("file_path") or given.get("notebook_path")
    return path if isinstance(path, str) and path.startswith("/") else None


def _within(path: str, project: Project) -> str:
    """From the project's folder on, if it is in there beyond doubt."""
    inside = project.key.startswith("/") and path.startswith(f"{project.key}/")
    return path[len(project.key) + 1 :] if inside and os.path.normpath(path) == path else path


def as_written(folder: str) -> str:
    """A whole path as its owner would write it. No two become the same."""
    home = os.path.expanduser("~").rstrip("/")
    if home and (folder == home or folder.startswith(f"{home}/")):
        return f"~{folder[len(home) :]}"
    return folder
