"""Telegram's part of `chatbridge setup`: a bot of one's own, and who may answer."""

from __future__ import annotations

import re
from functools import partial

from chatbridge.channels.telegram.doctor import CHECK
from chatbridge.channels.telegram.settings import Telegram
from chatbridge.channels.telegram.spec import TELEGRAM
from chatbridge.cli.setup.bots import BotSetup, Mendable, Token
from chatbridge.core.errors import ChatbridgeError, RetryLater

TOKEN = re.compile(r"(?<![0-9])[0-9]{5,16}:[A-Za-z0-9_-]{30,}(?![A-Za-z0-9_-])")
USUAL = re.compile(r"(?<![0-9])[0-9]{8,16}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])")
"""As they have always been; nobody has promised that they stay so."""
ABOUT = """\
Telegram needs a bot of your own:
  1. In Telegram, open a chat with @BotFather and send  /newbot
  2. Give it a name, then a user name that ends in "bot"
  3. Copy the token it answers with (it looks like 123456:ABC-DEF…)
     Is it on your phone? Use Telegram Desktop, or send it to yourself.
"""
AGAIN = "Copy it again from @BotFather, from the digits to the last letter."
WEBHOOK = "This bot has a webhook, so its messages go elsewhere."


def token_in(text: str) -> str | None:
    """The token in what was pasted: alone, with spaces in it, or the whole message of BotFather."""
    together = "".join(text.split())
    found = (
        set(USUAL.findall(text))
        or ({together} if TOKEN.fullmatch(together) else set())
        or set(TOKEN.findall(text))
    )
    return found.pop() if len(found) == 1 else None


async def look(table: Telegram) -> str:
    async with CHECK.open(table) as api:
        me = await api.me()
        if await api.webhook():
            mend = partial(_remove_webhook, table)
            raise Mendable(WEBHOOK, question="Remove it?", mend=mend)
    return f"@{me.name}"


async def _remove_webhook(table: Telegram) -> None:
    async with CHECK.open(table) as api:
        try:
            await api.me()
            await api.delete_webhook()
        except RetryLater as error:
            raise ChatbridgeError(f"{error}. Run this again: chatbridge setup") from None


SETUP = BotSetup(
    spec=TELEGRAM,
    about=ABOUT,
    tokens=[Token(setting="token", find=token_in, look=look, again=AGAIN)],
    paired="phone",
)
ask, plan = SETUP.ask, SETUP.plan
