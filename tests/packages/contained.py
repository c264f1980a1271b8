"""Whether the image works, as its user would notice. `.ci/container` runs it with the words that
call podman: `python -m tests.packages.contained podman …`.

Every container has a read-only root, no capability and no network but loopback.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

IMAGE, NAME = "localhost/chatbridge", "chatbridge-tried"
CONFINED = (
    *("--read-only", "--tmpfs", "/tmp", "--network", "none", "--cap-drop", "all"),
    *("--security-opt", "no-new-privileges", "--cgroups", "disabled", "--passwd=false"),
    *("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=1024:1024"),
)
AGENT = Path(__file__).with_name("contained_agent.py")
WITHIN, SOON = 60.0, 5.0
QUIET = "CHATBRIDGE_TELEGRAM__API_BASE=http://127.0.0.1:9"
"""Where no chat service listens."""
BOT_TOKEN = "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


@dataclass
class Container:
    podman: list[str]
    data: str
    """A volume's name, or a folder."""

    def pod(self, *words: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            [*self.podman, *words], input=stdin, capture_output=True, text=True, timeout=WITHIN
        )
        assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout.strip()

    @contextmanager
    def running(self, *options: str) -> Iterator[None]:
        volume = ("--volume", f"{self.data}:/data")
        self.pod("run", "--detach", "--name", NAME, *CONFINED, *volume, *options, IMAGE)
        try:
            self.eventually(self.is_healthy, "it is healthy")
            yield
        except AssertionError:
            subprocess.run([*self.podman, "logs", NAME], timeout=WITHIN)
            raise
        finally:
            self.pod("rm", "--force", "--time", "10", NAME)

    def refusal(self, *options: str) -> str:
        """What it says when it cannot serve."""
        words = [*self.podman, "run", "--rm", *CONFINED, *options, IMAGE]
        done = subprocess.run(words, capture_output=True, text=True, timeout=WITHIN)
        assert done.returncode == 1, (words, done.returncode, done.stdout, done.stderr)
        return done.stderr

    def chatbridge(self, *words: str) -> str:
        return self.pod("exec", NAME, "chatbridge", *words)

    def agent(self, *words: str) -> str:
        return self.pod(
            "exec", "--interactive", NAME, "python3", "-", *words, stdin=AGENT.read_text()
        )

    @contextmanager
    def asking(self, token: str) -> Iterator[subprocess.Popen[str]]:
        words = ("exec", "--interactive", NAME, "python3", "-", "ask", token)
        with subprocess.Popen(
            [*self.podman, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as asking:
            assert asking.stdin is not None
            asking.stdin.write(AGENT.read_text())
            asking.stdin.close()
            asking.stdin = None
            self.eventually(self.open_asks, "its question is open")
            yield asking

    def open_asks(self) -> list[str]:
        return self.chatbridge("pending", "--ids").split()

    def is_healthy(self) -> bool:
        words = [*self.podman, "healthcheck", "run", NAME]
        return subprocess.run(words, capture_output=True, timeout=WITHIN).returncode == 0

    def eventually(self, look: Callable[[], Any], what: str) -> Any:
        give_up = time.monotonic() + WITHIN
        while time.monotonic() < give_up:
            if found := look():
                return found
            time.sleep(0.1)
        raise AssertionError(what)

    def state(self, key: str) -> str:
        return self.pod("inspect", "--format", f"{{{{.State.{key}}}}}", NAME)

    def start_again(self) -> None:
        self.pod("start", NAME)
        self.eventually(self.is_healthy, "it is healthy again")


def it_says_what_it_is_without_a_volume(it: Container) -> None:
    said = it.pod("run", "--rm", *CONFINED, IMAGE, "--version")
    assert said.startswith("chatbridge "), said


def its_first_process_is_not_root_and_cannot_write_to_its_root(it: Container) -> None:
    with it.running():
        status = it.pod("exec", NAME, "cat", "/proc/1/status")
        rows = dict(line.split(":", 1) for line in status.splitlines())
        assert rows["Uid"].split() == ["10001"] * 4, rows["Uid"]
        assert int(rows["CapBnd"], 16) == 0, rows["CapBnd"]
        mounts = [line.split() for line in it.pod("exec", NAME, "cat", "/proc/mounts").splitlines()]
        assert [options.split(",")[0] for _, at, _, options, *_ in mounts if at == "/"] == ["ro"]
        assert it.state("Health.Status") == "healthy"


def strangers_are_refused(it: Container) -> None:
    with it.running():
        assert json.loads(it.agent("knock")) == [401, 403, 401, 403, 200]


def a_question_over_http_is_answered_in_the_inbox(it: Container) -> None:
    with it.running(), it.asking(it.chatbridge("token", "add", "first")) as asking:
        it.agent("answer")
        assert "yes" in json.loads(asking.communicate(timeout=WITHIN)[0])["answers"][0]["values"]
        assert "http://127.0.0.1:8787/login/" in it.chatbridge("inbox")


def a_question_outlives_a_stop(it: Container) -> None:
    _outlives(it, lambda: it.pod("stop", "--time", str(round(SOON)), NAME), code="0")


def a_question_outlives_a_kill(it: Container) -> None:
    _outlives(it, lambda: it.pod("kill", "--signal", "KILL", NAME), code="137")


def _outlives(it: Container, end: Callable[[], object], *, code: str) -> None:
    with it.running():
        token = it.chatbridge("token", "add", f"after-{code}")
        with it.asking(token) as asking:
            (before,) = it.open_asks()
            end()
            it.pod("wait", NAME)
            asking.communicate(timeout=WITHIN)
        assert it.state("ExitCode") == code
        it.start_again()
        assert it.open_asks() == [before]
        with it.asking(token) as asking:
            assert it.agent("answer").startswith(before)
            assert json.loads(asking.communicate(timeout=WITHIN)[0])["answered"]


def a_secret_comes_from_a_file_and_a_chat_in_trouble_is_healthy(it: Container) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "telegram-token")
        file.write_text(f"{BOT_TOKEN}\n")
        file.chmod(0o444)
        secret = f"{file}:/run/secrets/chatbridge_telegram__token:ro"
        people = "CHATBRIDGE_TELEGRAM__ALLOWED_USERS=1"
        with it.running("--volume", secret, "--env", QUIET, "--env", people):
            said = it.eventually(lambda: _trouble(it, "telegram"), "Telegram is in trouble")
            assert "cannot be reached" in said, said
            assert it.is_healthy()
            assert BOT_TOKEN not in it.pod("logs", NAME)


def _trouble(it: Container, channel: str) -> str | None:
    found: list[dict[str, str | None]] = json.loads(it.chatbridge("status", "--json"))["channels"]
    return next(each["trouble"] for each in found if each["name"] == channel)


def a_secret_that_cannot_be_read_is_named(it: Container) -> None:
    with tempfile.NamedTemporaryFile() as file:  # of whoever runs this, and for nobody else
        secret = f"{file.name}:/run/secrets/chatbridge_telegram__token:ro"
        said = it.refusal("--volume", secret)
        assert "/run/secrets/chatbridge_telegram__token cannot be read" in said, said


def a_second_container_does_not_disturb_the_first(it: Container) -> None:
    with it.running():
        assert "another hub" in it.refusal("--volume", f"{it.data}:/data")
        assert it.is_healthy()


def another_user_and_a_folder_of_theirs_will_do(it: Container) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 12345, 12345)
        other = Container(it.podman, folder)
        with other.running("--user", "12345:12345"):
            assert Path(folder, "state").stat().st_uid == 12345


def figures(it: Container) -> Iterator[str]:
    size = "find / -xdev -type f -printf '%s\\n' | awk '{ sum += $1 } END { print sum }'"
    with it.running():
        for what, command in (("all", size), ("chatbridge", size.replace(" / ", " /opt "))):
            found = int(it.pod("exec", NAME, "sh", "-c", command))
            yield f"{what}: {found / 1e6:.0f} MB"
        it.pod("stop", NAME)
        began = time.monotonic()
        it.start_again()
        yield f"from `start` to healthy: {time.monotonic() - began:.1f} s"
        times = it.pod("exec", NAME, "cat", "/proc/1/stat").rpartition(")")[2].split()[11:13]
        yield f"processor time of the hub until then: {sum(map(int, times)) / 100:.1f} s"


def main(*podman: str) -> None:
    it = Container([*podman], f"{NAME}-data")
    it.pod("volume", "create", it.data)
    try:
        for check in (
            it_says_what_it_is_without_a_volume,
            its_first_process_is_not_root_and_cannot_write_to_its_root,
            strangers_are_refused,
            a_question_over_http_is_answered_in_the_inbox,
            a_question_outlives_a_stop,
            a_question_outlives_a_kill,
            a_secret_comes_from_a_file_and_a_chat_in_trouble_is_healthy,
            a_secret_that_cannot_be_read_is_named,
            a_second_container_does_not_disturb_the_first,
            another_user_and_a_folder_of_theirs_will_do,
        ):
            check(it)
            sys.stdout.write(f"    {check.__name__.replace('_', ' ')}\n")
            sys.stdout.flush()
        for line in figures(it):
            sys.stdout.write(f"    {line}\n")
    finally:
        it.pod("volume", "rm", "--force", it.data)


if __name__ == "__main__":
    main(*sys.argv[1:])
