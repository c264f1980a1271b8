"""`chatbridge setup` for Discord, against the pretended one, to an answered test question."""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from chatbridge.channels.discord.spec import account_lock
from chatbridge.hub.process.lock import account_lock_path
from tests.acceptance.wizard import desk
from tests.fakes.clock import StillClock
from tests.fakes.discord.server import Discord, answered
from tests.fakes.pty_person import DOWN, ENTER, PtyPerson

P = ParamSpec("P")
T = TypeVar("T")


async def meanwhile(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """At the terminal, while Discord goes on."""
    return await asyncio.to_thread(work, *args, **kwargs)


def to_the_invitation(me: PtyPerson, discord: Discord) -> None:
    me.expect("Where do you want to answer?")
    me.press(DOWN, DOWN, DOWN, ENTER)
    me.expect("Discord needs a bot of your own:", "Paste the token (not shown):")
    me.enter("123456:ABC")
    me.expect("this is no bot's token")
    me.enter(discord.token)
    me.expect("✓ chatbridge answers", "permissions=0", "waiting for the bot to be on a server")


def to_the_end(me: PtyPerson) -> None:
    me.expect("How long may an agent wait for you?")
    me.press(ENTER)
    me.expect("done. Now try:")
    me.ends(0)


def forget_bot(discord: Discord) -> None:
    Path(account_lock_path(account_lock(discord.world.bot.id).id)).unlink(missing_ok=True)


async def test_from_nothing_to_an_answered_question() -> None:
    async with Discord.running(StillClock()) as discord:
        ada = discord.world.owner = discord.world.user("Ada")
        discord.world.on_server = False
        room = discord.world.direct(ada)
        with desk(CHATBRIDGE_DISCORD__API_BASE=discord.address) as here:
            with here.runs("setup") as me:
                await meanwhile(to_the_invitation, me, discord)
                discord.world.on_server = True
                await meanwhile(me.expect, "Are you Ada, whose bot it is?")
                me.press(ENTER)
                sent = await discord.sees(room, "your code is")
                found = re.search(r"code is (\d{6})", sent.text)
                assert found
                wrong = f"{(int(found[1]) + 1) % 1_000_000:06}"
                await meanwhile(me.expect, "The code that the bot has sent you in Discord:")
                me.enter(wrong)
                await meanwhile(me.expect, "That is another code.")
                me.enter(found[1])
                await meanwhile(me.expect, "paired with Ada", "A test question is in Discord")
                card = await discord.sees(room, "Can you see this?")
                await answered(discord.tap(ada, card, card.key("Yes")["custom_id"]))
                await meanwhile(to_the_end, me)
            assert discord.token not in me.screen
            forget_bot(discord)
            written = tomllib.loads(here.config.read_text())
            assert written["discord"]["allowed_users"] == [int(ada.id)]
            assert discord.token not in here.config.read_text()
