"""The unit files of the user service, as this installation needs them.

They are those of `systemd/`, with the path of this chatbridge and the folders that the environment
names. Tokens from the environment are never written.
"""

from __future__ import annotations

import os
import re
import sys

from chatbridge import runtime_paths
from chatbridge.cli.service.manager import SERVICE, SOCKET

NOTE = (
    "# Written by: chatbridge service install, which writes it anew. For changes of your own:\n"
    "# systemctl --user edit {unit}\n"
)
FOLDERS = ("CHATBRIDGE_CONFIG", "CHATBRIDGE_STATE_DIR", "CHATBRIDGE_RUNTIME_DIR")
_UNITS = os.path.join(os.path.dirname(__file__), "units")
_COMMAND = "/usr/bin/env chatbridge"


def folder() -> str:
    """Where the user's own units are."""
    return runtime_paths.xdg("XDG_CONFIG_HOME", ".config", "systemd/user")


def contents() -> dict[str, str]:
    """Each file's name, and what has to be in it."""
    return {SERVICE: _service(), SOCKET: _socket()}


def has(path: str, content: str) -> bool:
    """Whether the file is as it has to be."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read() == content
    except (OSError, UnicodeDecodeError):
        return False


def left_out() -> list[str]:
    """Variables of this terminal that the service will not have."""
    return sorted(n for n in os.environ if n.startswith("CHATBRIDGE_") and n not in FOLDERS)


def _service() -> str:
    lines = [f"ExecStart={command()} hub --started-by service"]
    lines += [f"Environment={quoted(f'{name}={path}')}" for name, path in _folders().items()]
    unit = _template(SERVICE)
    replaced, count = re.subn(
        rf"^ExecStart={_COMMAND} .*$", lambda _: "\n".join(lines), unit, flags=re.MULTILINE
    )
    assert count == 1
    return replaced


def _socket() -> str:
    unit = _template(SOCKET)
    if not _folders():
        return unit
    path = runtime_paths.service_socket_path(runtime_paths.state_dir()).replace("%", "%%")
    return re.sub(r"^ListenStream=.*$", lambda _: f"ListenStream={path}", unit, flags=re.MULTILINE)


def _template(unit: str) -> str:
    with open(os.path.join(_UNITS, unit), encoding="utf-8") as file:
        _, _, rest = file.read().partition("[Unit]\n")
    return f"{NOTE.format(unit=unit)}[Unit]\n{rest}"


def command() -> str:
    """This chatbridge: the script beside the Python that runs, else the module."""
    script = os.path.join(os.path.dirname(sys.executable), "chatbridge")
    if os.access(script, os.X_OK):
        return quoted(script, dollar=True)
    return f"{quoted(sys.executable, dollar=True)} -m chatbridge"


def _folders() -> dict[str, str]:
    """Those that are not where a service would look by itself."""
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


def quoted(value: str, *, dollar: bool = False) -> str:
    """As one word of a unit file. In a command a dollar sign would begin a variable."""
    value = value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    if dollar:
        value = value.replace("$", "$$")
    return f'"{value}"' if re.search(r"[\s\"'\\;]", value) else value
