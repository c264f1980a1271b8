"""The environment of a command: an allowlist, and nothing that is chatbridge's own.

SSH_AUTH_SOCK is not among the usual variables. `git push` over ssh may need it, and its definition
can name it; what runs a project's code, such as `npm install`, has no business with the owner's
keys. DBUS_SESSION_BUS_ADDRESS neither: where it is needed XDG_RUNTIME_DIR leads to the same bus.
CI is not set, although nobody is there to be asked: with it some programs do other things, such as
making errors of warnings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from chatbridge.commands.arguments.executable import USUAL, entries

_USUAL = re.compile(
    "HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|XDG_[A-Z]+_HOME|XDG_RUNTIME_DIR"
)
_NEVER = re.compile(
    "CHATBRIDGE_.*|CREDENTIALS_DIRECTORY|NOTIFY_SOCKET|LISTEN_.*|WATCHDOG_.*|INVOCATION_ID",
    re.DOTALL,
)
"""What a process would take for its own, or that leads to secrets."""
_SET = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    # Messages that are there are kept; a commit without one still ends with an error.
    "GIT_EDITOR": "true",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}
"""Nobody is there to be asked, and nothing is seen in colour. The definition's names come first."""


def environment_of(
    names: Iterable[str],
    *,
    secrets: Iterable[str],
    path: Sequence[Path],
    base: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """What a command gets from `base`: the usual variables and those of its definition's `names`.
    `path` are the owner's folders with programs, which come before those of PATH."""
    hidden = [secret for secret in secrets if secret]
    wanted = {"PATH", *names}
    found = {
        name: value
        for name, value in base.items()
        if (name in wanted or _USUAL.fullmatch(name))
        and not never(name)
        and not any(secret in value for secret in hidden)
    }
    said = os.pathsep.join([*map(str, path), found.get("PATH", USUAL)])
    folders = entries(said) or entries(USUAL)  # an empty PATH means where the command runs
    return {**_SET, **found, "PATH": os.pathsep.join(folders)}


def never(name: str) -> bool:
    """Whether no command gets this variable, whatever its definition says."""
    return _NEVER.fullmatch(name) is not None
