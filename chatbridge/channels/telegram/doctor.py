"""Telegram: the token, the webhook, and each chat. Reads no updates: that is the hub's alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit

from chatbridge.channels.checks import CheckContext, Finding, fine, from_error, problem, remark
from chatbridge.channels.spec import PersonName
from chatbridge.channels.telegram.client.api import Api
from chatbridge.channels.telegram.client.errors import Migrated, Rejected
from chatbridge.channels.telegram.settings import Telegram
from chatbridge.core.errors import ChatRefused, RetryLater, TokenRejected

NAME = "telegram"
ANSWER_SECONDS = 6.0
NOBODY = "telegram.allowed_users is empty, so nobody can answer there"
NOT_POLLED = (
    "stop it: look for a second chatbridge, or another bridge with the same token; or make a new "
    "bot: chatbridge setup"
)
PRIVACY = "in Telegram, to @BotFather: /setprivacy, then Enable; then add the bot again"


async def check(table: Telegram, context: CheckContext) -> Sequence[Finding]:
    hub = await context.hub()
    found = [] if table.allowed_users else [problem(NAME, NOBODY, "chatbridge pair")]
    assert table.token is not None
    token, base = table.token.get_secret_value(), table.api_base
    async with Api(token, base=base, hint="telegram.token", patience=ANSWER_SECONDS) as api:
        try:
            me = await api.me()
        except TokenRejected as error:
            what = str(error).partition(". ")[0]
            where = f"Check telegram.token in {context.shown(context.config)}"
            return [*found, problem(NAME, what, f"{where}, then: chatbridge doctor")]
        except RetryLater as error:
            return [*found, _unreachable(base, str(error))]
        told = hub.trouble_of(NAME)
        if told and "polls this bot" in told:
            found.append(problem(NAME, "another program polls this bot (409)", NOT_POLLED))
        found += await _webhook(api)
        # A group that has become a supergroup has another number.
        known = await context.notes(NAME)
        homes = table.chat_id or sorted(table.allowed_users)
        chats = [int(known.get(f"chat:telegram:{home}", home)) for home in homes]
        looked = await asyncio.gather(*(_chat(api, chat) for chat in chats))
    found += [each for each in looked if isinstance(each, Finding)]
    if me.reads_all and {"group", "supergroup"}.intersection(looked):
        # In groups only replies count, and those come with privacy mode, too.
        what = "receives everything that is said in its groups, but needs only replies"
        found.append(remark(NAME, f"@{me.name} {what}", PRIVACY))
    if told and not found:
        # What the hub has met and this look has not: a lock of another hub, a pause.
        found.append(from_error(NAME, told))
    number = "1 chat" if len(chats) == 1 else f"{len(chats):,} chats"
    what = f"@{me.name} can write to {number}"
    return found or [fine(NAME, what, bot=me.name, chats=chats)]


async def names(table: Telegram, people: Sequence[int]) -> dict[int, PersonName]:
    """Of those whom Telegram knows. :raises ChatbridgeError: it cannot be asked."""
    assert table.token is not None
    token, base = table.token.get_secret_value(), table.api_base
    async with Api(token, base=base, hint="telegram.token", patience=ANSWER_SECONDS) as api:
        await api.me()
        found = await asyncio.gather(*map(api.name_of, people), return_exceptions=True)
    return {
        it: name for it, name in zip(people, found, strict=True) if isinstance(name, PersonName)
    }


def _unreachable(base: str, said: str) -> Finding:
    """With the reason, and with its own advice if it has any: about a certificate, for instance."""
    why, _, advice = said.partition(". ")
    unreached = "telegram cannot be reached ("
    if why.startswith(unreached):
        why = why.removeprefix(unreached).removesuffix(")")
    what = f"{urlsplit(base).hostname} cannot be reached: {why}"
    return problem(NAME, what, advice or "check the network or proxy")


async def _webhook(api: Api) -> list[Finding]:
    try:
        address = await api.webhook()
    except RetryLater as error:
        return [from_error(NAME, str(error))]
    if not address:
        return []
    # The host alone: what follows it is often a secret.
    host = urlsplit(address).hostname or "somewhere"
    what = f"This bot has a webhook, so its messages go elsewhere ({host})"
    return [problem(NAME, what, "remove it: chatbridge setup")]


async def _chat(api: Api, chat: int) -> Finding | str:
    """What is wrong with it, or what kind of chat it is."""
    try:
        kind, wrong = await api.standing(chat)
    except Migrated as error:
        what = f"the group {chat} became a supergroup"
        return remark(NAME, what, f"put {error.chat} into telegram.chat_id")
    except ChatRefused as error:
        return _refused(chat, str(error))
    except (RetryLater, Rejected) as error:
        return remark(NAME, f"the chat {chat} could not be checked: {error}")
    return problem(NAME, wrong, "ask an administrator to allow it") if wrong else kind


def _refused(chat: int, said: str) -> Finding:
    if "does not know the chat" in said:
        return problem(NAME, "The phone's chat was deleted or left.", "chatbridge pair", chat=chat)
    if chat > 0:
        fix = "Open the chat in Telegram and press Start or Unblock."
        return problem(NAME, "The bot may not write to you (403).", fix, chat=chat)
    return from_error(NAME, said, chat=chat)
