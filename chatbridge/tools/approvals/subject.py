"""What an approval shows of a tool's use: the command, the diff, or the input as it came.

What is shown is what is allowed: an input with a member that is not understood, or of another
shape, is shown whole. Left out of a command are only words about it, and how long it may take. How
it is drawn, to the letter, is the card's business.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from chatbridge.core.cards.build import HEAD, LONG_DIFF, TAIL
from chatbridge.core.errors import ToolInputError
from chatbridge.core.exact_text import exact, exact_line
from chatbridge.core.model import Project, Subject
from chatbridge.core.text import encodable

Json = dict[str, Any]

COMMAND, CHANGE = "Run this command?", "Change this file?"
CREATE, WRITE = "Create this file?", "Write this file?"
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
    would be used, or only where its agent was `started`. Looks at files: not for the event loop.
    :raises ToolInputError: a path cannot be shown."""
    where = as_written(_storable(folder)) if folder and folder.startswith("/") else None
    if tool == "Bash" and (command := command_of(given)) is not None:
        subject = Subject(code=command, language="bash", folder=where, started=started)
        return COMMAND, whole_first(subject)
    if (change := _change(tool, given, project)) is not None:
        return change
    code = json.dumps(given, ensure_ascii=False, indent=2)
    name = exact_line(tool).replace("`", "⟨U+0060⟩")  # it stands between two of them
    leads_to = ", ".join(_elsewhere(given, project, folder or "")) or None
    subject = Subject(code=code, language="json", leads_to=leads_to, folder=where, started=started)
    return f"Use `{name}`?", whole_first(subject)


def whole_first(subject: Subject) -> Subject:
    """Decide whether all of it has to be shown first: a command cannot be taken back."""
    shown = exact(subject.code)  # where hidden characters take room, too
    # So many lines in few words are all on the card: there would be nothing left to show.
    lines = shown.count("\n") >= LONG_LINES and len(shown) > HEAD + TAIL
    return replace(subject, whole_first=lines or _is_long(shown))


def _is_long(shown: str) -> bool:
    return len(shown.encode("utf-16-le", "surrogatepass")) // 2 > LONG_TEXT  # as chats count them


def _storable(path: str) -> str:
    """Refuse bytes that are no text: they would be lost, and two paths would look the same."""
    if encodable(path) != path:
        raise ToolInputError(
            "A path is no text, so nobody can be asked about it",
            path="path",
            given=exact_line(path),
            accepted="a path in UTF-8",
        )
    return path


def command_of(given: Json) -> str | None:
    """None if there is more to it than a command."""
    command = given.get("command")
    if not isinstance(command, str) or not command.strip():
        return None
    return command if given.keys() - _ASIDE == {"command"} else None


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def _change(tool: str, given: Json, project: Project) -> tuple[str, Subject] | None:
    """None if it is to be shown as it came."""
    found = change_of(tool, given)
    if found is None:
        return None
    path, diff = found
    try:
        real = real_path(path, project)
    except ValueError:
        return None
    shown = exact(diff)
    long = _is_long(shown) or shown.count("\n") >= LONG_DIFF
    subject = Subject(
        code=diff,
        language="diff",
        file=_within(path, project),
        leads_to=_storable(real) if real and real != path else None,
        whole_first=long and has_to_be_read(path, real, diff, project),
    )
    return _change_question(tool, given, real), subject


def change_of(tool: str, given: Json) -> tuple[str, str] | None:
    """The path of the file and the diff; None if not all of the input is understood."""
    path, diff = _path(given), _diff(tool, given)
    return (path, diff) if path is not None and diff else None


def _change_question(tool: str, given: Json, real: str | None) -> str:
    """Only a look at where its path leads can tell whether the file is new."""
    if tool != "Write" and given.get("old_string") != "":
        return CHANGE
    try:
        if real is not None:
            os.lstat(real)
            return CHANGE
    except (FileNotFoundError, NotADirectoryError):
        return CREATE
    except OSError:
        pass
    return WRITE


def _elsewhere(given: Json, project: Project, folder: str) -> Iterator[str]:
    """Where the paths of an input that is shown as it came lead, if elsewhere. All of them, because
    it is not known which one the tool uses."""
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
    """None or empty if it is to be shown as it came."""
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


_Edit = tuple[str, str, bool]
"""The old text, the new one, and whether every occurrence is replaced."""


def _edit(found: object) -> _Edit | None:
    if not isinstance(found, dict) or found.keys() - {"old_string", "new_string", "replace_all"}:
        return None
    old, new = found.get("old_string"), found.get("new_string")
    everywhere = found.get("replace_all", False)
    if not isinstance(old, str) or not isinstance(new, str) or not isinstance(everywhere, bool):
        return None
    return (old, new, everywhere) if old != new else None


def _edited(edits: list[_Edit]) -> str:
    compare = sum(effort(old, new) for old, new, _ in edits) <= COMPARED
    shown = []
    for number, (old, new, everywhere) in enumerate(edits, 1):
        which = f"{number} of {len(edits)}" if len(edits) > 1 else ""
        header = ", ".join(part for part in (which, everywhere and EVERYWHERE) if part)
        shown.append(_headed(header, replaced(old, new, compare=compare)))
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
    """Relative to the project's folder, if it is in there beyond doubt."""
    inside = project.key.startswith("/") and path.startswith(f"{project.key}/")
    return path[len(project.key) + 1 :] if inside and os.path.normpath(path) == path else path


def as_written(folder: str) -> str:
    """A whole path as its owner would write it. No two become the same."""
    home = os.path.expanduser("~").rstrip("/")
    if home and (folder == home or folder.startswith(f"{home}/")):
        return f"~{folder[len(home) :]}"
    return folder


COMPARED = 100_000
"""Limit on the effort of comparing, so that no agent can keep the hub busy with it."""
NO_NEWLINE = "\\ No newline at end of file"


def effort(old: str, new: str) -> int:
    """Comparing two texts takes up to the product of their lines."""
    return len(_lines(old)) * len(_lines(new))


def replaced(old: str, new: str, *, compare: bool = True) -> str:
    """One text in place of another: line by line, or first the old and then the new."""
    before, after = _lines(old), _lines(new)
    if not compare:
        return "\n".join([*(f"-{line}" for line in before), *(f"+{line}" for line in after)])
    compared = difflib.unified_diff(before, after, n=len(before) + len(after), lineterm="")
    # Without the names of two files and the range of lines, which are not known.
    return "\n".join(list(compared)[3:])


def written(content: str) -> str:
    """A whole text, whatever was there before."""
    if not content:
        return ""
    ended = content.endswith("\n")
    lines = [f"+{line}" for line in content.removesuffix("\n").split("\n")]
    return "\n".join(lines if ended else [*lines, NO_NEWLINE])


def _lines(text: str) -> list[str]:
    """Split at line feeds only, so that joining the lines gives the text again."""
    return text.split("\n") if text else []


RUN_FOLDERS = frozenset({"hooks", "githooks", "git-hooks", "ci", "node_modules", "site-packages"})
SETTINGS = frozenset({".git", ".config"})
"""Folders that hold settings and no projects: an agent that was started below them works on
settings."""
RUN_WORDS = frozenset({
    "sh", "bash", "zsh", "fish", "ps1", "bat", "cmd", "mk", "cmake", "gradle",
    "appveyor", "cloudbuild", "azure-pipelines", "bitbucket-pipelines", "lefthook",
    "build", "setup", "package", "pyproject", "cargo", "cmakelists", "tox", "conftest", "config",
    "compose", "docker-compose", "gyp", "pth", "sitecustomize", "usercustomize",
    "bazel", "bzl", "composer", "conf", "mise", "nix", "nodemon", "opencode", "pom", "sconscript",
    "sconstruct", "wscript",
})  # fmt: skip
"""Parts of a name between its dots: `Dockerfile.prod`, `build.gradle.kts` and `deploy.sh` are one
rule. Case is ignored, as some file systems do."""
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def real_path(path: str, project: Project) -> str | None:
    """Where `path` leads; None: where the hub cannot look. :raises ValueError: it is no path."""
    return None if project.outsider else os.path.realpath(path)


def has_to_be_read(path: str, real: str | None, diff: str, project: Project) -> bool:
    """Whether a long change can be allowed only after all of it was shown: yes, if in doubt."""
    if real is None or not project.key.startswith("/"):
        return True
    root = os.path.realpath(project.key)
    if not PurePosixPath(real).is_relative_to(root):
        return True
    by_name = _runs_by_name(path, project.key) or _runs_by_name(real, root)
    return by_name or "\n+#!" in f"\n{diff}" or _is_more_than_a_text(real)


def _runs_by_name(path: str, root: str) -> bool:
    """Hidden files and folders are settings of tools. `Makefile` and its like end alike. What the
    folders above `root` are called says nothing, but for a few."""
    below = os.path.relpath(path, root) if PurePosixPath(path).is_relative_to(root) else path
    *folders, name = PurePosixPath(below.lower()).parts or ("",)
    *above, last = PurePosixPath(root.lower()).parts
    folders += [last, *SETTINGS.intersection(above)]
    words = name.split(".")
    return (
        any(part.startswith(".") for part in (*folders, name))
        or not RUN_FOLDERS.isdisjoint(folders)
        or not RUN_WORDS.isdisjoint(words)
        or any(word.endswith("file") for word in words)
    )


def _is_more_than_a_text(real: str) -> bool:
    """A program, or no file, or one that has a second name somewhere else."""
    try:
        found = os.stat(real)
        if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o111 or found.st_nlink > 1:
            return True
        file = os.open(real, _OPEN)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    try:
        return os.read(file, 2) == b"#!"
    finally:
        os.close(file)
