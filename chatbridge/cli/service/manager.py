"""Talks to the user's systemd through systemctl, loginctl and journalctl."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from chatbridge.core.errors import ServiceFailed

if TYPE_CHECKING:
    import subprocess

SERVICE = "chatbridge.service"
SOCKET = "chatbridge.socket"
PATIENCE = 120.0
"""A start may take the manager's own 90 s."""
WITHOUT = "The hub starts with the first agent."
KEEP_RUNNING = "To keep it running: chatbridge service install"
_PROPERTIES = "LoadState,UnitFileState,ActiveState,MainPID,StatusText,FragmentPath"


def available() -> str | None:
    """Why this user can have no service here; None if they can."""
    if not has_systemd():
        return f"There is no systemd on this computer. {WITHOUT}"
    if _run("systemctl", "--user", "show", "--property=Version").returncode != 0:
        return (
            f"systemd does not serve {_user()} here, as it would after a real log-in "
            f"(ssh, or the screen; not su or sudo). {WITHOUT}"
        )
    return None


def has_systemd() -> bool:
    return shutil.which("systemctl") is not None and os.path.isdir("/run/systemd/system")


def properties() -> dict[str, str]:
    """What systemd knows about the service; nothing where there is no systemd."""
    if shutil.which("systemctl") is None:
        return {}
    said = _run("systemctl", "--user", "show", SERVICE, f"--property={_PROPERTIES}").stdout
    pairs = (line.partition("=") for line in said.splitlines() if "=" in line)
    return {key: value for key, _, value in pairs}


def is_running() -> bool:
    return properties().get("ActiveState") in ("active", "activating", "reloading")


def runs(pid: int) -> bool:
    """Whether this process is the service's hub."""
    return properties().get("MainPID") == str(pid)


def start() -> None:
    """Returns when the hub is ready. :raises ServiceFailed:"""
    # Both of them forget an earlier series of failures: a person has looked at it now.
    _run("systemctl", "--user", "reset-failed", SERVICE, SOCKET)
    systemctl("start", SOCKET, SERVICE)


def restart() -> None:
    """Returns when the new hub is ready; agents that wait notice nothing. :raises ServiceFailed:"""
    _run("systemctl", "--user", "reset-failed", SERVICE, SOCKET)
    systemctl("start", SOCKET)
    systemctl("restart", SERVICE)


def stop() -> None:
    """Also the socket: an agent that looks for a hub would start the service again.
    :raises ServiceFailed:"""
    systemctl("stop", SOCKET, SERVICE)


def systemctl(*words: str) -> None:
    """:raises ServiceFailed:"""
    done = _run("systemctl", "--user", *words)
    if done.returncode == 0:
        return
    why = properties().get("StatusText") or done.stderr.strip().partition("\n")[0]
    raise ServiceFailed(
        f"systemctl --user {' '.join(words)} did not work: {why.rstrip('.')}. "
        "There may be more in: chatbridge service logs"
    )


def lingers() -> bool | None:
    """Whether the service goes on after a log-out and starts with the computer. None: unknown."""
    said = _run("loginctl", "show-user", _user(), "--property=Linger", "--value").stdout.strip()
    if said in ("yes", "no"):
        return said == "yes"
    return os.path.exists(f"/var/lib/systemd/linger/{_user()}") or None


def enable_linger() -> str | None:
    """None: it could be done; else the command, as some systems keep it to root."""
    done = _run("loginctl", "--no-ask-password", "enable-linger").returncode == 0
    return None if done else f"sudo loginctl enable-linger {_user()}"


def _user() -> str:
    import getpass

    return getpass.getuser()


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    import subprocess

    # A terminal in a container or after `su` may not name the folder where the manager is.
    mine = f"/run/user/{os.getuid()}"
    environment = {**os.environ, "LC_ALL": "C", "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"}
    if not environment.get("XDG_RUNTIME_DIR") and os.path.isdir(mine):
        environment["XDG_RUNTIME_DIR"] = mine
    try:
        return subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
            env=environment,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 1, stdout="", stderr=str(error))
