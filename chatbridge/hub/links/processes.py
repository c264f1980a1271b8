"""Which processes have started a process, as the kernel knows it, and which of them are an agent's.

What an agent runs descends from its client, and so does the client's link. The client begins above
the link and ends below the shell in which a person has started it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from chatbridge.system import processes
from chatbridge.system.platform import PROC
from chatbridge.system.processes import Find, Process

MAX_ANCESTORS = 128
LEAST_PRUNED = 100
SHELLS = frozenset(
    ("sh", "bash", "zsh", "fish", "dash", "ash", "busybox", "ksh", "mksh", "csh", "tcsh", "nu")
)
PLACES = frozenset(
    (
        *("systemd", "init", "tini", "dumb-init", "docker-init", "catatonit"),
        *("sshd", "sshd-session", "login", "tmux: server", "screen", "zellij"),
        *("gnome-shell", "gnome-session-b", "gnome-session-i", "plasmashell", "kwin_wayland"),
        *("kwin_x11", "ksmserver", "startplasma-way", "xfce4-session", "xfce4-panel", "xfdesktop"),
        *("cinnamon", "mate-session", "lxsession", "lxqt-session", "sway", "i3", "Hyprland"),
        *("niri", "openbox", "fluxbox", "bspwm", "dwm", "awesome", "Xorg", "xinit", "rofi"),
        *("launchd", "Dock", "Finder", "Terminal", "iTerm2", "loginwindow"),
    )
)
"""What people start programs from without a shell, as the kernel names it. Another desktop counts
as part of an agent that was started from it: too much is refused then, and never too little."""


def ancestry(pid: int, find: Find) -> list[Process]:
    """The parents of a process, nearest first."""
    found: list[Process] = []
    child = find(pid)
    while child is not None and child.parent > 0 and len(found) < MAX_ANCESTORS:
        child = find(child.parent)
        found += [child] if child else []
    return found


def client_of(pid: int, find: Find) -> list[Process]:
    """The processes of the client that has started this link: those above it, up to the shell or
    the desktop that a person has started it from. Launchers in between are among them."""
    link = find(pid)
    if link is None:
        return []
    found: list[Process] = []
    child = link
    for each in ancestry(pid, find):
        if each.name in PLACES or each.user != link.user or _runs_jobs(each, child):
            break
        if each.pid == 1 and found and not each.leads_terminal:
            break  # whatever a container begins with: orphans are its children, too
        found.append(each)
        if each.leads_terminal:
            break  # what is above has only opened the terminal
        child = each
    return found


def _runs_jobs(shell: Process, child: Process) -> bool:
    """Whether this is a shell with job control, which only one that a person types into has."""
    apart = child.session == shell.session and child.group != shell.group
    return shell.name in SHELLS and shell.terminal and apart


@dataclass(slots=True)
class AgentProcesses:
    """The clients of all links that are or were connected, as long as they run. Everything is as
    it was at the last `look`."""

    _known: set[tuple[int, int]] = field(default_factory=set)  # Each with its start
    _find: Find = processes.find
    prune_at: int = LEAST_PRUNED
    """With so many, those that have ended are forgotten."""

    async def look(self) -> None:
        """Look which processes there are, where that takes long."""
        if not PROC:
            self._find = (await asyncio.to_thread(processes.all_processes)).get

    async def note(self, pid: int) -> None:
        """`pid` is that of a link, or of a hook. It is known before anything else happens; a thread
        looks which of the others have ended."""
        self._known |= {(each.pid, each.started) for each in client_of(pid, self._find)}
        if len(self._known) <= self.prune_at:
            return
        known, find = frozenset(self._known), self._find
        self.prune_at = 2 * len(known)  # until this is done
        self._known -= await asyncio.to_thread(
            lambda: {key for key in known if _key(find(key[0])) != key}
        )
        self.prune_at = max(LEAST_PRUNED, 2 * len(self._known))

    def is_person(self, pid: int) -> bool:
        """Whether a process is in the foreground of a terminal, and no agent has started it. What
        cannot be known counts as no."""
        own = self._find(pid)
        if own is None or own.foreground != own.group:
            return False
        above = ancestry(pid, self._find)
        if len(above) >= MAX_ANCESTORS:
            return False
        return self._known.isdisjoint((each.pid, each.started) for each in (own, *above))

    def ancestors(self, pid: int) -> list[int]:
        """The parents of a process, nearest first."""
        return [each.pid for each in ancestry(pid, self._find)]

    def client(self, pid: int) -> list[int]:
        """The processes of the client that has started this link."""
        return [each.pid for each in client_of(pid, self._find)]


def _key(process: Process | None) -> tuple[int, int] | None:
    return (process.pid, process.started) if process else None
