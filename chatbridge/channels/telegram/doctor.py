"""Telegram: the token, the webhook, and each chat. Reads no updates: that is the hub's alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from chatbridge.channels.checks import (
    CheckContext,
    Finding,
    fine,
    from_error,
    problem,
    remark,
)
from chatbridge.channels.telegram.settings import Telegram
from chatbridge.core.errors import ChatRefused, RetryLater, TokenRejected

if TYPE_CHECKING:
    from chatbridge.channels.telegram.client.api import Api, Me, Standing

NAME = "telegram"
ANSWER_SECONDS = 6.0
POLLED = "another program polls this bot (409)"
NOT_POLLED = (
    "stop it: look for a second chatbridge, or another bridge with the same token; or make a new "
    "bot: chatbridge setup"
)
WEBHOOK = "This bot has a webhook, so its messages go elsewhere"
BLOCKED = "The bot may not write to you (403)."
UNREACHED = "telegram cannot be reached ("
GONE = "The phone's chat was deleted or left."


async def check(table: Telegram, context: CheckContext) -> Sequence[Finding]:
    hub = await context.hub()
    found = [] if table.allowed_users else [_nobody()]
    async with _api(table) as api:
        try:
            me = await api.open()
        except TokenRejected as error:
            what = str(error).partition(". ")[0]
            where = f"Check telegram.token in {context.shown(context.config)}"
            return [*found, problem(NAME, what, f"{where}, then: chatbridge doctor")]
        except RetryLater as error:
            return [*found, _unreachable(table.api_base, str(error))]
        told = hub.trouble_of(NAME)
        if told and "polls this bot" in told:
            found.append(problem(NAME, POLLED, NOT_POLLED))
            told = None
        found += await _webhook(api)
        chats = await _chats(table, context)
        looked = await asyncio.gather(*(_chat(api, chat) for chat in chats))
    found += [finding for each in looked for finding in each if not isinstance(finding, str)]
    kinds = [kind for each in looked for kind in each if isinstance(kind, str)]
    found += _privacy(me, kinds)
    if told and not found:
        # What the hub has met and this look has not: a lock of another hub, a pause.
        found.append(from_error(NAME, told))
    if found:
        return found
    number = "1 chat" if len(chats) == 1 else f"{len(chats):,} chats"
    what = f"@{me.username} can write to {number}"
    return [fine(NAME, what, bot=me.username, chats=list(chats))]


@asynccontextmanager
async def _api(table: Telegram) -> AsyncIterator[Api]:
    kind = await asyncio.to_thread(_imported)
    assert table.token is not None
    api = kind(
        table.token.get_secret_value(),
        base=table.api_base,
        hint="telegram.token",
        patience=ANSWER_SECONDS,
    )
    try:
        yield api
    finally:
        await api.close()


def _imported() -> type[Api]:
    from chatbridge.channels.telegram.client.api import Api

    return Api


def _nobody() -> Finding:
    what = "telegram.allowed_users is empty, so nobody can answer there"
    return problem(NAME, what, "chatbridge pair")


def _unreachable(base: str, said: str) -> Finding:
    """With the reason, and with its own advice if it has any: about a certificate, for instance."""
    why, _, advice = said.partition(". ")
    if why.startswith(UNREACHED):
        why = why.removeprefix(UNREACHED).removesuffix(")")
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
    return [problem(NAME, f"{WEBHOOK} ({host})", "remove it: chatbridge setup")]


async def _chats(table: Telegram, context: CheckContext) -> Sequence[int]:
    """Where cards go now: a group that has become a supergroup has another number."""
    chats = table.chat_id or tuple(sorted(table.allowed_users))
    known = await context.notes(NAME)
    return [int(known.get(f"chat:telegram:{chat}", chat)) for chat in chats]


async def _chat(api: Api, chat: int) -> list[Finding | str]:
    """What is wrong with it, or what kind of chat it is."""
    from chatbridge.channels.telegram.client.errors import Migrated, Rejected

    try:
        standing = await api.standing(chat)
    except Migrated as error:
        what = f"the group {chat} became a supergroup"
        return [remark(NAME, what, f"put {error.chat} into telegram.chat_id")]
    except ChatRefused as error:
        return [_refused(chat, str(error))]
    except (RetryLater, Rejected) as error:
        return [remark(NAME, f"the chat {chat} could not be looked at: {error}")]
    return _rights(chat, standing)


def _rights(chat: int, standing: Standing) -> list[Finding | str]:
    if not standing.may_write:
        what = f"the bot may not write to the {standing.kind} {chat}"
        return [problem(NAME, what, "let an administrator allow it")]
    if not standing.may_edit:
        what = f"the bot may not edit what it wrote in the {standing.kind} {chat}"
        return [problem(NAME, what, "let an administrator allow it")]
    return [standing.kind]


def _refused(chat: int, said: str) -> Finding:
    if "does not know the chat" in said:
        return problem(NAME, GONE, "chatbridge pair", chat=chat)
    if chat > 0:
        fix = "Open the chat in Telegram and press Start or Unblock."
        return problem(NAME, BLOCKED, fix, chat=chat)
    return from_error(NAME, said, chat=chat)


def _privacy(me: Me, kinds: Sequence[str]) -> list[Finding]:
    """In groups only replies count, and those come with privacy mode, too."""
    if not me.reads_all or not {"group", "supergroup"}.intersection(kinds):
        return []
    return [
        remark(
            NAME,
            f"@{me.username} is sent everything that is said in its groups, and needs only replies",
            "in Telegram, to @BotFather: /setprivacy, then Enable; then add the bot anew",
        )
    ]
