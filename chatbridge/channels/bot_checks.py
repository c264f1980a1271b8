"""Checks of a bot that has tokens, people who may answer, and chats.

Owns what `doctor` finds of such a bot at any service, and what people there are called. A service
overrides what is different there. Nothing here receives messages: that is the hub's alone.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic
from urllib.parse import urlsplit

from chatbridge.channels.checks import CheckContext, Finding, fine, from_error, problem, remark
from chatbridge.channels.spec import ChannelSpec, PersonName, Table
from chatbridge.core.errors import ChatbridgeError, ChatRefused, RetryLater, TokenRejected

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

ANSWER_SECONDS = 6.0
"""How long a service may take to answer."""


class BotCheck(ABC, Generic[Table]):
    called = "{}"
    """How the bot's name is shown."""
    let_in = "let the bot write there"
    """What to do about a chat where it cannot."""

    def __init__(self, spec: ChannelSpec[Table]) -> None:
        self.spec = spec

    @abstractmethod
    def open(self, table: Table) -> AbstractAsyncContextManager[Any]:
        """The client, which the methods below are given: a `BotClient` of the chat kit."""

    def lacking(self, me: Any) -> str:
        """What the bot's account lacks, and what to do, as errors say it; else empty."""
        return ""

    async def look_closer(self, api: Any, told: str | None) -> list[Finding]:
        """What only this service has. `told` is the hub's own trouble. :raises ChatbridgeError:"""
        return []

    async def chats(self, table: Table, context: CheckContext) -> Sequence[Any]:
        """Where cards go."""
        return self.spec.chats_in(table) or self.spec.people_in(table)

    async def look_at(self, api: Any, chat: Any, *, direct: bool) -> Finding | None:
        """What is wrong with this chat, if anything. Nothing is written there."""
        name = self.spec.name
        try:
            if direct:
                await api.direct(chat)
                return None
            wrong = await api.standing(chat)
        except ChatRefused as error:
            return from_error(name, str(error), chat=chat)
        except ChatbridgeError as error:
            return remark(name, f"{chat} could not be checked: {error}")
        return problem(name, wrong, self.let_in, chat=chat) if wrong else None

    async def name(self, table: Table) -> str:
        """The bot's, as it is shown. :raises ChatbridgeError: it cannot be used."""
        async with self.open(table) as api:
            me = await api.me()
        if lacking := self.lacking(me):
            raise ChatbridgeError(lacking)
        return self.called.format(me.name)

    async def names(self, table: Table, people: Sequence[Any]) -> dict[Any, PersonName]:
        """Of those whom the service knows. :raises ChatbridgeError: it cannot be asked."""
        async with self.open(table) as api:
            await api.me()
            found = await asyncio.gather(*map(api.name_of, people), return_exceptions=True)
        named = zip(people, found, strict=True)
        return {it: name for it, name in named if isinstance(name, PersonName)}

    async def check(self, table: Table, context: CheckContext) -> Sequence[Finding]:
        name = self.spec.name
        told = (await context.hub()).trouble_of(name)
        found: list[Finding] = []
        if not self.spec.people_in(table):
            what = f"{name}.allowed_users is empty, so nobody can answer there"
            found.append(problem(name, what, f"chatbridge pair {name}"))
        direct = not self.spec.chats_in(table)
        async with self.open(table) as api:
            try:
                me = await api.me()
                if lacking := self.lacking(me):
                    found.append(from_error(name, lacking))
                found += await self.look_closer(api, told)
            except TokenRejected as error:
                return [*found, self._rejected(str(error), context)]
            except RetryLater as error:
                return [*found, self._unreachable(table, str(error))]
            except ChatbridgeError as error:
                return [*found, from_error(name, str(error))]
            chats = await self.chats(table, context)
            looking = (self.look_at(api, chat, direct=direct) for chat in chats)
            for each in await asyncio.gather(*looking):
                if each is not None and each not in found:  # some are true of several chats
                    found.append(each)
        if told and not found:
            # What the hub has met and this look has not: a lock of another hub, a pause.
            found.append(from_error(name, told))
        number = "1 chat" if len(chats) == 1 else f"{len(chats):,} chats"
        what = f"{self.called.format(me.name)} can write to {number}"
        return found or [fine(name, what, bot=me.name, chats=[*chats])]

    def _rejected(self, said: str, context: CheckContext) -> Finding:
        where = context.place_of(self.spec.name, *self.spec.secrets())
        fix = f"Check {where}, then: chatbridge doctor"
        return problem(self.spec.name, said.partition(". ")[0], fix)

    def _unreachable(self, table: Table, said: str) -> Finding:
        """With the reason, and with its own advice if it has any: about a certificate, say."""
        name = self.spec.name
        why, _, advice = said.partition(". ")
        unreached = f"{name} cannot be reached ("
        if why.startswith(unreached):
            why = why.removeprefix(unreached).removesuffix(")")
        what = f"{urlsplit(self.spec.server(table)).hostname} cannot be reached: {why}"
        return problem(name, what, advice or "check the network or proxy")
