"""What a service manager does for the hub, whichever this computer has, and what goes into its
files: the command of this installation and the folders that the environment names. Tokens from the
environment are never written."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple, Protocol

from chatbridge import extras, runtime_paths
from chatbridge.core.errors import ServiceFailed
from chatbridge.system.platform import MACOS

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence

COMMAND_SECONDS = 120.0
"""A start may take systemd's own 90 s."""
WITHOUT = "The hub starts with the first agent."
KEEP_RUNNING = "To keep it running: chatbridge service install"
FOLDERS = ("CHATBRIDGE_CONFIG", "CHATBRIDGE_STATE_DIR", "CHATBRIDGE_RUNTIME_DIR")


class State(NamedTuple):
    """What the manager knows about the service."""

    installed: bool = False
    running: bool = False
    enabled: bool = False
    """Whether it starts at the next log-in or with the computer."""
    word: str = "unknown"
    """The manager's own for what it does now."""
    pid: int | None = None
    why: str = ""
    """What the hub said when it could not start."""
    file: str = ""


class Lingering(Protocol):
    """Services that go on after a log-out, and start with the computer."""

    def is_on(self) -> bool | None:
        """None: unknown."""

    def turn_on(self) -> str | None:
        """None: it could be done; else the command, as some systems keep it to root."""


class Manager(Protocol):
    @property
    def title(self) -> str: ...

    @property
    def lingering(self) -> Lingering | None:
        """None: a service always ends at the log-out."""

    def available(self) -> str | None:
        """Why this user can have no service here; None if they can."""

    def state(self) -> State: ...

    def files(self) -> dict[str, str]:
        """Each file's path, and what has to be in it."""

    def telling(self, content: str) -> list[str]:
        """What is this installation's own in a file, for a person."""

    def install(self, *, changed: bool) -> None:
        """Start what the files say, now and from now on. Return when the hub is ready.
        :raises ServiceFailed:"""

    def uninstall(self) -> list[str]:
        """Stop it and remove the files; their paths. :raises ServiceFailed:"""

    def start(self) -> None:
        """Return when the hub is ready. :raises ServiceFailed:"""

    def restart(self) -> None:
        """Return when the new hub is ready; agents that wait notice nothing.
        :raises ServiceFailed:"""

    def stop(self) -> None:
        """Until the next log-in, or a start. :raises ServiceFailed:"""

    def log_command(self, options: Sequence[str]) -> list[str]:
        """What shows the hub's log. :raises ServiceFailed: there is none."""


def this_manager(*, macos: bool = MACOS) -> Manager:
    if macos:
        from chatbridge.cli.service.launchd import Launchd

        return Launchd()
    from chatbridge.cli.service.systemd import Systemd

    return Systemd()


def why_no_install(manager: Manager) -> str | None:
    """Why no service can be installed; None if one can."""
    why_not = manager.available()
    if why_not is None and extras.is_temporary():
        return (
            "uvx runs this chatbridge from a cache, and a service needs one that stays. "
            f"Run: {extras.lasting_command()}, and then: chatbridge service install"
        )
    return why_not


def check_program(path: str) -> None:
    """:raises ServiceFailed: what the service starts has gone, as after an installation in another
    place or under another name. Nothing was stopped."""
    if os.path.isabs(path) and not os.path.exists(path):
        raise ServiceFailed(
            f"the service starts {path}, which is not there any more. Nothing was stopped. To let "
            "it start this chatbridge, run: chatbridge service install"
        )


def command() -> list[str]:
    """The hub of this chatbridge: by the script beside the Python that runs, else the module."""
    script = os.path.join(os.path.dirname(sys.executable), "chatbridge")
    found = [script] if os.access(script, os.X_OK) else [sys.executable, "-m", "chatbridge"]
    return [*found, "hub", "--started-by", "service"]


def folders() -> dict[str, str]:
    """Variables for the folders that are not where a service would look by itself."""
    home = os.path.expanduser("~")
    given = {
        "CHATBRIDGE_CONFIG": runtime_paths.config_path(),
        "CHATBRIDGE_STATE_DIR": runtime_paths.state_dir(),
    }
    usual = {
        "CHATBRIDGE_CONFIG": os.path.join(home, ".config/chatbridge/config.toml"),
        "CHATBRIDGE_STATE_DIR": os.path.realpath(os.path.join(home, ".local/state/chatbridge")),
    }
    found = {name: path for name, path in given.items() if path != usual[name]}
    if runtime := os.environ.get("CHATBRIDGE_RUNTIME_DIR"):
        found["CHATBRIDGE_RUNTIME_DIR"] = runtime_paths.absolute(runtime)
    return found


def left_out() -> list[str]:
    """Variables of this terminal that the service will not have."""
    return sorted(n for n in os.environ if n.startswith("CHATBRIDGE_") and n not in FOLDERS)


def user() -> str:
    import getpass

    return getpass.getuser()


def run(
    words: Sequence[str], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A program that cannot be run has failed."""
    import subprocess

    try:
        return subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=COMMAND_SECONDS,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 1, stdout="", stderr=str(error))
