"""A fresh installation on a machine that others use, too: every mode, and what a stranger gets."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from chatbridge.settings import secrets
from tests.acceptance.bridge import Home, new_home
from tests.fakes.link_client import LinkClient

STRANGER = 65534
TOKEN = "123456789:AAFakeFakeFakeFakeFakeFakeFakeFakeFak"
SET_UP = """
import sys
from chatbridge.cli.setup.commands import setup
sys.exit(setup(sys.argv[1:]))
"""
LOOK = """
import encodings.idna, json, os, socket, sys, urllib.error, urllib.request
os.setgroups([])
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
told = json.load(sys.stdin)
got = []
for path in told["paths"]:
    try:
        got.append([path, os.listdir(path) if os.path.isdir(path) else open(path).read()])
    except OSError:
        pass
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(path)
            got.append([path, "connected"])
        except OSError:
            pass
pages = {}
for page in told["pages"]:
    try:
        with urllib.request.urlopen(page, timeout=20) as response:
            pages[page] = [response.status, response.read().decode()]
    except urllib.error.HTTPError as error:
        pages[page] = [error.code, error.read().decode()]
print(json.dumps({"got": got, "pages": pages}))
"""


@dataclass(frozen=True)
class Installation:
    home: Home
    folders: tuple[Path, ...]
    """The configuration, the state and the socket."""

    def paths(self) -> list[Path]:
        found = [path for folder in self.folders for path in folder.rglob("*")]
        return sorted({*self.folders, *found})


@pytest.fixture(scope="module")
def installed() -> Iterator[Installation]:
    """As careless as can be: whatever is made without a word about its mode is for everybody."""
    with new_home() as home:
        home.folder.chmod(0o755)
        config = home.folder / "config" / "chatbridge"
        runtime = home.folder / "run"
        home.settings["CHATBRIDGE_CONFIG"] = str(config / "config.toml")
        home.settings["CHATBRIDGE_RUNTIME_DIR"] = str(runtime)
        (home.folder / "config").mkdir()
        before = os.umask(0)
        try:
            subprocess.run(
                [sys.executable, "-c", SET_UP, "--non-interactive", "--web-only", "--wait", "1h"],
                env={"PATH": os.environ["PATH"], **home.environment},
                check=True,
                capture_output=True,
            )
            secrets.keep(config / "config.toml", "telegram", "token", value=TOKEN)
            with LinkClient(home.environment, cwd=home.project("shop")) as link:
                link.request(1, "ping")
                link.receive()
                home.person.open_asks()  # the inbox is up
                yield Installation(home, (config, home.state, runtime))
        finally:
            os.umask(before)


def test_everything_is_for_its_owner_alone(installed: Installation) -> None:
    found = {path: path.lstat().st_mode for path in installed.paths()}
    names = {path.name for path in found}
    assert {"config.toml", "chatbridge_telegram__token", "chatbridge.db", "web-token"} <= names
    assert any(stat.S_ISSOCK(mode) for mode in found.values())
    for path, mode in found.items():
        wanted = 0o700 if stat.S_ISDIR(mode) else 0o600
        assert stat.S_IMODE(mode) == wanted, f"{path} is {stat.filemode(mode)}"


def test_no_process_of_ours_has_a_secret_on_its_command_line(installed: Installation) -> None:
    pid = installed.home.lock_holder()
    line = Path(f"/proc/{pid}/cmdline").read_text()
    assert installed.home.person.token not in line
    assert TOKEN not in line


@pytest.mark.root
def test_another_user_reads_lists_and_reaches_nothing(installed: Installation) -> None:
    person = installed.home.person
    address = person.address()
    pages = [f"{address}{it}" for it in ("/", "/history", "/api/asks", "/api/events", "/healthz")]
    told = {"paths": [str(path) for path in installed.paths()], "pages": pages}
    said = subprocess.run(
        [sys.executable, "-c", LOOK, str(STRANGER)],
        input=json.dumps(told),
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert found["got"] == []
    for page, (status, text) in found["pages"].items():
        assert person.token not in text
        assert "shop" not in text
        if page.endswith("/healthz"):
            assert status == 200
        elif "/api/" in page:
            assert status == 401
