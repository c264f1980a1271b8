"""Discord's part of `chatbridge setup`: a bot of one's own, on a server of one's own, and who may
answer. A code that the bot sends in Discord, typed here, shows that it is the person."""

from __future__ import annotations

import argparse
import asyncio
import hmac
import secrets as random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import SecretStr, ValidationError

from chatbridge import extras
from chatbridge.channels.chat.people import display_name
from chatbridge.channels.discord.api import Api
from chatbridge.channels.discord.render import (
    ATTACH_FILES,
    READ_HISTORY,
    SEND_MESSAGES,
    VIEW_CHANNEL,
)
from chatbridge.channels.discord.settings import Discord
from chatbridge.channels.discord.spec import DISCORD, EXTRA
from chatbridge.cli.hub.control import restart_hub
from chatbridge.cli.people import listed_names
from chatbridge.cli.setup.state import (
    Setup,
    Work,
    add_people,
    ask_on_the_phone,
    first_problem,
    keep_token,
    read_secret,
)
from chatbridge.cli.ui import prompts
from chatbridge.cli.ui.running import WrongUsage
from chatbridge.core.errors import ChatbridgeError, TokenRejected

T = TypeVar("T")

PORTAL = """\
Discord needs a bot of your own:
  1. Open  https://discord.com/developers/applications  and choose New Application
  2. Under Bot, choose Reset Token and copy it. No privileged intent is needed
"""
AGAIN = "Copy it again from the Developer Portal, under Bot, Reset Token."
DIGITS = 6
LOOK_EVERY = 2.0


def ask(setup: Setup) -> None:
    """Go to a paired person and an answered question, or as far as the person wants."""
    extras.need(EXTRA)
    now = setup.settings.table(DISCORD)
    base, token = now.api_base, now.token.get_secret_value() if now.token else ""
    name = _name(token, base) if token else None
    if name is None or not prompts.confirm(f"Keep the bot {name}?", default=True):
        prompts.explain(PORTAL)
        token = _asked(base)
        keep_token(setup, DISCORD, token)
    elif now.allowed_users:
        prompts.say(f"  May answer: {listed_names(DISCORD, now)}")
    if _invited(token, base) and (person := _paired(token, base)):
        add_people(setup, DISCORD, [person])
        restart_hub()
        ask_on_the_phone(DISCORD)
    else:
        prompts.say("  To do it later: chatbridge setup")


def plan(setup: Setup, given: argparse.Namespace) -> list[Work]:
    people, channels, file = given.discord_user, given.discord_channel, given.discord_token_file
    if file is None and not (people or channels):
        return []
    extras.need(EXTRA)
    now = setup.settings.table(DISCORD)
    if file is None and now.token is None:
        raise WrongUsage("there is no bot yet: --discord-token-file FILE is needed, too")
    token = read_secret(file).strip() if file is not None else None
    try:
        new = Discord.model_validate(
            {"token": token, "allowed_users": people, "channel_id": channels}
        )
    except ValidationError as error:
        raise WrongUsage(f"--discord-…: {first_problem(error)}") from None
    if token is not None:
        try:
            _do(token, now.api_base, Api.me)
        except TokenRejected:
            raise ChatbridgeError(f"Discord does not know this token. {AGAIN}") from None

    def work() -> None:
        if token is not None:
            keep_token(setup, DISCORD, token)
        add_people(setup, DISCORD, new.allowed_users, new.channel_id)

    return [work]


def invitation(application: str, *, channel: bool) -> str:
    """Direct messages need no permission at all."""
    needed = VIEW_CHANNEL | SEND_MESSAGES | ATTACH_FILES | READ_HISTORY if channel else 0
    return (
        f"https://discord.com/oauth2/authorize?client_id={application}"
        f"&scope=bot+applications.commands&permissions={needed}"
    )


# ── asking Discord ────────────────────────────────────────────────────────────────────────────────


def _do(token: str, base: str, call: Callable[[Api], Awaitable[T]]) -> T:
    async def work() -> T:
        async with Api(token, base=base) as api:
            return await call(api)

    return asyncio.run(work())


def _name(token: str, base: str) -> str | None:
    """The bot's name if it answers; else what is wrong is said."""
    try:
        me = _do(token, base, Api.me)
    except ChatbridgeError as error:
        prompts.bad(prompts.shown(str(error)), AGAIN if isinstance(error, TokenRejected) else "")
        return None
    prompts.good(f"{prompts.shown(me.name)} answers")
    return me.name


def _asked(base: str) -> str:
    while True:
        token = prompts.hidden("Paste the token (not shown):").strip()
        prompts.forget_typed()
        try:
            Discord(token=SecretStr(token))
        except ValidationError as error:
            prompts.bad(first_problem(error))
            continue
        if token and _name(token, base) is not None:
            return token


def _invited(token: str, base: str) -> bool:
    """Once the bot is on a server; False: the person does it later."""
    me = _do(token, base, Api.me)
    if not _do(token, base, Api.servers):
        prompts.explain("\nInvite the bot to a server of yours, also an empty one:")
        prompts.say(f"  {invitation(me.application, channel=False)}")
        with prompts.keys():
            prompts.say_with_later("  … waiting for the bot to be on a server")
            while not _do(token, base, Api.servers):
                if prompts.key(LOOK_EVERY) == prompts.ESCAPE:
                    return False
        prompts.good("the bot is on a server")
    return True


def _paired(token: str, base: str) -> int | None:
    owner = _do(token, base, Api.owner) or {}
    name = prompts.shown(display_name(owner.get("global_name"), owner.get("username")))
    if not owner or not prompts.confirm(f"Are you {name}, whose bot it is?", default=True):
        person = int(prompts.text("Your user id (a number):", problem=_no_id))
    else:
        person = int(owner["id"])
    code = "".join(random.choice("0123456789") for _ in range(DIGITS))
    said = {"content": f"chatbridge: your code is {code}. Type it where you set chatbridge up."}

    async def send(api: Api) -> None:
        await api.send(await api.direct(person), said)

    _do(token, base, send)
    for _ in range(3):
        typed = prompts.text("The code that the bot has sent you in Discord:", problem=_no_code)
        if hmac.compare_digest(typed.strip(), code):
            prompts.good(f"paired with {name or person}")
            return person
        prompts.bad("That is another code.")
    return None


def _no_id(text: str) -> str | None:
    try:
        return None if Discord.model_validate({"allowed_users": text}).allowed_users else "A number"
    except ValidationError as error:
        return first_problem(error)


def _no_code(text: str) -> str | None:
    fits = len(text.strip()) == DIGITS and text.strip().isascii()
    return None if fits else f"The code has {DIGITS} digits"
