"""A bot of one's own: its token, found in whatever was pasted, and checked at once."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from urllib.parse import urlsplit

from chatbridge.cli.config_file import Key, Value, change
from chatbridge.cli.hub.stop import restart_hub
from chatbridge.cli.people import pair
from chatbridge.cli.setup.state import Setup
from chatbridge.cli.setup.trial import ask_on_the_phone
from chatbridge.cli.ui import prompts
from chatbridge.core.errors import ChatbridgeError, RetryLater, TokenRejected
from chatbridge.settings import Telegram, secrets

TOKEN = re.compile(r"(?<![0-9])[0-9]{5,16}:[A-Za-z0-9_-]{30,}(?![A-Za-z0-9_-])")
USUAL = re.compile(r"(?<![0-9])[0-9]{8,16}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])")
"""As they have always been; nobody has promised that they stay so."""
BOT_FATHER = """\
Telegram needs a bot of your own:
  1. In Telegram, open a chat with @BotFather and send  /newbot
  2. Give it a name, then a user name that ends in "bot"
  3. Copy the token it answers with (it looks like 123456:ABC-DEF…)
     It is on your phone? Use Telegram Desktop, or send it to yourself.
"""
UNKNOWN = "Telegram does not know this token."
AGAIN = "Copy it again from @BotFather, from the digits to the last letter."
WEBHOOK = "This bot has a webhook, so its messages go elsewhere."


def set_up(setup: Setup) -> None:
    """To a paired phone and an answered question, or as far as the person wants to go."""
    now = setup.settings.telegram
    kept = now.token is not None and _keeps(now.token.get_secret_value(), now.api_base)
    if not kept:
        prompts.explain(BOT_FATHER)
        token = _asked(now.api_base)
        save_token(setup, token)
    if now.allowed_users and kept:
        people = ", ".join(map(str, now.allowed_users))
        prompts.say(f"  Paired: {people}")
        if prompts.confirm("Pair another phone?", default=False):
            _pair(setup)
        elif prompts.confirm("Send a test question?", default=True):
            restart_hub()
            ask_on_the_phone("Telegram")
        return
    _pair(setup)


def _pair(setup: Setup) -> None:
    restart_hub()
    prompts.explain("\nNow pair your phone. Scan this, then press Start in Telegram.")
    if pair.pair(question="Is that you?", written=lambda it: setup.keeps(f"the phone of {it}")):
        ask_on_the_phone("Telegram")
    else:
        prompts.say("  Later, then: chatbridge pair")


def save_token(setup: Setup, token: str) -> None:
    secrets.keep(setup.path, "telegram", "token", value=token)
    setup.keeps("the bot's token")
    # The token may be in the file by hand, and its server in a variable, which counts no more once
    # the token is ours.
    base = setup.settings.telegram.api_base
    usual = Telegram.model_fields["api_base"].default
    changes: dict[Key, Value] = {("telegram", "token"): None}
    if base != usual:
        changes["telegram", "api_base"] = base
    change(setup.path, changes)


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


def _keeps(token: str, base: str) -> bool:
    """Whether the bot that is set up stays."""
    name = check(token, base)
    return name is not None and prompts.confirm(f"Keep the bot @{name}?", default=True)


def _asked(base: str) -> str:
    while True:
        token = token_in(prompts.hidden("Paste the token (not shown):"))
        if token is None:
            prompts.bad("There is no token in that.", AGAIN)
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
            problem = f"{urlsplit(base).hostname} cannot be reached."
            if not prompts.enter_or_escape(partial(prompts.bad, problem, _what_to_do(error))):
                raise KeyboardInterrupt from None
            continue
        if webhook:
            prompts.bad(WEBHOOK)
            if not prompts.confirm("Remove it?", default=False):
                return None
            asyncio.run(remove_webhook(token, base))
        prompts.good(f"@{prompts.shown(name)} answers")
        return name


def _what_to_do(error: RetryLater) -> str:
    """What the error says, if it says what to do: about a certificate, for instance."""
    if ". " in str(error):
        return f"{prompts.shown(str(error))}. Then press Enter to try again."
    return "Check the network or proxy, then press Enter to try again."


async def look(token: str, base: str) -> tuple[str, str]:
    """The bot's name, and where its messages go instead.

    :raises TokenRejected: :raises RetryLater:
    """
    from chatbridge.channels.telegram.client.api import Api

    api = Api(token, base=base, hint="the token")
    try:
        return (await api.open()).username, await api.webhook()
    finally:
        await api.close()


async def remove_webhook(token: str, base: str) -> None:
    from chatbridge.channels.telegram.client.api import Api

    api = Api(token, base=base, hint="the token")
    try:
        await api.open()
        await api.delete_webhook()
    except RetryLater as error:
        raise ChatbridgeError(f"{error}. Run this again: chatbridge setup") from None
    finally:
        await api.close()
