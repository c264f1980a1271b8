"""`chatbridge demo`: a hub, a web inbox and a pretend agent, on this machine only.

Owns a folder and a hub, and leaves nothing of them behind, however it ends. The agent is a link of
our own, as `chatbridge ask` has one.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Self

from chatbridge import lock_file, runtime_paths
from chatbridge.cli.hub.control import end_hub
from chatbridge.cli.hub.hub_client import ask_hub
from chatbridge.cli.hub.tool_client import NoAnswer, ToolClient, own_link
from chatbridge.cli.questions.answer import drop_typed, typed_line
from chatbridge.cli.ui.running import Help, Parser, fitted
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import split_recommended, visible
from chatbridge.link.loop import wake_on
from chatbridge.system.sockets import MAX_SOCKET_PATH

Json = dict[str, Any]

ABOUT = (
    "A pretend agent asks you three questions. Answer in the browser or here in the terminal; the "
    "first answer counts, and what the agent gets is printed. The demo has a hub and a folder of "
    "its own, and both are gone afterwards. Without a terminal it answers by itself."
)
NOBODY = "Nobody answered."
START_SECONDS = 30.0
STOP_SECONDS = 10.0
PAGE_SECONDS = 1.0  # For the page to show the delivery before its hub has gone
SOCKET_NAME_BYTES = len("/hub-12345678.sock")
ASK: Json = {
    "title": "Release 2.4",
    "timeout": 1_800_000,
    "questions": [
        {
            "id": "branch",
            "type": "select",
            "question": "Which branch is released?",
            "options": [
                {"label": "release/2.4 (recommended)", "description": "Frozen since Tuesday"},
                {"label": "main", "description": "Has two more changes"},
            ],
        },
        {
            "id": "checks",
            "type": "multi-select",
            "question": "Which checks must pass before the tag is pushed?",
            "options": ["Unit tests", "Contract tests", "Load test"],
        },
        {
            "id": "notes",
            "type": "text",
            "question": "Anything the release notes must mention?",
            "required": False,
            "placeholder": "One sentence is enough",
        },
    ],
}
OWN_ANSWERS = [
    {"questionId": "branch", "values": ["release/2.4 (recommended)"]},
    {"questionId": "checks", "values": ["Unit tests", "Contract tests"]},
    {"questionId": "notes", "values": ["Faster start"]},
]


def main(argv: list[str]) -> int:
    Parser(prog="chatbridge demo", description=ABOUT, formatter_class=Help).parse_args(argv)
    signals = wake_on(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    try:
        with _folder() as folder, Stage(folder, signals) as stage:
            return _play(stage)
    except Interrupted:
        _say("\nThe demo has ended. Nothing of it is left running.")
        return 0
    except (ChatbridgeError, NoAnswer) as error:
        sys.stderr.write(f"{error}\n")
        return 1


class Interrupted(Exception):
    """A signal says that the demo is to end."""


def _folder() -> tempfile.TemporaryDirectory[str]:
    """Private (0700), and short enough for a Unix socket's path."""
    name = os.path.join(os.path.realpath(tempfile.gettempdir()), "chatbridge-demo-12345678")
    short = len(os.fsencode(name)) + SOCKET_NAME_BYTES <= MAX_SOCKET_PATH
    return tempfile.TemporaryDirectory(
        prefix="chatbridge-demo-",
        dir=None if short else "/tmp",  # noqa: S108 - the folder itself has an unguessable name
        ignore_cleanup_errors=True,
    )


class Stage:
    """The demo's hub, with a folder for everything it keeps."""

    def __init__(self, folder: str, signals: int) -> None:
        self.state = os.path.realpath(folder)
        self.project = Path(self.state) / "demo"
        (self.project / ".git").mkdir(parents=True)
        self._signals = signals

    def wait(self, *others: int | ToolClient, seconds: float | None = None) -> list[Any]:
        """Those that can be read. Signals are noticed here and only here: never between a process
        and the note of its pid, nor while things are tidied up. :raises Interrupted:"""
        ready = select.select([self._signals, *others], [], [], seconds)[0]
        if self._signals in ready:
            raise Interrupted
        return ready

    def __enter__(self) -> Self:
        # The owner's own settings and hub have nothing to do with the demo.
        for name in [it for it in os.environ if it.startswith("CHATBRIDGE_")]:
            del os.environ[name]
        os.environ.pop("CREDENTIALS_DIRECTORY", None)
        # A checkout that is run in place is importable only by its path.
        checkout = str(Path(__file__).parents[2])
        os.environ |= {
            "CHATBRIDGE_STATE_DIR": self.state,
            "CHATBRIDGE_RUNTIME_DIR": self.state,
            "CHATBRIDGE_CONFIG": os.path.join(self.state, "none.toml"),
            "CHATBRIDGE_DEMO": "1",  # so that the page says why its hub has gone
            "PYTHONPATH": os.pathsep.join(filter(None, [checkout, os.environ.get("PYTHONPATH")])),
        }
        with open(runtime_paths.log_path(self.state), "ab") as log:
            self.hub = subprocess.Popen(
                [sys.executable, "-m", "chatbridge", "hub"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.state,
                start_new_session=True,  # Ctrl-C is for us; the hub ends after its agent
            )
        return self

    def __exit__(self, *_: object) -> None:
        self.hub.terminate()
        try:
            self.hub.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.hub.kill()
            self.hub.wait()
        # Had it died in between, the agent's link would have started another one.
        end_hub(self.state)

    def inbox(self) -> str:
        """The inbox's address, once it is there.
        :raises ChatbridgeError: with the last thing the hub said."""
        until = time.monotonic() + START_SECONDS
        while self.hub.poll() is None and time.monotonic() < until:
            info = lock_file.read(self.state)
            if info is not None and info.web is not None and info.socket is not None:
                return info.web
            self.wait(seconds=0.02)
        log = Path(runtime_paths.log_path(self.state)).read_text(errors="replace")
        last = log.strip().rpartition("\n")[2]
        raise ChatbridgeError(f"The demo's hub did not come up: {last}")

    def answer(self, address: str, ask: Json, answers: list[Json]) -> bool:
        """Through the inbox's API, as any script would. Whether these answers were the first."""
        from urllib import error, request

        token = Path(runtime_paths.token_path(self.state)).read_text(encoding="ascii").strip()
        post = request.Request(  # noqa: S310
            f"{address}/api/asks/{ask['id']}/answer",
            data=json.dumps({"answers": answers}).encode(),
            headers={"authorization": f"Bearer {token}", "content-type": "application/json"},
        )
        try:
            # No proxy is asked for the way to this computer.
            request.build_opener(request.ProxyHandler({})).open(post).close()
        except error.HTTPError as refused:
            with refused:
                if refused.code != 409:
                    raise
            return False
        return True


def _play(stage: Stage) -> int:
    _say("A pretend agent is about to ask you something. Nothing leaves this computer.")
    address = stage.inbox()
    link = f"{address}/login/{ask_hub('login-code')['code']}"
    with own_link("chatbridge-demo", title="Demo agent", folder=str(stage.project)) as agent:
        call = agent.begin("ask_user", ASK)
        asks: list[Json] = []
        while not asks and not agent.has_ended(call):
            stage.wait(seconds=0.02)
            asks = ask_hub("pending", start=True)["asks"]
        if asks:
            _say(f"\nAnswer in the browser (the link works once, 10 minutes):\n  {link}\n")
            ours = _answer(stage, address, asks[0], agent, call)
            while not agent.has_ended(call):
                stage.wait(agent)
        result = agent.result(call)
        if asks and not ours:
            stage.wait(seconds=PAGE_SECONDS)
            _say(f"\n\n{_elsewhere(result.get('structuredContent') or {})}")
    _say("\nThe agent's call has returned:")
    for block in result["content"]:
        print(block["text"])
    if result.get("isError"):
        return 1
    _say(f"\n{in_words(result.get('structuredContent') or {})}")
    _say("\nThat was the demo. Next: chatbridge setup")
    return 0


def in_words(outcome: Json) -> str:
    """What the agent was told, for people."""
    if not outcome.get("answered"):
        return "Cancelled: the agent got no answer." if outcome.get("cancelled") else NOBODY
    texts = {question["id"]: str(question["question"]) for question in ASK["questions"]}
    lines = ["Answered:"]
    for answer in outcome["answers"]:
        values = [split_recommended(value)[0] for value in answer["values"]]
        said = ", ".join([*values, *filter(None, [answer.get("customText")])])
        lines.append(f"  {texts[answer['questionId']]} {visible(said) or '(skipped)'}")
    return "\n".join(lines)


def _answer(stage: Stage, address: str, ask: Json, agent: ToolClient, call: str) -> bool:
    """Answer in the terminal, or without one by ourselves. Whether that was the first answer."""
    if not sys.stdin.isatty():
        _say("There is no terminal here, so the demo answers by itself, through the inbox's API.")
        return stage.answer(address, ask, OWN_ANSWERS)
    from chatbridge.cli.questions.terminal_form import TerminalForm

    _say("or here. The first answer counts; Ctrl-C ends the demo.\n")
    form = TerminalForm(ask)
    _say(f"❓ {ask['agent']['project']} · {ask['agent']['name']}\n{form.screen()}\n> ", end="")
    try:
        while not agent.has_ended(call):
            if 0 not in stage.wait(0, agent):
                continue
            line = typed_line()
            if line is None:
                _say("\nNo more input from the terminal; you can still answer in the browser.")
                return False
            reply = form.take(line)
            if reply.answers is None:
                _say(f"\n{reply.text}\n> ", end="")
                continue
            first = stage.answer(address, ask, form.as_json(reply.answers))
            if first:
                _say("\n✓ Sent from here.")
            return first
        return False
    finally:
        drop_typed()


def _elsewhere(outcome: Json) -> str:
    """How the question ended without the terminal."""
    if outcome.get("answered"):
        return "✓ Answered in the web inbox."
    if outcome.get("cancelled"):
        return "✓ Cancelled in the web inbox."
    return NOBODY


def _say(text: str, *, end: str = "\n") -> None:
    print(fitted(text), end=end, flush=True)
