"""The file that a change is about: where its path really leads, and whether it has to be read.

A text in the project can be put back, so a long change to it may be allowed without reading all of
it. That is not so outside the project, and not for what other programs run without being asked:
scripts, hooks, CI, build files, and the settings of editors and agents.
"""

from __future__ import annotations

import os
import stat
from pathlib import PurePosixPath

from chatbridge.core.model import Project

RUN_FOLDERS = frozenset({"hooks", "githooks", "git-hooks", "ci"})
SETTINGS = frozenset({".git", ".config"})
"""No project lies in there: an agent that was started below them works on settings."""
RUN_WORDS = frozenset({
    "sh", "bash", "zsh", "fish", "ps1", "bat", "cmd", "mk", "cmake", "gradle",
    "appveyor", "cloudbuild", "azure-pipelines", "bitbucket-pipelines", "lefthook",
    "build", "setup", "package", "pyproject", "cargo", "cmakelists", "tox", "conftest", "config",
    "compose", "docker-compose",
})  # fmt: skip
"""Of a name, between its dots: `Dockerfile.prod`, `build.gradle.kts` and `deploy.sh` are one rule.
All without regard to case: some file systems have none."""
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def real_path(path: str, project: Project) -> str | None:
    """Where `path` leads after all links; None: it lies where the hub cannot look.

    :raises ValueError: it can be no path.
    """
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
