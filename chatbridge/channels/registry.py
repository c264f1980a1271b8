"""The channels that there are: the built-in ones, and those of installed plug-ins.

A plug-in is a package with an entry point in the group `chatbridge.channels` that is a
`ChannelSpec`. One that cannot be used is left out, and `plugin_problems` says why.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from functools import cache
from glob import glob
from typing import Any

from chatbridge.channels.discord.spec import DISCORD
from chatbridge.channels.matrix.spec import MATRIX
from chatbridge.channels.ntfy.spec import NTFY
from chatbridge.channels.slack.spec import SLACK
from chatbridge.channels.spec import ChannelSpec
from chatbridge.channels.telegram.spec import TELEGRAM
from chatbridge.channels.web.spec import WEB

BUILT_IN: tuple[ChannelSpec[Any], ...] = (TELEGRAM, MATRIX, SLACK, DISCORD, NTFY, WEB)
GROUP = "chatbridge.channels"
NAME = re.compile(r"[a-z][a-z0-9]{1,30}")
RESERVED = frozenset({"approvals", "clients", "commands", "elicit", "enabled", "http", "hub"})
RESERVED |= {"journal", "nights", "quiet", "reminders", "replies", "retention", "store", "summary"}
RESERVED |= {"attachments", "claude", "messages", "systemd", "terminal", "tools", "undo", "voice"}
RESERVED |= {"audit", "cluster", "people", "push", "routes", "window"}
"""Names of settings, and of other places where something is answered or noted."""
LONGEST_REASON = 300


def channel_specs() -> tuple[ChannelSpec[Any], ...]:
    """Built-in channels first."""
    return (*BUILT_IN, *_plugins()[0])


def plugin_problems() -> tuple[str, ...]:
    """Why plug-ins are not used, each with what to do."""
    return _plugins()[1]


@cache
def _plugins() -> tuple[tuple[ChannelSpec[Any], ...], tuple[str, ...]]:
    found: dict[str, ChannelSpec[Any]] = {}
    taken, problems = {*RESERVED, *(spec.name for spec in BUILT_IN)}, []
    if not _has_plugins():
        return (), ()
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=GROUP)):
        try:
            spec = entry.load()
            if not isinstance(spec, ChannelSpec):
                raise TypeError(f"{entry.value} is no ChannelSpec")
            if not NAME.fullmatch(spec.name) or spec.name in taken:
                raise ValueError(f"a channel of a plug-in cannot have the name {spec.name!r}")
            if spec.name in found:
                raise ValueError(f"another plug-in has the name {spec.name!r}")
            spec.is_on(spec.settings())  # a table has to do without any setting
            found[spec.name] = spec
        except Exception as error:  # noqa: BLE001 - somebody else's code
            from chatbridge.core.text import one_line, shortened

            why = shortened(one_line(f"{type(error).__name__}: {error}"), LONGEST_REASON)
            package = entry.dist.name if entry.dist else entry.value
            problems.append(
                f"The channel {one_line(entry.name)} of the package {one_line(package)} is not "
                f"used ({why}). Upgrade that package, or remove it."
            )
    return tuple(found.values()), tuple(problems)


def _has_plugins() -> bool:
    """Whether a package names our group. To import what reads all groups would take much longer."""
    for folder in sys.path:
        for name in glob("*-info/entry_points.txt", root_dir=folder or "."):
            with suppress(OSError), open(os.path.join(folder, name), "rb") as file:
                if GROUP.encode() in file.read():
                    return True
    return False
