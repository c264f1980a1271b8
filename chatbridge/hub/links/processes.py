"""Which processes have started a process, as the kernel knows it, and which of them are an agent's.

What an agent runs descends from its client, and so does the client's link. The client begins above
the link and ends below the shell in which a person has started it. Linux only; elsewhere nothing is
known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

MAX_ANCESTORS = 128
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
    )
)
"""What people start programs from without a shell, as the kernel names it. Another desktop counts
as part of an agent that was started from it: too much is refused then, and never too little."""


class Process(NamedTuple):
    pid: int
    name: str
    parent: int
    group: int
    session: int
    terminal: int  # 0: it has none
    foreground: int  # The group that a person works with there; -1: it has no terminal
    started: int  # Tells it from another process that has its pid later

    @property
    def leads_terminal(self) -> bool:
        """Whether its terminal was opened for it."""
        return self.terminal != 0 and self.session == self.pid


def find_process(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name may hold anything, also a closing bracket.
            begin, _, rest = file.read().rpartition(b")")
    except OSError:
        return None
    fields = rest.split()
    name = begin.partition(b"(")[2].decode(errors="replace")
    parent, group, session, terminal, foreground = map(int, fields[1:6])
    return Process(pid, name, parent, group, session, terminal, foreground, int(fields[19]))


def ancestry(pid: int) -> list[Process]:
    """The parents of a process, nearest first."""
    found: list[Process] = []
    child = find_process(pid)
    while child is not None and child.parent > 0 and len(found) < MAX_ANCESTORS:
        child = find_process(child.parent)
        found += [child] if child else []
    return found


def ancestors(pid: int) -> list[int]:
    return [each.pid for each in ancestry(pid)]


def client_processes(pid: int) -> list[int]:
    return [each.pid for each in client_of(pid)]


def client_of(pid: int) -> list[Process]:
    """The processes of the client that has started this link: those above it, up to the shell or
    the desktop that a person has started it from. Launchers in between are among them."""
    link = find_process(pid)
    if link is None:
        return []
    found: list[Process] = []
    child, owner = link, _user(pid)
    for each in ancestry(pid):
        if each.name in PLACES or _user(each.pid) != owner or _runs_jobs(each, child):
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
    return shell.name in SHELLS and shell.terminal != 0 and apart


def _user(pid: int) -> bytes:
    """Not the owner of its files in /proc, which is root if the process protects itself."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            return next((line for line in file if line.startswith(b"Uid:")), b"").split()[1]
    except (OSError, IndexError):
        return b""


@dataclass(slots=True)
class AgentProcesses:
    """The clients of all links that are or were connected, as long as they run."""

    _known: set[tuple[int, int]] = field(default_factory=set)  # Each with its start

    def note(self, pid: int) -> None:
        """`pid` is that of a link, or of a hook."""
        running = {key for key in self._known if _key(find_process(key[0])) == key}
        self._known = running | {(each.pid, each.started) for each in client_of(pid)}

    def is_person(self, pid: int) -> bool:
        """Whether a process is in the foreground of a terminal, and no agent has started it. What
        cannot be known counts as no."""
        own = find_process(pid)
        if own is None or own.foreground != own.group:
            return False
        above = ancestry(pid)
        if len(above) >= MAX_ANCESTORS:
            return False
        return self._known.isdisjoint((each.pid, each.started) for each in (own, *above))


def _key(process: Process | None) -> tuple[int, int] | None:
    return (process.pid, process.started) if process else None
