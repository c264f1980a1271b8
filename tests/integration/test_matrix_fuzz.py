"""Replies, reactions, edits and messages of any content: no fault inside, no effect of those of a
stranger, and what a person says afterwards still counts."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.fakes.fault_watch import faults, tried
from tests.fakes.inbox import MULTI, SELECT
from tests.fakes.matrix_desk import Matrix, running_matrix
from tests.fakes.matrix_person import Person
from tests.fakes.synapse import Refused, Synapse

Event = dict[str, Any]

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(max_size=10)
    | st.sampled_from(["\ud800", "1", "2️⃣", "✅", "👍", "CARD", "$none", "$/../../x?a=b#c", "@room"])
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=5,
)
targets = st.sampled_from(["CARD", "$none", "$/../../x?a=b#c", "$" + "x" * 300]) | anything
relations = st.fixed_dictionaries(
    {},
    optional={
        "rel_type": st.sampled_from(["m.annotation", "m.thread", "m.replace"]) | anything,
        "event_id": targets,
        "key": st.sampled_from(["2️⃣", "✅", "❌"]) | anything,
        "m.in_reply_to": st.fixed_dictionaries({"event_id": targets}) | anything,
        "is_falling_back": anything,
    },
)
bodies = st.sampled_from(["2", "cancel", "+15", "!discard", "> <@a:b> x\n> y\n\n2", "> <@" * 2000])
addresses = st.sampled_from(["mxc://localhost/none", "mxc://../..", "file:///etc/passwd"])
events = st.tuples(
    st.sampled_from(["m.room.message", "m.reaction", "m.room.encrypted", "m.sticker", "x.y"]),
    st.fixed_dictionaries(
        {},
        optional={
            "msgtype": st.sampled_from(["m.text", "m.notice", "m.image", "m.audio"]) | anything,
            "body": bodies | anything,
            "m.relates_to": relations | anything,
            "m.new_content": anything,
            "url": addresses | anything,
            "file": st.fixed_dictionaries({"url": addresses, "v": st.just("v2")}) | anything,
            "info": st.fixed_dictionaries({"size": anything}) | anything,
            "filename": anything,
            "chatbridge.card": anything,
            "chatbridge.offer": anything,
            "format": anything,
            "formatted_body": anything,
        },
    ),
)


def pointed(value: Any, card: str) -> Any:
    """The content with the card's own id where it says so."""
    if isinstance(value, dict):
        return {key: pointed(each, card) for key, each in value.items()}
    if isinstance(value, list):
        return [pointed(each, card) for each in value]
    return card if value == "CARD" else value


async def sent_by(person: Person, room: str, card: str) -> int:
    """Sends many such events; how many of them the server has taken."""
    taken = 0

    async def send(event: tuple[str, Event]) -> None:
        nonlocal taken
        kind, content = event
        with suppress(Refused, AssertionError, ValueError):  # no server takes such a thing
            sent = await person.send_raw(room, kind, pointed(content, card))
            taken += 1
            if kind == "m.room.message":
                await person.edit(room, sent, "2")
            else:
                await person.redact(room, sent)

    await tried(events, send, examples=12)
    return taken


async def test_nothing_that_a_person_sends_breaks_the_channel(
    synapse: Synapse, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # A server checks what it can read: here it cannot.
    async with running_matrix(tmp_path, synapse, encrypted=True) as matrix:
        card = (await matrix.place(await matrix.desk.ask(MULTI))).root.event
        assert await sent_by(matrix.ada, matrix.room, card) > 3
        await matrix.dealt_with()
        await counts(matrix)
        assert faults(caplog) == []
        assert matrix.channel.trouble is None


async def counts(matrix: Matrix) -> None:
    """A question is asked, and answered by a tap."""
    ask = await matrix.desk.ask(SELECT)
    await matrix.ada.react(matrix.room, (await matrix.place(ask)).root.event, "2️⃣")
    await matrix.dealt_with()
    assert [answer.values for answer in await matrix.answers(ask)] == [("SQLite",)]


async def sent_by_the_bot(matrix: Matrix) -> int:
    """How many events the bot has sent."""
    await matrix.settled()
    sent = matrix.ada.events(matrix.room)
    return sum(event["sender"] == matrix.bot.user_id for event in sent)


async def test_nothing_that_a_stranger_sends_is_answered_or_has_an_effect(
    synapse: Synapse, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        Person.online(synapse, "Eve", tmp_path / "eve") as eve,
        running_matrix(tmp_path, synapse) as matrix,
    ):
        await matrix.ada.invite(matrix.room, eve.user_id)
        await eve.join(matrix.room)
        ask = await matrix.desk.ask(MULTI)
        card = (await matrix.place(ask)).root.event
        await matrix.dealt_with()
        before, said = await matrix.now(ask), await sent_by_the_bot(matrix)
        assert await sent_by(eve, matrix.room, card) > 3
        await matrix.dealt_with()
        assert await matrix.now(ask) == before
        assert await sent_by_the_bot(matrix) == said
        assert faults(caplog) == []
        await counts(matrix)
