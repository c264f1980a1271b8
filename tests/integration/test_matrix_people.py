"""Who may answer in a Matrix room, and what everybody else gets: nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.model import Status
from chatbridge.core.ports import Remark
from tests.fakes.inbox import CONFIRM, MULTI, SELECT, TEXT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.matrix_person import Person
from tests.fakes.synapse import Synapse
from tests.matrix_asks import html_text, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """A room of Ada and Bob, who may answer, and Eve, who may not, but may remove messages."""

    matrix: Matrix
    bob: Person
    eve: Person

    @property
    def ada(self) -> Person:
        return self.matrix.ada

    @property
    def room(self) -> str:
        return self.matrix.room


@pytest.fixture
async def team(synapse: Synapse, tmp_path: Path) -> AsyncIterator[Team]:
    async with (
        Person.online(synapse, "Ada", tmp_path / "ada") as ada,
        Person.online(synapse, "Bob", tmp_path / "bob") as bob,
        Person.online(synapse, "Eve", tmp_path / "eve") as eve,
    ):
        account = await asyncio.to_thread(synapse.register, "bot")
        bot = await asyncio.to_thread(synapse.log_in, account)
        invited = [bob.user_id, eve.user_id, bot.user_id]
        room = await ada.create_room("team", invite=invited)
        await ada.set_power(room, eve.user_id, 50)
        await bob.join(room)
        await eve.join(room)
        allowed = [ada.user_id, bob.user_id]
        async with running_matrix(
            tmp_path, synapse, ada=ada, bot=bot, room=room, allowed=allowed
        ) as matrix:
            yield Team(matrix=matrix, bob=bob, eve=eve)


async def said_after_all(team: Team) -> list[str]:
    """What the bot has said by the time that it has answered something of Ada's."""
    matrix = team.matrix
    ask = await matrix.desk.ask(SELECT)
    await matrix.card(ask)
    await matrix.say(ask, "9")
    await matrix.told("There is no option 9.")
    return [plain(text) for text in matrix.said()[:-2]]


# ── several who may ───────────────────────────────────────────────────────────────────────────────


async def test_of_two_the_first_answer_wins_and_the_summary_says_whose_it_was(team: Team) -> None:
    matrix = team.matrix
    ask = await matrix.desk.ask(SELECT)
    card = await matrix.card(ask)
    assert card.mentions == tuple(sorted([team.ada.user_id, team.bob.user_id]))
    await team.bob.react(team.room, card.event_id, "2️⃣")
    await team.ada.react(team.room, card.event_id, "1️⃣")
    await matrix.dealt_with()
    assert [answer.values for answer in await matrix.answers(ask)] == [("SQLite",)]
    at = clock_time(matrix.clock.time())
    assert f"Bob answered, {at} · on its way" in plain((await matrix.root(ask)).body)
    await matrix.told(f"Already answered at {at}.")


async def test_a_form_and_a_choice_of_several_can_be_made_by_two(team: Team) -> None:
    matrix = team.matrix
    ask = await matrix.desk.ask(CONFIRM, MULTI)
    await matrix.tap(ask, "👍")
    card = (await matrix.card(ask)).event_id
    of_bob = await team.bob.react(team.room, card, "1️⃣")
    of_ada = await team.ada.react(team.room, card, "1️⃣")
    await team.bob.react(team.room, card, "3️⃣")
    await matrix.dealt_with()
    await team.bob.redact(team.room, of_bob)  # Ada still wants it
    await matrix.dealt_with()
    await team.eve.redact(team.room, of_ada)  # who is not asked
    await matrix.dealt_with()
    await matrix.tap(ask, "✅")
    review = await matrix.card(ask)
    assert "Unit tests, Load test" in plain(review.body)
    await team.bob.react(team.room, review.event_id, "✅")
    await matrix.dealt_with()
    found = [answer.values for answer in await matrix.answers(ask)]
    assert found == [("yes",), ("Unit tests", "Load test")]
    await matrix.root(ask)
    key = f"picks:{matrix.channel.surfaces[0].name}:{ask.id}"
    assert await matrix.desk.inbox.note("matrix", key) is None  # nothing of it is kept


# ── strangers ─────────────────────────────────────────────────────────────────────────────────────


async def test_nothing_that_a_stranger_does_counts_or_is_answered(
    team: Team, caplog: pytest.LogCaptureFixture
) -> None:
    matrix, eve, room = team.matrix, team.eve, team.room
    choice, text = await matrix.desk.ask(SELECT), await matrix.desk.ask(TEXT)
    before = [await matrix.card(choice), await matrix.card(text)]
    for card in before:
        for emoji in ("1️⃣", "👍", "✅", "❌", "⏭️"):
            await eve.react(room, card.event_id, emoji)
        for words in ("1", "+15", "cancel", "My own words"):
            await eve.reply(room, words, to=card.event_id)
            await eve.in_thread(room, words, root=card.event_id)
    for words in ("help", "!help", "1", "PostgreSQL in Docker"):
        await eve.say(room, words)
    await eve.send_raw(room, "m.room.encrypted", {"algorithm": "m.megolm.v1.aes-sha2"})
    await eve.set_state(room, "m.room.topic", {"topic": "Answer 1"})
    await matrix.dealt_with()
    for ask in (choice, text):
        now = await matrix.now(ask)
        assert (now.status, now.draft, now.deadline) == (Status.OPEN, ask.draft, ask.deadline)
    assert len(await said_after_all(team)) == len(before)
    lines = [it.getMessage() for it in caplog.records if eve.user_id in it.getMessage()]
    assert lines == [
        f"matrix: the person {eve.user_id} is not in matrix.allowed_users and was ignored"
    ]


async def test_a_card_that_a_stranger_removed_can_still_be_answered(team: Team) -> None:
    matrix = team.matrix
    ask = await matrix.desk.ask(SELECT)
    card = await matrix.card(ask)
    await team.eve.redact(team.room, card.event_id)
    await matrix.dealt_with()
    assert (await matrix.now(ask)).revision == ask.revision  # it is not posted anew, for ever
    await team.ada.reply(team.room, "2", to=card.event_id)
    await matrix.dealt_with()
    assert [answer.values for answer in await matrix.answers(ask)] == [("SQLite",)]


async def test_the_remarks_name_the_number_of_strangers_as_long_as_there_are_any(
    team: Team,
) -> None:
    matrix = team.matrix
    mallory = "@mallory:localhost"
    assert matrix.channel.remarks == [
        f"Strangers are in the Matrix room {team.room}: 1. They cannot answer, but they can read. "
        "Use a private room."
    ]
    await team.ada.invite(team.room, mallory)  # who can read from now on
    await matrix.dealt_with()
    assert f"{team.room}: 2. They" in matrix.channel.remarks[0]
    await team.ada.kick(team.room, mallory)
    await team.eve.leave(team.room)
    await matrix.dealt_with()
    assert matrix.channel.remarks == []


# ── nobody ────────────────────────────────────────────────────────────────────────────────────────


async def test_with_an_empty_list_nobody_can_answer_and_the_trouble_says_so(
    synapse: Synapse, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_matrix(tmp_path, synapse, allowed=[]) as matrix:
        ask = await matrix.desk.ask(SELECT)
        card = await matrix.card(ask)
        assert card.mentions == ()
        await matrix.ada.react(matrix.room, card.event_id, "1️⃣")
        await matrix.say(ask, "2")
        await matrix.ada.say(matrix.room, "help")
        await matrix.dealt_with()
        assert (await matrix.now(ask)).open
        trouble = "matrix.allowed_users is empty, so nobody can answer there. Write to the bot"
        assert trouble in (matrix.channel.trouble or "")
        assert f"the person {matrix.ada.user_id} is not in" in caplog.text
        await matrix.channel.tell(Remark(text=trouble))
        await matrix.told(trouble)
        assert len(matrix.said()) == 2


async def test_the_bots_own_account_on_the_list_gives_it_no_voice_and_no_room(
    synapse: Synapse, tmp_path: Path
) -> None:
    async with Person.online(synapse, "Ada", tmp_path / "ada") as ada:
        account = await asyncio.to_thread(synapse.register, "bot")
        bot = await asyncio.to_thread(synapse.log_in, account)
        room = await ada.create_room("questions", invite=[bot.user_id])
        async with running_matrix(
            tmp_path,
            synapse,
            ada=ada,
            bot=bot,
            room=room,
            rooms=[],
            allowed=[ada.user_id, bot.user_id],
        ) as matrix:
            assert [surface.name for surface in matrix.channel.surfaces] == [
                f"matrix:{ada.user_id}"
            ]
            ask = await matrix.desk.ask(TEXT)
            card = await matrix.card(ask)
            assert card.mentions == (ada.user_id,)
            await matrix.dealt_with()
            assert (await matrix.now(ask)).draft == ask.draft  # its own seeds are no taps
            await matrix.say(ask, "Fix the port")
            assert "You answered here, " in (await matrix.root(ask)).body
            assert matrix.channel.trouble is None
            await matrix.channel.tell(Remark(text="Look here"))
            await matrix.told("Look here")
            assert len(matrix.said()) == 2
            await matrix.channel.tell(Remark(text="Look here"))  # it is so again
            await matrix.until(lambda: len(matrix.said()) == 3)


# ── names ─────────────────────────────────────────────────────────────────────────────────────────

TRICKY = "\u202eada\u2066 <b>@room</b>\n✅ Sent " + "x" * 180


async def test_a_name_can_neither_forge_a_line_nor_be_taken_for_somebody_elses(
    team: Team,
) -> None:
    matrix = team.matrix

    async def call(person: Person, name: str) -> None:
        member = {"membership": "join", "displayname": name}
        await person.set_state(team.room, "m.room.member", member, key=person.user_id)

    async def summary_of(person: Person) -> str:
        ask = await matrix.desk.ask(SELECT)
        card = await matrix.card(ask)
        await person.react(team.room, card.event_id, "2️⃣")
        await matrix.dealt_with()
        ended = await matrix.root(ask)
        assert ended.html is not None
        assert html_text(ended.html)  # nothing in it but what we draw
        assert ended.content["m.mentions"] == {}
        return ended.body.split("\n")[-1]

    await call(team.bob, TRICKY)
    await matrix.dealt_with()
    line = await summary_of(team.bob)
    assert line.startswith("\u2068⟨U+202E⟩ada⟨U+2066⟩ <b>@room</b> ✅ Sen")
    at = clock_time(matrix.clock.time())
    assert line.endswith(f"…\u2069 answered, {at} · on its way")
    assert len(line) < 80

    name = team.ada.state(team.room, "m.room.member", team.ada.user_id)
    assert name is not None
    await call(team.eve, name["displayname"])
    await call(team.bob, name["displayname"])
    await matrix.dealt_with()
    assert team.bob.user_id in await summary_of(team.bob)
    assert team.ada.user_id in await summary_of(team.ada)
