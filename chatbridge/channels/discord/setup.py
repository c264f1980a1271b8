"""Discord's part of `chatbridge setup`: a bot of one's own, on a server of one's own, and who may
answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from chatbridge.channels.discord.doctor import CHECK
from chatbridge.channels.discord.settings import FORM, Discord
from chatbridge.channels.discord.spec import DISCORD
from chatbridge.cli.setup.bots import BotSetup, Token, only
from chatbridge.cli.ui import prompts
from chatbridge.core.errors import RetryLater

ABOUT = """\
Discord needs a bot of your own:
  1. Open  https://discord.com/developers/applications  and choose New Application
  2. Under Bot, choose Reset Token and copy it. No privileged intent is needed
"""
AGAIN = "Copy it again from the Developer Portal, under Bot, Reset Token."
VIEW_CHANNEL, SEND_MESSAGES, ATTACH_FILES, READ_HISTORY = 1 << 10, 1 << 11, 1 << 15, 1 << 16
LOOK_EVERY = 2.0


def invitation(application: str, *, channel: bool) -> str:
    """Direct messages need no permission at all."""
    needed = VIEW_CHANNEL | SEND_MESSAGES | ATTACH_FILES | READ_HISTORY if channel else 0
    return (
        f"https://discord.com/oauth2/authorize?client_id={application}"
        f"&scope=bot+applications.commands&permissions={needed}"
    )


def invite(table: Discord) -> bool:
    """Until the bot is on a server; False: the person does it later."""
    if asyncio.run(_servers(table)):
        return True
    prompts.explain("\nInvite the bot to a server of yours, also an empty one:")
    prompts.say(f"  {asyncio.run(_link(table))}")
    with prompts.keys():
        prompts.say_with_later("  … waiting for the bot to be on a server")
        while prompts.key(LOOK_EVERY) != prompts.ESCAPE:
            with suppress(RetryLater):
                if asyncio.run(_servers(table)):
                    prompts.good("the bot is on a server")
                    return True
    return False


async def _servers(table: Discord) -> int:
    async with CHECK.open(table) as api:
        return await api.servers()


async def _link(table: Discord) -> str:
    async with CHECK.open(table) as api:
        return invitation((await api.me()).application, channel=bool(table.channel_id))


SETUP = BotSetup(
    spec=DISCORD,
    about=ABOUT,
    tokens=[Token(setting="token", find=only(FORM), look=CHECK.name, again=AGAIN)],
    before_pairing=invite,
)
ask, plan = SETUP.ask, SETUP.plan
