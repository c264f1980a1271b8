"""The demo as a person meets it: in a terminal, without one, and interrupted."""

from __future__ import annotations

import json
import os
import select
import signal
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.on_terminal import PATIENCE, OnTerminal, in_pipe

NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Demo(OnTerminal):
    """A running demo in a terminal, with a folder for temporary files of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(elsewhere(folder), "demo")
        self.folder = folder
        self.shown = ""
        """All that it printed after what was expected, once it has ended."""

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(PATIENCE)
        super().__exit__()

    def ends(self) -> int:
        code, self.shown = self.finish()
        return code

    def result(self) -> dict[str, Any]:
        return result(self.shown)

    def api(self, path: str, body: dict[str, Any] | None = None) -> Any:
        (state,) = self.folder.glob("chatbridge-demo-*")
        address = json.loads((state / "hub.lock").read_text())["web"]
        request = urllib.request.Request(
            address + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "authorization": f"Bearer {(state / 'web-token').read_text().strip()}",
                "content-type": "application/json",
            },
        )
        with NO_PROXY.open(request) as answer:
            return json.load(answer)


def elsewhere(folder: Path) -> dict[str, str]:
    """Settings that must not count, and a HOME that must not be touched."""
    home = {"HOME": str(folder / "home"), "CHATBRIDGE_WEB__ENABLED": "false"}
    return {**home, "TMPDIR": str(folder)}


def result(shown: str) -> dict[str, Any]:
    """What the agent got."""
    found = json.loads(next(it for it in shown.splitlines() if it.startswith("{")))
    assert isinstance(found, dict)
    return found


def leftovers(folder: Path) -> list[str]:
    """Processes and files that should not be there any more."""
    files = [str(it) for it in folder.glob("chatbridge-demo-*")]
    return files + [str(pid) for pid in _processes_with(str(folder))]


def _processes_with(folder: str) -> Iterator[int]:
    """Those of ours whose environment names the folder."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                if folder.encode() in (entry / "environ").read_bytes():
                    yield int(entry.name)
            except OSError:
                continue


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short: where its socket's path would be too long, the demo takes another one."""
    with tempfile.TemporaryDirectory(prefix="cb-") as path:
        yield Path(path)


def test_without_a_terminal_the_demo_answers_by_itself(folder: Path) -> None:
    done = in_pipe(elsewhere(folder), "demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("Answer in the browser") < done.stdout.index("no terminal here")
    assert done.stdout.endswith(
        "\nAnswered:\n"
        "  Which branch is released? release/2.4\n"
        "  Which checks must pass before the tag is pushed? Unit tests, Contract tests\n"
        "  Anything the release notes must mention? Faster start\n"
        "\nThat was the demo. Next: chatbridge setup\n"
    )
    assert result(done.stdout) == {
        "answered": True,
        "cancelled": False,
        "timedOut": False,
        "answers": [
            {"questionId": "branch", "values": ["release/2.4 (recommended)"]},
            {"questionId": "checks", "values": ["Unit tests", "Contract tests"]},
            {"questionId": "notes", "values": ["Faster start"]},
        ],
    }
    assert leftovers(folder) == []


def test_answers_typed_in_the_terminal_reach_the_agent(folder: Path) -> None:
    with Demo(folder) as demo:
        demo.expect("1 of 3")
        demo.type("7")
        demo.expect("There is no option 7.")
        demo.type("2")
        demo.expect("2 of 3")
        demo.type("1, 3")
        demo.expect("3 of 3")
        demo.type("")
        demo.expect("check and send")
        demo.expect("Nothing has been sent yet.")
        demo.type("3")
        demo.expect("3 of 3")
        demo.type("Faster, and smaller")
        demo.expect("Nothing has been sent yet.")
        demo.type("")
        demo.expect("Sent from here")
        assert demo.ends() == 0
        assert demo.result()["answers"] == [
            {"questionId": "branch", "values": ["main"]},
            {"questionId": "checks", "values": ["Unit tests", "Load test"]},
            {"questionId": "notes", "values": ["Faster, and smaller"]},
        ]
        assert leftovers(folder) == []


def test_the_link_opens_the_log_in_page_and_an_answer_in_the_inbox_ends_the_wait_in_the_terminal(
    folder: Path,
) -> None:
    with Demo(folder) as demo:
        demo.expect("(the link works once, 10 minutes):\n  ")
        link = demo.expect("\n")
        with NO_PROXY.open(link) as page:
            assert link.rpartition("/")[2] in page.read().decode()
        demo.expect("1 of 3")
        demo.type("1")
        demo.expect("2 of 3")
        (ask,) = demo.api("/api/asks")
        answers = [
            {"questionId": "branch", "values": [], "customText": "hotfix"},
            {"questionId": "checks", "values": ["Load test"]},
        ]
        demo.api(f"/api/asks/{ask['id']}/answer", {"answers": answers})
        demo.expect("Answered in the web inbox.")
        assert demo.ends() == 0
        assert demo.result()["answers"] == [*answers, {"questionId": "notes", "values": []}]
        assert "mention? (skipped)" in demo.shown
        assert leftovers(folder) == []


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        ("A pretend agent", signal.SIGHUP),
        ("Answer in the browser", signal.SIGTERM),
    ],
)
def test_an_interrupted_demo_leaves_nothing_behind(
    folder: Path, stage: str, number: signal.Signals
) -> None:
    with Demo(folder) as demo:
        demo.expect(stage)
        os.kill(demo.process.pid, number)
        os.kill(demo.process.pid, number)  # an impatient second one changes nothing
        assert demo.ends() == 0
        assert "Traceback" not in demo.shown
        assert leftovers(folder) == []


def test_a_killed_hub_comes_back_and_an_interrupt_stops_it_and_leaves_nothing(
    folder: Path,
) -> None:
    with Demo(folder) as demo:
        demo.expect("1 of 3")
        (state,) = folder.glob("chatbridge-demo-*")
        first = json.loads((state / "hub.lock").read_text())["pid"]
        os.kill(first, signal.SIGKILL)
        until = time.monotonic() + PATIENCE
        while json.loads((state / "hub.lock").read_text() or "{}").get("pid") == first:
            assert time.monotonic() < until, "no new hub came up"
            select.select([], [], [], 0.05)
        for _ in range(2):
            os.kill(demo.process.pid, signal.SIGINT)
        assert demo.ends() == 0, demo.shown
        assert "Traceback" not in demo.shown
        assert leftovers(folder) == []
