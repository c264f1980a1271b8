"""The machine of one run: an empty home with a hub, a program in its project, and the owner.

Nothing of it outlives the run: the program's whole process group and the hub are ended.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from tests.acceptance.bridge import Home
from tests.clients.model import Model, Request, Script
from tests.clients.programs import HOME, Program, limited
from tests.fakes.page import Page

Json = dict[str, Any]
T = TypeVar("T")
PATIENCE = 90.0
"""Seconds for anything that a program does: some take ten to start on a busy machine."""
CHATBRIDGE = Path(sys.executable).with_name("chatbridge")
NODE = HOME / "node" / "bin"
TAP = """#!/bin/sh
[ "$1" = mcp ] || exec "{chatbridge}" "$@"
pipe=$(mktemp -u "{wire}.XXXXXX") && mkfifo "$pipe" && exec 3<&0
tee -a "{wire}" <&3 >"$pipe" &
exec "{chatbridge}" "$@" 3<&- <"$pipe"
"""
"""In front of the link, which stays the program's own child: keeps what the program sends."""
VERSION = "io.modelcontextprotocol/protocolVersion"


class Failed(Exception):
    """A scene went another way; the text is for the table."""


class Desk(Home):
    def __init__(self, folder: Path, program: Program, model: Model) -> None:
        super().__init__(folder, {}, cold=True)
        self.state = self.person.state = folder / ".local" / "state" / "chatbridge"
        self.program, self.model = program, model
        self.page = Page(self.state)
        self.shop = self.project("shop")
        self.tap, self.wire = folder / "bin" / "chatbridge", folder / "wire.jsonl"
        self.said = folder / "said.txt"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def variables(self) -> dict[str, str]:
        """As after a login, and what leads the program to its model."""
        return {
            "HOME": str(self.folder),
            "PATH": f"{NODE}:/usr/bin:/bin",
            "USER": "robin",
            "SHELL": "/bin/sh",
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            **{name: os.environ[name] for name in os.environ if name.lower().endswith("_proxy")},
            **self.program.variables,
        }

    # ── set-up ────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def hub(self, settings: str) -> Iterator[None]:
        config = self.folder / ".config" / "chatbridge" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(settings)
        with (self.folder / "hub.log").open("wb") as log:
            process = subprocess.Popen(
                [CHATBRIDGE, "hub"], env=self.variables, cwd=self.folder, stdout=log, stderr=log
            )
        try:
            self.page.open_asks()
            yield
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def connect(self, *, limit: int | None) -> None:
        """What `chatbridge connect` writes, with the tap and, if it is given, another limit."""
        self.tap.parent.mkdir()
        self.tap.write_text(TAP.format(wire=self.wire, chatbridge=CHATBRIDGE))
        self.tap.chmod(0o755)
        for name, text in self.program.files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        words = self.program.connect
        said = self.chatbridge("connect", *words, *([] if "--print" in words else ["--yes"]))
        if "--print" in words:
            (self.folder / "entry.json").write_text(said)
        for path in (self.folder / name for name in self.program.entries):
            text = path.read_text().replace(str(CHATBRIDGE), str(self.tap))
            path.write_text(limited(text, limit) if limit else text)

    def chatbridge(self, *words: str) -> str:
        done = subprocess.run(
            [CHATBRIDGE, *words],
            env=self.variables,
            cwd=self.shop,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        if done.returncode:
            raise Failed(f"chatbridge {words[0]}: {done.stderr.strip()[-200:]}")
        return done.stdout

    # ── the program ───────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def running(self) -> Iterator[None]:
        with self.said.open("wb") as said:
            self._process = subprocess.Popen(
                self.program.words,
                env=self.variables,
                cwd=self.shop,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def interrupt(self) -> None:
        assert self._process
        self._process.send_signal(signal.SIGINT)

    def reply(self) -> None:
        """Let the model reply once that is held back."""
        assert self.model.turns
        self.model.turns.release()

    def ended(self) -> None:
        """Once the program has ended by itself. :raises Failed:"""
        assert self._process
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failed("it did not end") from None
        if code:
            raise Failed(f"it ended with {code}")

    def sees(self, text: str, *, other_than: str = "") -> Json:
        """The question, once it is in the inbox. :raises Failed: the program ended before that."""

        def found() -> Json | None:
            for ask in self.page.open_asks():
                if ask["questions"][0]["question"] == text and ask["id"] != other_than:
                    return ask
            return None

        return self.until(found, "no question came")

    def becomes(self, ask: Json, status: str) -> None:
        def found() -> bool | None:
            return self.page.ask(ask["id"])["status"] == status or None

        self.until(found, f"the question is not {status}", alone=True)

    def results(self, number: int) -> Sequence[str]:
        """All results, once the model has been told this many. :raises Failed:"""
        return self._request(lambda it: len(it.results) >= number, "no further result").results

    def shown(self, words: str) -> None:
        """Once the model has been told this. :raises Failed:"""
        self._request(lambda it: words in it.text, f"the model never saw “{words}”")

    def _request(self, fits: Callable[[Request], bool], what: str) -> Request:
        return self.until(lambda: self.model.until(fits, 0.0), what)

    def until(self, found: Callable[[], T | None], what: str, *, alone: bool = False) -> T:
        """What `found` returns, once it returns something. `alone`: the program may have ended.
        :raises Failed:"""
        assert self._process
        until = time.monotonic() + PATIENCE
        while True:
            code = self._process.poll()
            if (value := found()) is not None:
                return value
            if time.monotonic() > until:
                raise Failed(what)
            if code is not None and not alone:
                raise Failed(f"{what}: it ended with {code}")
            time.sleep(0.1)

    # ── what was on the wire ──────────────────────────────────────────────────────────────────────

    def sent(self) -> list[Json]:
        lines = self.wire.read_text().splitlines() if self.wire.exists() else []
        return [json.loads(line) for line in lines if line.strip()]

    def era(self) -> str | None:
        """The protocol's version that the program speaks, as its last call says."""
        found = None
        for message in self.sent():
            given = message.get("params") or {}
            version = (given.get("_meta") or {}).get(VERSION) or given.get("protocolVersion")
            if version and message.get("method") != "server/discover":
                found = version
        return found


@contextmanager
def desk(
    program: Program,
    script: Script,
    *,
    settings: str = "",
    limit: int | None = None,
    limit_told: bool = True,
    held: bool = False,
) -> Iterator[Desk]:
    """With the program running. The limit is that of a call, in seconds, and told to chatbridge or
    not; `held`: the model waits for `reply`."""
    # Short: a socket's path may have 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="cb-")).resolve()
    model = Model(script, held=held)
    here = Desk(folder, program.at(folder, model.address, limit), model)
    try:
        with model.serving(), here.hub(settings):
            here.connect(limit=limit if limit_told else None)
            with here.running():
                yield here
    finally:
        here.stop_hub()
        if keep := os.environ.get("CHATBRIDGE_CLIENTS_KEEP"):
            shutil.copytree(folder, Path(keep) / folder.name, symlinks=True, ignore=_no_files)
        shutil.rmtree(folder, ignore_errors=True)


def _no_files(folder: str, names: Sequence[str]) -> list[str]:
    """Sockets and pipes, which cannot be copied."""
    found = [Path(folder, name) for name in names]
    return [it.name for it in found if it.is_socket() or it.is_fifo()]
