"""Builds the environment of a command: a few usual variables, and those of its definition."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from chatbridge.commands.arguments.paths import home

_INHERITED = re.compile("HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|XDG_RUNTIME_DIR")
"""What runs a project's code, such as `npm install`, must not get the owner's keys: a definition
has to name SSH_AUTH_SOCK or DBUS_SESSION_BUS_ADDRESS."""
_FORBIDDEN = re.compile(
    "CHATBRIDGE_.*|CREDENTIALS_DIRECTORY|NOTIFY_SOCKET|LISTEN_.*|WATCHDOG_.*|INVOCATION_ID",
    re.DOTALL,
)
"""What a process would take for its own, or that leads to secrets."""
_ALWAYS_SET = {
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
"""Nobody is there to be asked, and nothing is seen in colour. The definition's names come first.
CI is not set: some programs would behave differently, and take warnings for errors."""

NO_FOLDER = "/nonexistent"
"""An empty PATH would mean the folder that a command runs in."""


def environment_of(
    names: Iterable[str],
    *,
    secrets: Iterable[str],
    path: Sequence[str],
    own: Mapping[str, str] = MappingProxyType({}),
    base: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """The usual variables of `base`, and those of the definition's `names` from `own` (the owner's
    `commands.environment`) or else from `base`. `path` are the folders of PATH."""
    hidden = [secret for secret in secrets if secret]
    wanted = {*names} - {"PATH"}
    hubs = {name: value for name, value in base.items() if not _is_unsafe(name, value)}
    if own_home := home():
        hubs["HOME"] = own_home
    usual = {name: value for name, value in hubs.items() if _INHERITED.fullmatch(name)}
    named = {name: value for name, value in {**hubs, **own}.items() if name in wanted}
    found = {
        name: value
        for name, value in {**usual, **named}.items()
        if not is_forbidden(name) and not any(secret in value for secret in hidden)
    }
    return {**_ALWAYS_SET, **found, "PATH": os.pathsep.join(path) or NO_FOLDER}


def _is_unsafe(name: str, value: str) -> bool:
    if name == "XDG_RUNTIME_DIR":  # must be where systemd makes it
        return not os.path.realpath(value).startswith("/run/")
    # In a folder of a repository, git would find hooks and aliases.
    return re.fullmatch("XDG_[A-Z]+_HOME", name) is not None


def is_forbidden(name: str) -> bool:
    """Whether no command gets this variable, whatever its definition says."""
    return _FORBIDDEN.fullmatch(name) is not None
