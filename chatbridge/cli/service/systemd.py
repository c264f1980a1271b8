"""The hub as a systemd user service, through systemctl, loginctl and journalctl."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

from chatbridge import runtime_paths
from chatbridge.cli.service import manager
from chatbridge.cli.service.manager import WITHOUT, State, user
from chatbridge.core.errors import ServiceFailed

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

SERVICE = "chatbridge.service"
SOCKET = "chatbridge.socket"
_PROPERTIES = "LoadState,UnitFileState,ActiveState,MainPID,StatusText,FragmentPath"


class Lingering:
    def is_on(self) -> bool | None:
        said = _run("loginctl", "show-user", user(), "--property=Linger", "--value").stdout.strip()
        if said in ("yes", "no"):
            return said == "yes"
        return os.path.exists(f"/var/lib/systemd/linger/{user()}") or None

    def turn_on(self) -> str | None:
        done = _run("loginctl", "--no-ask-password", "enable-linger").returncode == 0
        return None if done else f"sudo loginctl enable-linger {user()}"


class Systemd:
    title = "systemd user service"
    lingering = Lingering()

    def available(self) -> str | None:
        if not has_systemd():
            return f"There is no systemd on this computer. {WITHOUT}"
        if _run("systemctl", "--user", "show", "--property=Version").returncode != 0:
            return (
                f"systemd does not serve {user()} here, as it would after a real log-in "
                f"(ssh, or the screen; not su or sudo). {WITHOUT}"
            )
        return None

    def state(self) -> State:
        if shutil.which("systemctl") is None:
            return State()
        said = _run("systemctl", "--user", "show", SERVICE, f"--property={_PROPERTIES}").stdout
        known = {key: value for key, _, value in (it.partition("=") for it in said.splitlines())}
        word = known.get("ActiveState", "unknown")
        pid = known.get("MainPID", "")
        return State(
            installed=known.get("LoadState") == "loaded",
            running=word == "active",
            enabled=known.get("UnitFileState", "").startswith("enabled"),
            word=word,
            pid=int(pid) if pid.isdecimal() and int(pid) else None,
            why=known.get("StatusText", ""),
            file=known.get("FragmentPath", ""),
        )

    def files(self) -> dict[str, str]:
        from chatbridge.cli.service import unit_files

        folder = unit_files.folder()
        return {os.path.join(folder, name): it for name, it in unit_files.contents().items()}

    def telling(self, content: str) -> list[str]:
        wanted = ("ExecStart=", "Environment=", "ListenStream=")
        return [line for line in content.splitlines() if line.startswith(wanted)]

    def install(self, *, changed: bool) -> None:
        if changed:
            self._systemctl("daemon-reload")
            if self.state().word in ("active", "activating", "reloading"):
                self.stop()  # a socket can have another path only when nobody uses it
        self._systemctl("--quiet", "enable", SERVICE, SOCKET)
        self.start()

    def uninstall(self) -> list[str]:
        from chatbridge.cli.service import unit_files

        paths = [os.path.join(unit_files.folder(), name) for name in (SERVICE, SOCKET)]
        found = [path for path in paths if os.path.lexists(path)]
        works = bool(found) and self.available() is None
        if works:
            self._systemctl("--quiet", "disable", "--now", SERVICE, SOCKET)
        for path in found:
            os.unlink(path)
        if works:
            self._systemctl("daemon-reload")
        return found

    def start(self) -> None:
        self._check_program()
        # Both of them forget an earlier series of failures: a person has looked at it now.
        _run("systemctl", "--user", "reset-failed", SERVICE, SOCKET)
        self._systemctl("start", SOCKET, SERVICE)

    def restart(self) -> None:
        self._check_program()
        _run("systemctl", "--user", "reset-failed", SERVICE, SOCKET)
        self._systemctl("start", SOCKET)
        self._systemctl("restart", SERVICE)

    def stop(self) -> None:
        """Also the socket: an agent that looks for a hub would start the service again."""
        self._systemctl("stop", SOCKET, SERVICE)

    def log_command(self, options: Sequence[str]) -> list[str]:
        # Not `--user`, which looks at a journal of one's own: not every system keeps one.
        words = ["journalctl", "--quiet", f"--user-unit={SERVICE}"]
        if not has_systemd() or shutil.which(words[0]) is None:
            raise ServiceFailed(
                "there is no journal on this computer. A hub that an agent started writes to "
                f"{runtime_paths.log_path(runtime_paths.state_dir())}"
            )
        return [*words, *(options or ("--lines=100", "--no-pager"))]

    def _check_program(self) -> None:
        """:raises ServiceFailed:"""
        said = _run("systemctl", "--user", "show", SERVICE, "--property=ExecStart").stdout
        if found := re.search(r"\bpath=(/[^;\n]*) ;", said):
            manager.check_program(found[1])

    def _systemctl(self, *words: str) -> None:
        """:raises ServiceFailed:"""
        done = _run("systemctl", "--user", *words)
        if done.returncode == 0:
            return
        why = self.state().why or done.stderr.strip().partition("\n")[0]
        raise ServiceFailed(
            f"systemctl --user {' '.join(words)} did not work: {why.rstrip('.')}. "
            "There may be more in: chatbridge service logs"
        )


def has_systemd() -> bool:
    return shutil.which("systemctl") is not None and os.path.isdir("/run/systemd/system")


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    # A terminal in a container or after `su` may not name the folder where the manager is.
    mine = f"/run/user/{os.getuid()}"
    environment = {"SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"}
    if not os.environ.get("XDG_RUNTIME_DIR") and os.path.isdir(mine):
        environment["XDG_RUNTIME_DIR"] = mine
    return manager.run(words, environment)
