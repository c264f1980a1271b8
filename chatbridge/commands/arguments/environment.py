"""Builds the environment of a command: an allowlist, what the owner has set, and nothing of
chatbridge's own.

PATH never comes from the hub (see `executable`). Of the hub's environment a command gets the usual
variables, and others that its definition names. A hub that a link has started has no variables of
the client that could be named (see link/hub_start.py).

HOME is the owner's, as the system knows it. XDG_…_HOME is what the owner has set, or nothing: in a
folder of a repository, git would find hooks and aliases. XDG_RUNTIME_DIR must be where systemd
makes it.

SSH_AUTH_SOCK is not among the usual variables. A definition can name it for `git push` over ssh.
What runs a project's code, such as `npm install`, must not get the owner's keys. The same holds for
DBUS_SESSION_BUS_ADDRESS; XDG_RUNTIME_DIR leads to the same bus where one is needed. CI is not set:
it makes some programs behave differently, such as treating warnings as errors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from chatbridge.commands.arguments.executable import home

_USUAL = re.compile("HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|XDG_RUNTIME_DIR")
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

NOWHERE = "/nonexistent"
"""An empty PATH would mean the folder that a command runs in."""


def environment_of(
    names: Iterable[str],
    *,
    secrets: Iterable[str],
    path: Sequence[str],
    own: Mapping[str, str] = MappingProxyType({}),
    base: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """What a command gets: the usual variables of `base`, and those of its definition's `names`
    from `own` (the owner's `commands.environment`) or else from `base`. `path` are the folders of
    its PATH."""
    hidden = [secret for secret in secrets if secret]
    wanted = {*names} - {"PATH"}
    hubs = {name: value for name, value in base.items() if not _leads_astray(name, value)}
    if own_home := home():
        hubs["HOME"] = own_home
    usual = {name: value for name, value in hubs.items() if _USUAL.fullmatch(name)}
    named = {name: value for name, value in {**hubs, **own}.items() if name in wanted}
    found = {
        name: value
        for name, value in {**usual, **named}.items()
        if not never(name) and not any(secret in value for secret in hidden)
    }
    return {**_SET, **found, "PATH": os.pathsep.join(path) or NOWHERE}


def _leads_astray(name: str, value: str) -> bool:
    if name == "XDG_RUNTIME_DIR":
        return not os.path.realpath(value).startswith("/run/")
    return re.fullmatch("XDG_[A-Z]+_HOME", name) is not None


def never(name: str) -> bool:
    """Whether no command gets this variable, whatever its definition says."""
    return _NEVER.fullmatch(name) is not None
