"""Slack: both tokens, the scopes, and each conversation. Opens no connection of its own: it would
take some of the hub's taps."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit

from chatbridge.channels.checks import CheckContext, Finding, fine, from_error, problem, remark
from chatbridge.channels.slack.api import Api
from chatbridge.channels.slack.settings import Slack
from chatbridge.channels.spec import PersonName
from chatbridge.core.errors import ChatbridgeError, ChatRefused, RetryLater, TokenRejected

NAME = "slack"
ANSWER_SECONDS = 6.0
NOBODY = "slack.allowed_users is empty, so nobody can answer there"
REINSTALL = "add them at api.slack.com/apps under OAuth & Permissions, and reinstall the app"


def opened(table: Slack) -> Api:
    bot, app = table.tokens
    hint = "slack.bot_token and slack.app_token"
    return Api(bot, app, base=table.api_base, hint=hint, patience=ANSWER_SECONDS)


async def check(table: Slack, context: CheckContext) -> Sequence[Finding]:
    hub = await context.hub()
    found = [] if table.allowed_users else [problem(NAME, NOBODY, "chatbridge pair slack")]
    async with opened(table) as api:
        try:
            me = await api.me()
            await api.connection()  # nobody uses it, and it ends by itself
        except TokenRejected as error:
            what = str(error).partition(". ")[0]
            where = f"Check the tokens of slack in {context.shown(context.config)}"
            return [*found, problem(NAME, what, f"{where}, then: chatbridge doctor")]
        except RetryLater as error:
            why, _, advice = str(error).partition(". ")
            what = f"{urlsplit(table.api_base).hostname} cannot be used: {why}"
            return [*found, problem(NAME, what, advice or "check the network or proxy")]
        except ChatbridgeError as error:
            return [*found, from_error(NAME, str(error))]
        if me.missing:
            what = f"the app lacks scopes: {', '.join(me.missing)}"
            found.append(problem(NAME, what, REINSTALL))
        places = table.channel_id or table.allowed_users
        found += filter(None, await asyncio.gather(*(_place(api, place) for place in places)))
    told = hub.trouble_of(NAME)
    if told and not found:
        # What the hub has met and this look has not: Socket Mode is off, a pause.
        found.append(from_error(NAME, told))
    number = "1 conversation" if len(places) == 1 else f"{len(places):,} conversations"
    what = f"the app in {me.name} can write to {number}"
    return found or [fine(NAME, what, team=me.name, chats=[*places])]


async def _place(api: Api, place: str) -> Finding | None:
    try:
        if place[:1] in ("U", "W"):
            await api.direct(place)
            return None
        wrong = await api.standing(place)
    except ChatRefused as error:
        return from_error(NAME, str(error), chat=place)
    except ChatbridgeError as error:
        return remark(NAME, f"{place} could not be checked: {error}")
    return problem(NAME, wrong, "in Slack, in that channel: /invite @chatbridge") if wrong else None


async def names(table: Slack, people: Sequence[str]) -> dict[str, PersonName]:
    """Of those whom Slack knows. :raises ChatbridgeError: it cannot be asked."""
    async with opened(table) as api:
        found = await asyncio.gather(*map(api.name_of, people), return_exceptions=True)
    return {
        it: name for it, name in zip(people, found, strict=True) if isinstance(name, PersonName)
    }
