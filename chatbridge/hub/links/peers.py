"""Who may connect to the hub's socket, and whose asks are whose.

A user's own hub serves that user. The hub of a machine (`--system`) serves the members of its
socket's group, and each sees their own asks only. The hub that leads several (`[cluster]`) also
serves those who connect to the others, and which hub that is it knows from the hub's certificate.
"""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from typing import Any

from chatbridge.core.model import Ask, Project
from chatbridge.projects import belongs_to, project_of, project_of_hub, project_of_user
from chatbridge.system import sockets

LINK_ID = re.compile(r"[!-~]{1,64}")
LONGEST_TEXT = 4096  # Of a folder's path, a label or a project's file
FOR_EVERY_USER = frozenset(
    (
        *("status", "limits", "pending", "watch", "ask", "answer", "cancel", "history"),
        *("snooze", "extend", "files", "agents", "tell", "take-back", "collect", "collected"),
    )
)
"""Requests of commands that look only at asks which their user may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a connection comes from. `pid` is that of a process on this machine, 0 where another
    hub has passed it on; such a one is of the user who owns both hubs."""

    pid: int
    uid: int
    hub: str | None = None  # The hub that it came to, where there are several

    @property
    def local(self) -> bool:
        return self.pid != 0


@dataclass(frozen=True, slots=True)
class Peers:
    """`group` is that of the socket of a machine's hub; None is a user's own. `hub` is the name of
    this hub among several."""

    group: int | None = None
    hub: str | None = None

    def admits(self, sock: socket.socket) -> bool:
        """:raises OSError: the kernel does not say whose it is."""
        uid = sockets.peer(sock)[1]
        if self.group is None:
            return uid == os.getuid()
        return uid == 0 or self.group in sockets.peer_groups(sock)

    def owner(self, uid: int) -> int | None:
        """Whom the asks of this user's agents belong to; None where everything is one user's."""
        return None if self.group is None else uid


def identity_problem(preface: dict[str, Any]) -> str | None:
    """Why `identity` cannot be read from this, as the end of a sentence."""
    link = preface.get("link")
    if not (isinstance(link, str) and LINK_ID.fullmatch(link)):
        return "names no link id"
    for name in ("cwd", "root", "file", "label"):
        text = preface.get(name)
        if not isinstance(text, str | None) or not _holds(text or ""):
            return f"has a {name} that is not text, or too long"
    return None


def _holds(text: str) -> bool:
    """Whether it could name a file: bytes that are no UTF-8 are half surrogate pairs."""
    try:
        return len(os.fsencode(text)) <= LONGEST_TEXT
    except UnicodeEncodeError:
        return False


def identity(
    preface: dict[str, Any], of: int | None, *, hub: str | None = None
) -> tuple[str, Project]:
    """The link's id, which its calls are named after, and its project. Where several users or hubs
    are served neither can be that of another user than `of`, or of another hub than `hub`, whatever
    the link says."""
    link, folder, label = preface["link"], preface.get("cwd"), preface.get("label")
    root, file = preface.get("root"), preface.get("file")
    if hub is not None:
        at = project_of_hub(hub, root=root, folder=folder, link=link, label=label, file=file)
        return f"{hub}:{link}", at
    if of is None:
        return link, project_of(folder, link=link, label=label)
    own = project_of_user(of, root=root, folder=folder, link=link, label=label, file=file)
    return f"{of}:{link}", own


def may_see(ask: Ask, uid: int) -> bool:
    """Whether the commands of this user may know of the ask, and answer it."""
    return owns(uid) or belongs_to(ask.project, uid)


def may_request(do: str, uid: int) -> bool:
    return do in FOR_EVERY_USER or owns(uid)


def owns(uid: int) -> bool:
    """Whether everything in this hub is theirs: its own user's, and root's."""
    return uid in (0, os.getuid())
