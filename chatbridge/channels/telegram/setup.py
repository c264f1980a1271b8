"""Telegram's part of `chatbridge setup`: a bot of one's own, and who may answer."""

from __future__ import annotations

import argparse
import asyncio
import re
from functools import partial
from urllib.parse import urlsplit

from pydantic import ValidationError

from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.settings import Telegram
from chatbridge.channels.telegram.spec import TELEGRAM
from chatbridge.cli.hub.control import restart_hub
from chatbridge.cli.people import listed_names, pair
from chatbridge.cli.setup.state import (
    Setup,
    Work,
    add_people,
    ask_on_the_phone,
    first_problem,
    keep_token,
    name_of,
    read_secret,
)
from chatbridge.cli.ui import prompts
from chatbridge.cli.ui.running import WrongUsage
from chatbridge.core.errors import ChatbridgeError, RetryLater, TokenRejected

TOKEN = re.compile(r"(?<![0-9])[0-9]{5,16}:[A-Za-z0-9_-]{30,}(?![A-Za-z0-9_-])")
USUAL = re.compile(r"(?<![0-9])[0-9]{8,16}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])")
"""As they have always been; nobody has promised that they stay so."""
BOT_FATHER = """\
Telegram needs a bot of your own:
  1. In Telegram, open a chat with @BotFather and send  /newbot
  2. Give it a name, then a user name that ends in "bot"
  3. Copy the token it answers with (it looks like 123456:ABC-DEF…)
     Is it on your phone? Use Telegram Desktop, or send it to yourself.
"""
UNKNOWN = "Telegram does not know this token."
AGAIN = "Copy it again from @BotFather, from the digits to the last letter."
WEBHOOK = "This bot has a webhook, so its messages go elsewhere."


def ask(setup: Setup) -> None:
    """Go to a paired phone and an answered question, or as far as the person wants."""
    now = setup.settings.table(TELEGRAM)
    name = check(now.token.get_secret_value(), now.api_base) if now.token else None
    if name is None or not prompts.confirm(f"Keep the bot @{name}?", default=True):
        prompts.explain(BOT_FATHER)
        keep_token(setup, TELEGRAM, _asked(now.api_base))
    elif now.allowed_users:
        prompts.say(f"  Paired: {listed_names(TELEGRAM, now)}")
        if not prompts.confirm("Pair another phone?", default=False):
            if prompts.confirm("Send a test question?", default=True):
                restart_hub()
                ask_on_the_phone(TELEGRAM)
            return
    restart_hub()
    prompts.explain("\nNow pair your phone. Scan this, then press Start in Telegram.")
    if pair(
        TELEGRAM, question="Is that you?", written=lambda it: setup.keeps(f"the phone of {it}")
    ):
        ask_on_the_phone(TELEGRAM)
    else:
        prompts.say("  To do it later: chatbridge pair")


def plan(setup: Setup, given: argparse.Namespace) -> list[Work]:
    people, chats = given.telegram_user, given.telegram_chat
    if given.telegram_token_file is None and not (people or chats):
        return []
    token = _token_in_file(setup, given.telegram_token_file)
    try:
        # In the file's own form: numbers, and each once.
        new = Telegram.model_validate({"allowed_users": people, "chat_id": chats})
    except ValidationError as error:
        raise WrongUsage(f"--telegram-user, --telegram-chat: {first_problem(error)}") from None

    def work() -> None:
        if token is not None:
            keep_token(setup, TELEGRAM, token)
        add_people(setup, TELEGRAM, new.allowed_users, new.chat_id)

    return [work]


def _token_in_file(setup: Setup, file: str | None) -> str | None:
    now = setup.settings.table(TELEGRAM)
    if file is None:
        if now.token is None:
            raise WrongUsage("there is no bot yet: --telegram-token-file FILE is needed, too")
        return None
    token = token_in(read_secret(file))
    if token is None:
        raise ChatbridgeError(f"There is no bot token in {name_of(file)}. {AGAIN}")
    try:
        _, webhook = asyncio.run(look(token, now.api_base))
    except TokenRejected:
        raise ChatbridgeError(f"{UNKNOWN} {AGAIN}") from None
    except RetryLater as error:
        raise ChatbridgeError(f"{error}. Nothing was written") from None
    if webhook:
        raise ChatbridgeError(f"{WEBHOOK} Run chatbridge setup in a terminal to remove it")
    return token


def token_in(text: str) -> str | None:
    """The token in what was pasted: alone, with spaces in it, or the whole message of BotFather."""
    together = "".join(text.split())
    found = (
        set(USUAL.findall(text))
        or ({together} if TOKEN.fullmatch(together) else set())
        or set(TOKEN.findall(text))
    )
    return found.pop() if len(found) == 1 else None


# ── asking Telegram ───────────────────────────────────────────────────────────────────────────────


def _asked(base: str) -> str:
    while True:
        token = token_in(prompts.hidden("Paste the token (not shown):"))
        if token is None:
            prompts.bad("That contains no token.", AGAIN)
            continue
        prompts.forget_typed()
        if check(token, base) is not None:
            return token


def check(token: str, base: str) -> str | None:
    """The bot's name if it answers, and its messages come here; else what is wrong is said."""
    while True:
        try:
            name, webhook = asyncio.run(look(token, base))
        except TokenRejected:
            prompts.bad(UNKNOWN, AGAIN)
            return None
        except RetryLater as error:
            what = f"{urlsplit(base).hostname} cannot be reached."
            fix = "Check the network or proxy, then press Enter to try again."
            if ". " in str(error):  # it says what to do: about a certificate, for instance
                fix = f"{prompts.shown(str(error))}. Then press Enter to try again."
            if not prompts.enter_or_escape(partial(prompts.bad, what, fix)):
                raise KeyboardInterrupt from None
            continue
        if webhook:
            prompts.bad(WEBHOOK)
            if not prompts.confirm("Remove it?", default=False):
                return None
            asyncio.run(_remove_webhook(token, base))
        prompts.good(f"@{prompts.shown(name)} answers")
        return name


async def look(token: str, base: str) -> tuple[str, str]:
    """The bot's name, and where its messages go instead."""
    async with Api(token, base=base, hint="the token") as api:
        return (await api.me()).name, await api.webhook()


async def _remove_webhook(token: str, base: str) -> None:
    async with Api(token, base=base, hint="the token") as api:
        try:
            await api.me()
            await api.delete_webhook()
        except RetryLater as error:
            raise ChatbridgeError(f"{error}. Run this again: chatbridge setup") from None
