"""What a person does with a long card is worked out beside the event loop, not in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.channels.chat.card_messages import CardMessages, Part, to_text
from chatbridge.channels.chat.people import Allowlist
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.events import RoomEvent
from chatbridge.channels.matrix.inbound.dispatch import Receiver
from chatbridge.channels.matrix.outbound.chat import Chat
from chatbridge.channels.matrix.outbound.visibility import OwnEvents
from chatbridge.channels.matrix.render.card import MATRIX
from chatbridge.core.cards.build import build_card
from chatbridge.core.forms.typed_input import interpret, interpret_beside_buttons
from chatbridge.core.model import Post, Status, View
from tests.fakes.inbox import COMMAND, SELECT
from tests.fakes.loop_watch import calls_in_this_thread
from tests.fakes.telegram_desk import Telegram
from tests.matrix_drawings import pages_of
from tests.telegram_drawings import overflow

LONG = "x" * (MATRIX.code + 1)
assert COMMAND.subject
LONG_COMMAND = replace(COMMAND, subject=replace(COMMAND.subject, code=LONG))
LONG_SELECT = replace(SELECT, text=f"Which database? {LONG}")
BOT, ADA, ROOM = "@bot:test", "@ada:test", "!room:test"
DRAWING = (build_card, overflow, pages_of, interpret, interpret_beside_buttons)


async def test_a_long_approval_is_allowed_on_telegram_without_drawing_it_in_the_loop(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(LONG_COMMAND)
    card = await telegram.current(ask)
    telegram.clock.advance(60)
    with calls_in_this_thread(*DRAWING) as called:
        assert await telegram.tap(card, "Allow once") == "Allowed once."
        await telegram.current(ask)
    assert called == []


async def test_a_long_question_is_answered_on_telegram_without_drawing_it_in_the_loop(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(LONG_SELECT)
    card = await telegram.current(ask)
    with calls_in_this_thread(*DRAWING) as called:
        assert await telegram.tap(card, "2 ·") == "Sent: SQLite"
        await telegram.current(ask)
    assert called == []


async def test_what_is_typed_to_a_long_question_is_not_compared_with_its_options_in_the_loop(
    telegram: Telegram,
) -> None:
    ask = await telegram.desk.ask(LONG_SELECT)
    card = await telegram.current(ask)
    with calls_in_this_thread(*DRAWING) as called:
        await telegram.say("SQLite", reply_to=card)
    assert (await telegram.now(ask)).status is Status.ANSWERED
    assert called == []


@pytest.mark.parametrize("said", ["allow", "👍"])
async def test_matrix_refuses_a_long_approval_that_is_not_all_out_without_drawing_it_in_the_loop(
    telegram: Telegram, said: str
) -> None:
    inbox, clock = telegram.desk.inbox, telegram.clock
    ask = await telegram.desk.ask(LONG_COMMAND)
    api = Api("https://matrix.test", BOT, hint="config.toml")
    own_events, people = OwnEvents(), Allowlist("matrix", [ADA], bot=BOT, clock=clock)
    chat = Chat(api, ROOM, people=people, own_events=own_events, clock=clock, reactions=True)
    chat.attach(inbox)
    root = Part(event="$card", step=0, view=View.QUESTION, at=0, shows="")
    place = to_text(CardMessages(room=ROOM, parts=(root,)))
    post = Post(ask_id=ask.id, surface=chat.name, place=place, revision=0)
    await inbox.adopt(post, over=None, handles=(root.event,))
    told: list[None] = []

    async def replaced(chat: Chat, event: RoomEvent) -> None:
        raise AssertionError

    receiver = Receiver(
        api,
        inbox,
        chats=[chat],
        people=people,
        own_events=own_events,
        clock=clock,
        spawn=lambda work: told.append(work.close()),
        reactions=True,
        replaced=replaced,
    )
    reply = {"m.in_reply_to": {"event_id": root.event}}
    reaction = {"rel_type": "m.annotation", "event_id": root.event, "key": said}
    event = RoomEvent(
        id="$said",
        room=ROOM,
        sender=ADA,
        type="m.room.message" if said == "allow" else "m.reaction",
        content={
            "msgtype": "m.text",
            "body": said,
            "m.relates_to": reply if said == "allow" else reaction,
        },
        at=clock.time(),
    )
    with calls_in_this_thread(*DRAWING) as called:
        await receiver.take(event, None)
    assert called == []
    assert len(told) == 1
    assert (await telegram.now(ask)).open
    await api.close()
