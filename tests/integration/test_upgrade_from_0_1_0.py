"""What 0.1.0 leaves in the middle of its work, taken over by this version: nothing is lost.

`tests/releases/0.1.0` was recorded from its own programs: a database at a kill -9 while agents
waited, what each of their links said to the hub that came then, byte for byte, its configuration,
and what its runner said to the next hub. Databases with ended asks: `test_earlier_databases`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import SecretStr

from chatbridge.channels.telegram.outbound.card_messages import from_text
from chatbridge.clock import SystemClock
from chatbridge.commands.operations.runner_client import End, Order, RunnerClient
from chatbridge.commands.runner import start
from chatbridge.core.asks.reach import Reach
from chatbridge.core.model import Answer, Ask, Status
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.policy import Policy
from chatbridge.hub.wiring.own_tools import RENDERERS
from chatbridge.settings import load
from chatbridge.tools.approvals.tool import ApproveToolUse
from chatbridge.tools.ask_user import AskUser
from chatbridge.tools.auq import AskUserQuestions, Limits
from chatbridge.tools.call import ToolHandler
from chatbridge.tools.elicitation import Elicitation, States
from chatbridge.tools.journal.journal import Journal, JournalKeeper
from chatbridge.tools.question_ask import QuestionAsk
from chatbridge.tools.waiting import WaitForAnswer, Waiting
from tests.fakes.approving import allow
from tests.fakes.clock import StillClock
from tests.fakes.core_env import OWNER, PATIENCE, World, world
from tests.fakes.inbox import ANYWHERE
from tests.fakes.link_server import Link, door
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, running_telegram

RELEASE = Path(__file__).parents[1] / "releases" / "0.1.0"
ADA = 700_000_001
STATE = "/home/ada/.local/state/chatbridge"
THEN = 1795064590.0
"""A moment after the kill."""

Json = dict[str, Any]


def asked(ask: Ask) -> str:
    subject = ask.questions[0].subject
    return subject.code if subject else ask.questions[0].text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "chatbridge.db")) as database:
        database.executescript((RELEASE / "waiting.sql").read_text(encoding="utf-8"))
    return tmp_path


# ── agents that wait ──────────────────────────────────────────────────────────────────────────────


async def shown_everywhere(_ask_id: str) -> Reach:
    return Reach(shown=("telegram",))


def tools_of(hub: World, folder: Path) -> list[ToolHandler]:
    waiting, elicitation = Waiting(hub.broker, shown_everywhere), Elicitation(hub.inbox)
    keeper = JournalKeeper(Journal(folder=".chatbridge/questions", state=folder), hub.store)
    states = States(lambda: b"key")
    return [
        AskUser(waiting, elicitation),
        WaitForAnswer(waiting, RENDERERS),
        AskUserQuestions(waiting, limits=Limits(questions=5, options=5), timeout=None),
        QuestionAsk(waiting, elicitation, keeper, states, elicit="both"),
        ApproveToolUse(waiting, timeout=None),
    ]


class Recorded:
    """A link of 0.1.0 that has lost its hub. It says to the next one what it has said then."""

    def __init__(self, link: Link, lines: bytes) -> None:
        self._link = link
        self.calls: list[Any] = []
        """The ids of those that wait."""
        self.heard: list[Json] = []
        for line in map(json.loads, lines.splitlines()):
            if line.get("method") == "tools/call":
                self.calls.append(line["id"])

    @classmethod
    async def connect(cls, path: Path, name: str) -> Recorded:
        lines = (RELEASE / "links" / f"{name}.jsonl").read_bytes()
        reader, writer = await asyncio.open_unix_connection(str(path))
        writer.write(lines)
        return cls(Link(reader, writer), lines)

    async def response(self, id: object) -> Json:
        """Each comes once."""
        async with asyncio.timeout(PATIENCE):
            while not (found := [it for it in self.heard if self._is_response(it, id)]):
                self.heard.append(await self._link.hear())
        (response,) = found
        return dict(response)

    async def says(self, chatbridge: str) -> Json:
        async with asyncio.timeout(PATIENCE):
            while not (found := [it for it in self.heard if it.get("chatbridge") == chatbridge]):
                self.heard.append(await self._link.hear())
        return dict(found[0])

    def close(self) -> None:
        self._link.close()

    @staticmethod
    def _is_response(message: Json, id: object) -> bool:
        return message.get("id") == id and "method" not in message


@asynccontextmanager
async def taken_over(folder: Path, *names: str) -> AsyncIterator[tuple[World, list[Recorded]]]:
    """A hub of this version, to which links of 0.1.0 have come back, and their open calls."""
    async with world(folder, StillClock(THEN), max_timeout=7200.0) as hub:
        path = folder / "s"
        async with door(hub, path, tools=tools_of(hub, folder)):
            links = [await Recorded.connect(path, name) for name in names]
            try:
                yield hub, links
            finally:
                for link in links:
                    link.close()


def an_answer(ask: Ask) -> tuple[Answer, ...]:
    return tuple(
        Answer(values=(question.choices[-1].label if question.choices else "as you like",))
        for question in ask.questions
    )


async def answered(hub: World, ask: Ask) -> None:
    await (
        allow(hub, ask) if ask.approval else hub.inbox.answer(ask.id, an_answer(ask), person=OWNER)
    )


WAITS: dict[str, dict[str, tuple[object, str]]] = {
    "claude-code": {
        "Which colour?": (1, '"values": ["blue"]'),
        "Which name?": (2, '"values": ["as you like"]'),
        "Which port?": ("three", "User selected: 9090"),
        "Which database?": (4, "→ SQLite"),
        "rm -rf build": (5, '{"behavior": "allow"'),
        '"url": "https://example.org/"': (6, '{"behavior": "allow"'),
        "-x\n+y": (7, '{"behavior": "allow"'),
        "+new": (8, '{"behavior": "allow"'),
        "Which way?": (9, '"answers": {"Which way?": "right"}'),
    },
    "slow": {"Which ticket?": (2, '"values": ["blue"]')},
    "windowed": {"Which approach?": (1, '"answer": "as you like"')},
}


@pytest.mark.parametrize("name", WAITS)
async def test_every_call_that_waits_gets_its_answer_and_is_not_asked_again(
    folder: Path, name: str
) -> None:
    async with taken_over(folder, name) as (hub, (link,)):
        for words, (call, said) in WAITS[name].items():
            (ask,) = [it for it in await hub.store.open_asks() if words in asked(it)]
            await answered(hub, ask)
            response = await link.response(call)
            assert not response["result"].get("isError"), response
            assert said in response["result"]["content"][0]["text"]
        known = [*await hub.store.open_asks(), *await hub.store.history(limit=100)]
    assert len({it.id for it in known}) == 13  # one may have ended in between


async def test_what_was_said_in_a_clients_window_while_no_hub_was_there_is_its_answer(
    folder: Path,
) -> None:
    async with taken_over(folder, "windowed") as (hub, (link,)):
        response = await link.response(2)
        assert response["result"]["structuredContent"]["answers"] == [
            {"questionId": "w", "values": ["that"]}
        ]
        (ask,) = [it for it in await hub.store.history(limit=100) if asked(it) == "Which window?"]
    assert ask.status is Status.ANSWERED


async def test_an_answer_that_reached_its_client_before_the_kill_counts_as_delivered(
    folder: Path,
) -> None:
    async with taken_over(folder, "cursor") as (hub, (link,)):
        assert await link.says("acknowledged") == {"chatbridge": "acknowledged", "request": 1}
        (ask,) = [it for it in await hub.store.history(limit=100) if asked(it) == "Which drink?"]
    assert ask.delivered_at is not None
    assert not ask.kept


# ── cards in the chat ─────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def chat_of(folder: Path) -> AsyncIterator[Telegram]:
    """The next hub's chat, in which the old cards still are."""
    clock = StillClock(THEN)
    policy = Policy(approval_channels=ANYWHERE, nights=Nights(NightPolicy(reminders=())))
    with closing(sqlite3.connect(folder / "chatbridge.db")) as database:
        handles = [handle for (handle,) in database.execute("SELECT handle FROM handles")]
    with BotApi.running(clock=clock) as api:
        ada = api.person("Ada", id=ADA)
        chat = api.private(ada)
        for number in sorted(int(handle.partition(":")[2]) for handle in handles):
            chat.had(number)
        async with running_telegram(
            folder, api=api, clock=clock, chat=chat, phone=chat.phone(ada), policy=policy
        ) as telegram:
            yield telegram


async def pressed(telegram: Telegram, ask: Ask, data: str) -> str:
    """A button of the old card: what it carries after the ask's id."""
    (surface,) = telegram.channel.surfaces
    post = await telegram.desk.inbox.post(ask.id, surface=surface.name)
    assert post is not None
    place = from_text(post.place)
    assert place is not None
    (card,) = [it for it in telegram.phone.messages if str(it.id) == place.root.event]
    short = base64.urlsafe_b64encode(UUID(ask.id).bytes).decode().rstrip("=")
    return await telegram.press(card, f"{short}{data}")


async def test_old_cards_are_edited_their_buttons_work_and_none_is_sent_again(
    folder: Path,
) -> None:
    async with chat_of(folder) as telegram:
        asks = {asked(ask): ask for ask in await telegram.desk.inbox.open_asks()}
        colour, command = asks["Which colour?"], asks["rm -rf build"]
        assert await pressed(telegram, colour, "c0.0.1") == "Sent: blue"
        assert await pressed(telegram, command, "c0.0.0") == "Allowed once."
        for ask, shown in ((colour, "✅ Answered"), (command, "✅ Allowed once")):
            assert shown in (await telegram.current(ask)).text
        assert await telegram.answers(colour) == (Answer(values=("blue",)),)
        assert not telegram.api.calls("sendMessage")


async def test_a_form_goes_on_where_it_was_with_the_old_cards_buttons(folder: Path) -> None:
    async with chat_of(folder) as telegram:
        (form,) = [it for it in await telegram.desk.inbox.open_asks() if it.title == "Release"]
        assert form.draft.entries[0].text == "feat: orders"
        assert form.draft.entries[1].picked == (1,)
        step = form.draft.step
        assert await pressed(telegram, form, f"t1.{step}.2") == ""
        assert await pressed(telegram, form, f"d1.{step}") == ""
        await telegram.step(form, "Yes", "Send answers")
        answers = await telegram.answers(form)
    assert [it.values for it in answers] == [("feat: orders",), ("load", "smoke"), ("yes",)]


# ── what runs ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def state() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="cb-") as folder:
        yield folder


def left_in(state: str, name: str) -> str:
    """A text of the release, as if its state directory had been this one."""
    return (RELEASE / name).read_text(encoding="utf-8").replace(STATE, state)


@asynccontextmanager
async def recorded_runner(state: str) -> AsyncIterator[asyncio.Queue[str]]:
    """It says what 0.1.0's said, each line when it has heard what that had heard before. What else
    it hears is in the queue."""
    script = [line.partition(" ")[::2] for line in left_in(state, "runner.txt").splitlines()]
    unheard = asyncio.Queue[str]()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            for who, line in script:
                if who == "<":
                    writer.write(f"{line}\n".encode())
                elif json.loads(said := await reader.readline() or b"null") != json.loads(line):
                    unheard.put_nowait(f"{said.decode()} and not {line}")
            await reader.read()

    async with await asyncio.start_unix_server(talk, start.socket_path(state)):
        yield unheard


async def test_its_runner_tells_this_hub_what_ended_and_takes_its_orders(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that runs on, and one that ended while no hub was there."""
    monkeypatch.setenv("CHATBRIDGE_RUNTIME_DIR", state)
    outputs, ends = Path(state) / "operations", asyncio.Queue[End]()
    outputs.mkdir(mode=0o700)
    for path in (RELEASE / "operations").iterdir():
        (outputs / path.name).write_text(left_in(state, f"operations/{path.name}"))
    order = Order(
        id="next",
        executable="/bin/sh",
        argv=("sh", "-c", "true"),
        folder="/",
        environment={"PATH": "/usr/bin:/bin"},
        output=str(outputs / "next.txt"),
        limit=10_000,
        timeout=600.0,
    )
    async with recorded_runner(state) as unheard:
        line = RunnerClient(state=state, clock=SystemClock(), outputs=outputs)
        line.ended = ends.put_nowait
        async with asyncio.timeout(PATIENCE), line:
            known = await line.known()
            assert known.keys() == {"long", "done"}
            assert known["long"] is None
            assert (await ends.get()).exit_code == 3
            await line.forget("done")
            await line.start(order)
            assert (await ends.get()).exit_code == 0
            await line.stop("long")
            assert (await ends.get()).how == "stopped"
        assert unheard.empty(), unheard.get_nowait()
    assert (outputs / "long.txt.running").exists()
    assert not (outputs / "done.txt.end").exists()


# ── its configuration ─────────────────────────────────────────────────────────────────────────────


def test_its_configuration_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """`settings.json` is what 0.1.0 has read in a file in which nothing is as without it."""
    for name in [name for name in os.environ if name.startswith("CHATBRIDGE_")]:
        monkeypatch.delenv(name)
    then = json.loads((RELEASE / "settings.json").read_text(encoding="utf-8"))
    now = load(RELEASE / "config.toml")
    assert now.remarks() == []
    found = plain(now.model_dump())
    for key, value in then.items():
        if isinstance(value, dict) and key != "clients":
            assert {name: found[key][name] for name in value} == value
        else:
            assert found[key] == value


def plain(value: Any) -> Any:
    match value:
        case SecretStr():
            return value.get_secret_value()
        case dict():
            return {key: plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value
