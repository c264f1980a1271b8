"""The machine on which the documentation's commands are run: a home of its own, a hub, a project
with the files that the pages speak of, and somebody who answers."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from chatbridge.hub.process.lock import account_lock_path
from tests.documents import stand_ins
from tests.documents.pages import ROOT
from tests.documents.ways import TOKEN_FILE, How, Way
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import House, house
from tests.fakes.program import bare
from tests.fakes.pty_person import CTRL_C, at_terminal
from tests.fakes.telegram.server import BotApi

DEPLOY = "#!/bin/sh\necho deployed\n"
MAKEFILE = "all:\n\t@echo built\n"


@dataclass(frozen=True)
class Ended:
    code: int
    shown: str


class Sandbox:
    def __init__(self, home: House, closing: ExitStack) -> None:
        self._home = home
        self._closing = closing
        self._numbers = count(1)
        self._folder = Path(home.environment["HOME"])
        self._calls = self._folder / "calls"
        self._telegram: dict[str, str] = {}
        programs = self._folder / "bin"
        programs.mkdir()
        program = f'#!/bin/sh\nexec {" ".join(home.chatbridge)} "$@"\n'
        for path, text in (
            (programs / "chatbridge", program),
            (home.project / "deploy", DEPLOY),
            (home.project / "Makefile", MAKEFILE),
        ):
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)
        stand_ins.put(self._folder / "others", self._calls)

    def carry_out(self, command: str, way: Way) -> Ended:
        for earlier in way.before:
            done = self._run(self._filled(earlier, {}), way)
            assert done.code == 0, f"{earlier}: {done.shown}"
        stand_ins.noted(self._calls)
        run = self._at_terminal if way.plays or way.stays else self._run
        done = run(self._filled(command, way.fills), way)
        if way.then and done.code == way.code:
            done = run(way.then, way)
        return done

    def calls(self) -> list[list[str]]:
        """What the command before has called of what others' programs stand in for."""
        return stand_ins.noted(self._calls)

    # ── filling in ────────────────────────────────────────────────────────────────────────────────

    def _filled(self, text: str, fills: Mapping[str, str]) -> str:
        for stands, instead in fills.items():
            text = text.replace(stands, instead, 1)
        for name, make in (
            ("{ask}", self._ask),
            ("{person}", self._person),
        ):
            if name in text:
                text = text.replace(name, make())
        return text

    def _ask(self) -> str:
        """The id of a question with two files that is open, and that nobody waits for."""
        question = {
            "id": "c",
            "question": f"Which colour? It is number {next(self._numbers)}.",
            "type": "select",
            "options": ["red", "blue"],
        }
        files = [{"data": "b2sK", "name": name} for name in ("build.log", "notes.txt")]
        with self._home.agent() as agent:
            agent.initialize()
            agent.ask(1, {"questions": [question], "attachments": files, "wait": False})
            told = agent.result()
            assert "askId" in told, told
            return str(told["askId"])

    def _person(self) -> str:
        """Somebody whom a bot of Telegram's test server knows; its token is where pages say."""
        api = self._closing.enter_context(BotApi.running())
        self._telegram = {"CHATBRIDGE_TELEGRAM__API_BASE": api.address}
        lock = Path(account_lock_path(str(api.bot.id)))
        self._closing.callback(lock.unlink, missing_ok=True)
        (self._home.project / TOKEN_FILE).write_text(f"{api.token}\n", encoding="utf-8")
        (self._home.project / TOKEN_FILE).chmod(0o600)
        person = api.person("Ada", username="ada")
        api.private(person)
        return str(person.id)

    # ── running ───────────────────────────────────────────────────────────────────────────────────

    def _environment(self, way: Way) -> dict[str, str]:
        folders = [self._folder / "bin"]
        if way.how is How.STAND_IN:
            folders.append(self._folder / "others")
        path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
        return bare({**self._home.environment, **self._telegram, "PATH": path, "LANG": "C.UTF-8"})

    def _folder_of(self, way: Way) -> Path:
        return ROOT if way.in_sources else self._home.project

    def _run(self, command: str, way: Way) -> Ended:
        process = subprocess.Popen(
            ["bash", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self._folder_of(way),
            env=self._environment(way),
        )
        try:
            if way.answer:
                self._answer(way.answer, process)
            shown, _ = process.communicate(way.stdin, timeout=PATIENCE)
        finally:
            process.kill()
            process.wait()
        return Ended(process.returncode, shown)

    def _answer(self, value: str, process: subprocess.Popen[str]) -> None:
        """The question that this command asks, unless it ends without one."""
        until = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < until:
            for ask in self._home.asks():
                if ask["agent"]["name"] == "shell":
                    self._home.answer(ask, value)
                    return
            time.sleep(0.02)

    def _at_terminal(self, command: str, way: Way) -> Ended:
        words = ["bash", "-c", command]
        where = self._folder_of(way)
        with at_terminal(words, env=self._environment(way), cwd=where) as me:
            for shown, keys in way.plays:
                me.expect(shown)
                me.press(keys)
            if way.stays:
                me.expect(way.stays)
                me.press(CTRL_C)
            me.ends(way.code)
            return Ended(way.code, me.scrolled)


@contextmanager
def sandbox() -> Iterator[Sandbox]:
    with ExitStack() as closing:
        yield Sandbox(closing.enter_context(house()), closing)
