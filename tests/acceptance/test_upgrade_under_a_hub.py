"""An upgrade replaces the files under a running hub: it has in memory what it needs by then."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.fakes.chat_settings import telegram_settings
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import House, house
from tests.fakes.program import ROOT
from tests.fakes.telegram.server import BotApi

LOGGED = re.compile(rb"^\d{4}-.*$", re.MULTILINE)
"""What the hub itself says, beside its imports."""


@contextmanager
def installed_hub(home: House, package: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A service's hub that runs from a copy of the package, once it has said that it is ready. Its
    standard error has every import, too."""
    shutil.copytree(
        ROOT / "chatbridge",
        package / "chatbridge",
        ignore=shutil.ignore_patterns("units"),
    )
    address = str(home.state.parent / "n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as news, open(log, "wb") as stderr:
        news.bind(address)
        news.settimeout(PATIENCE)
        process = subprocess.Popen(
            [
                sys.executable,
                "-X",
                "importtime",
                "-m",
                "chatbridge",
                "hub",
                "--started-by",
                "service",
            ],
            cwd=package,
            stderr=stderr,
            env={
                "PATH": os.environ["PATH"],
                **home.environment,
                "PYTHONPATH": str(package),
                "NOTIFY_SOCKET": address,
            },
        )
        try:
            while b"READY=1" not in news.recv(4096):
                pass
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE)


def test_what_it_has_to_import_is_imported_before_it_says_that_it_is_ready(tmp_path: Path) -> None:
    log, package = tmp_path / "log", tmp_path / "installed"
    with BotApi.running() as api:
        ada = api.person("Ada")
        phone = api.private(ada).phone(ada)
        with (
            house(**telegram_settings(api, ada)) as home,
            installed_hub(home, package, log) as hub,
            home.agent() as agent,
        ):
            ready_at = log.stat().st_size
            home.asks()  # the inbox reads its templates when it comes up
            shutil.rmtree(package / "chatbridge")
            agent.initialize()
            agent.ask(1)
            card = phone.sees("Which colour?")
            assert phone.tap(card, "blue").answered() == "Sent: blue"
            assert agent.result()["id"] == 1
            notice = {"title": "done", "message": "all of it"}
            agent.request(2, "tools/call", {"name": "notify_user", "arguments": notice})
            assert not agent.receive()["result"].get("isError")
            phone.sees("all of it")
            agent.request(3, "tools/call", {"name": "question_summary", "arguments": {}})
            assert not agent.receive()["result"].get("isError")
        assert hub.returncode == 0
        before, after = log.read_bytes()[:ready_at], log.read_bytes()[ready_at:]
        assert b"chatbridge.channels.telegram.outbound.chat" in before
        assert b" chatbridge." not in re.sub(LOGGED, b"", after)
        assert b"Error" not in after
