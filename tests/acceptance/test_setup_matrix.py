"""`chatbridge setup` for Matrix, against a real homeserver, to an answered test question."""

from __future__ import annotations

import asyncio
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar
from uuid import uuid4

from chatbridge.channels.matrix.spec import account_lock
from chatbridge.hub.process.lock import account_lock_path
from tests.acceptance.wizard import Desk, desk, to_the_end
from tests.fakes.matrix_person import Person
from tests.fakes.matrix_timeline import Message
from tests.fakes.pty_person import DOWN, ENTER, PtyPerson
from tests.fakes.synapse import Account, Synapse

P = ParamSpec("P")
T = TypeVar("T")


async def meanwhile(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """At the terminal, while the person's app goes on."""
    return await asyncio.to_thread(work, *args, **kwargs)


def begin(me: PtyPerson, bot: Account, synapse: Synapse, *, password: bool) -> None:
    me.expect("Where do you want to answer?")
    me.press(DOWN, ENTER)
    me.expect("Matrix needs an account for the bot, apart from your own:", "The bot's user id:")
    me.enter("bot")
    me.expect("Give a full user id, such as @bot:example.org")
    me.press(*"\x7f" * 3)
    me.enter(bot.user_id)
    me.expect("✗ No Matrix server answers for localhost.", "The homeserver's address:")
    me.enter(synapse.address)
    me.expect(f"✓ {synapse.address} answers", "How does the bot log in?")
    me.press(*([] if password else [DOWN]), ENTER)


def forget_bot(bot: Account) -> None:
    Path(account_lock_path(account_lock(bot.user_id).id)).unlink(missing_ok=True)


async def answer_the_test(me: PtyPerson, ada: Person, room: str, bot: str) -> Message:
    def asks(message: Message) -> bool:
        taps = bot in message.reactions.get("❌", ())
        return message.sender == bot and taps and "Can you see this?" in message.body

    await meanwhile(me.expect, "A test question is in the room. Answer it there.")
    card = await ada.sees(asks, room=room)
    await ada.react(room, card.event_id, "👍")
    await meanwhile(me.expect, '✓ You answered "Yes", ', " s after it was sent")
    return card


def kept(here: Desk) -> dict[str, object]:
    return dict(tomllib.loads(here.config.read_text())["matrix"])


async def test_with_a_password_to_an_encrypted_room_of_its_own(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot = await meanwhile(synapse.register, f"bot-{uuid4().hex[:12]}")
    async with Person.online(synapse, "Ada", tmp_path / "ada", encrypted=True) as ada:
        with desk() as here, here.runs("setup") as me:
            await meanwhile(begin, me, bot, synapse, password=True)
            await meanwhile(me.expect, "Password (not shown):")
            me.enter("wrong")
            await meanwhile(me.expect, f"✗ Matrix refused the password of {bot.user_id}.")
            await meanwhile(me.asks, "Password (not shown):")
            me.enter(bot.password)
            await meanwhile(me.expect, "✓ logged in as", "Your own user id:")
            me.enter(bot.user_id)
            await meanwhile(me.expect, "That is the bot. Give your own")
            me.press(*"\x7f" * len(bot.user_id))
            me.enter(ada.user_id)
            await meanwhile(me.expect, "Encrypt the new room?")
            me.press(ENTER)
            await meanwhile(me.expect, "✓ room created", "accept the invitation in your app")
            room = await ada.sees_invite()
            await ada.join(room)
            await meanwhile(me.expect, f"✓ {ada.user_id} is in the room")
            await answer_the_test(me, ada, room, bot.user_id)
            await meanwhile(to_the_end, me)
            assert kept(here) == {
                "homeserver": synapse.address,
                "user_id": bot.user_id,
                "room_id": [room],
                "allowed_users": [ada.user_id],
            }
            secret = here.config.parent / "secrets" / "chatbridge_matrix__access_token"
            assert stat.S_IMODE(secret.stat().st_mode) == 0o600
            token = secret.read_text().strip()
            for word in (bot.password, token):
                assert word not in me.written.decode(errors="replace")
                holding = [
                    it
                    for it in here.folder.rglob("*")
                    if it.is_file() and word.encode() in it.read_bytes()
                ]
                assert holding == ([secret] if word == token else [])
            for path, mode in here.modes().items():
                assert mode & 0o077 == 0, f"{path} has mode {mode:04o}"
            assert ada.state(room, "m.room.encryption", "") is not None
    forget_bot(bot)


async def test_with_a_token_to_a_room_that_the_bot_was_invited_to(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot = await meanwhile(synapse.register, f"bot-{uuid4().hex[:12]}")
    login = await meanwhile(synapse.log_in, bot)
    async with Person.online(synapse, "Ada", tmp_path / "ada") as ada:
        room = await ada.create_room("agents", invite=[bot.user_id])
        with desk() as here, here.runs("setup") as me:
            await meanwhile(begin, me, bot, synapse, password=False)
            await meanwhile(me.expect, "Token (not shown):")
            me.paste(login.access_token)
            me.press(ENTER)
            await meanwhile(me.expect, "Your own user id:")
            me.enter(ada.user_id)
            await meanwhile(me.expect, "Which room?", "❯ A new one", "invited by @ada", room)
            me.press(DOWN, ENTER)
            await answer_the_test(me, ada, room, bot.user_id)
            await meanwhile(to_the_end, me)
            assert kept(here)["room_id"] == [room]
    forget_bot(bot)
