"""The unit files of systemd's user service, as this installation needs them: those of `systemd/`
with the path of this chatbridge and its folders."""

from __future__ import annotations

import os
import re

from chatbridge import runtime_paths
from chatbridge.cli.service.manager import command, folders
from chatbridge.cli.service.systemd import SERVICE, SOCKET

NOTE = (
    "# Written by: chatbridge service install, which writes it anew. For changes of your own:\n"
    "# systemctl --user edit {unit}\n"
)
_UNITS = os.path.join(os.path.dirname(__file__), "units")
_COMMAND = "/usr/bin/env chatbridge"


def folder() -> str:
    """Where the user's own units are."""
    return runtime_paths.xdg("XDG_CONFIG_HOME", ".config", "systemd/user")


def contents() -> dict[str, str]:
    """Each file's name, and what has to be in it."""
    return {SERVICE: _service(), SOCKET: _socket()}


def _service() -> str:
    lines = [f"ExecStart={' '.join(quoted(word, dollar=True) for word in command())}"]
    lines += [f"Environment={quoted(f'{name}={path}')}" for name, path in folders().items()]
    unit = _template(SERVICE)
    replaced, count = re.subn(
        rf"^ExecStart={_COMMAND} .*$", lambda _: "\n".join(lines), unit, flags=re.MULTILINE
    )
    assert count == 1
    return replaced


def _socket() -> str:
    unit = _template(SOCKET)
    if not folders():
        return unit
    path = runtime_paths.service_socket_path(runtime_paths.state_dir()).replace("%", "%%")
    return re.sub(r"^ListenStream=.*$", lambda _: f"ListenStream={path}", unit, flags=re.MULTILINE)


def _template(unit: str) -> str:
    with open(os.path.join(_UNITS, unit), encoding="utf-8") as file:
        _, _, rest = file.read().partition("[Unit]\n")
    return f"{NOTE.format(unit=unit)}[Unit]\n{rest}"


def quoted(value: str, *, dollar: bool = False) -> str:
    """As one word of a unit file. In a command a dollar sign would begin a variable."""
    value = value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    if dollar:
        value = value.replace("$", "$$")
    return f'"{value}"' if re.search(r"[\s\"'\\;]", value) else value
