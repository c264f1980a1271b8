"""`chatbridge setup` for Discord, against the pretended one, to an answered test question."""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from chatbridge.channels.discord.spec import account_lock
from tests.acceptance.wizard import choose, desk, forget, to_the_end
from tests.fakes.clock import StillClock
from tests.fakes.discord.server import Discord, answered
from tests.fakes.pty_person import ENTER, PtyPerson

P = ParamSpec("P")
T = TypeVar("T")


async def meanwhile(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """At the terminal, while Discord goes on."""
    return await asyncio.to_thread(work, *args, **kwargs)


def to_the_invitation(me: PtyPerson, discord: Discord) -> None:
    choose(me, "Discord")
    me.expect("Discord needs a bot of your own:", "Paste the token (not shown):")
    me.enter("123456:ABC")
    me.expect("That contains no token.", "Copy it again from the Developer Portal")
    me.enter(f"{discord.token[:-1]}x")
    me.expect("Discord does not know this token.")
    discord.fault("GET /api/v10/users/@me", status=503)
    me.enter(f"Token: {discord.token}")
    me.expect("✗ 127.0.0.1 cannot be reached.", "then press Enter to try again.")
    me.press(ENTER)
    me.expect("✓ chatbridge answers", "permissions=0", "waiting for the bot to be on a server")


async def test_from_nothing_to_an_answered_question() -> None:
    async with Discord.running(StillClock()) as discord:
        ada, eve = discord.world.user("Ada"), discord.world.user("Eve")
        discord.world.on_server = False
        room = discord.world.direct(ada)
        with desk(CHATBRIDGE_DISCORD__API_BASE=discord.address) as here:
            with here.runs("setup") as me:
                await meanwhile(to_the_invitation, me, discord)
                discord.world.on_server = True
                await meanwhile(me.expect, "then send")
                assert "✓ the bot is on a server" in me.scrolled
                code = re.search(r"then send +(p_\w{8})", me.screen)
                assert code
                discord.say(eve, discord.world.direct(eve), f"{code[1]}x")  # a guess
                discord.say(ada, room, code[1])
                await meanwhile(me.expect, "The code was sent by Ada", "Is that you?")
                me.enter("y")
                await meanwhile(me.expect, "paired with Ada", "A test question is in Discord")
                card = await discord.sees(room, "Can you see this?")
                await answered(discord.tap(ada, card, card.key("Yes")["custom_id"]))
                await meanwhile(to_the_end, me)
            assert discord.token not in me.screen
            forget(account_lock(discord.world.bot.id))
            written = tomllib.loads(here.config.read_text())
            assert written["discord"]["allowed_users"] == [int(ada.id)]
            assert discord.token not in here.config.read_text()
            assert not [m for m in discord.world.direct(eve).messages.values() if m.author.bot]
