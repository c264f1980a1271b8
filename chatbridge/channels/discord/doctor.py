"""Discord: the token, and each chat. Opens no connection for events: that is the hub's alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from chatbridge.channels.checks import CheckContext, Finding, fine, from_error, problem
from chatbridge.channels.discord.api import Api
from chatbridge.channels.discord.settings import Discord
from chatbridge.channels.spec import PersonName
from chatbridge.core.errors import ChatbridgeError

NAME = "discord"
ANSWER_SECONDS = 6.0
NOBODY = "discord.allowed_users is empty, so nobody can answer there"


def open_api(table: Discord) -> Api:
    assert table.token is not None
    token = table.token.get_secret_value()
    return Api(token, base=table.api_base, hint="discord.token", patience=ANSWER_SECONDS)


async def check(table: Discord, context: CheckContext) -> Sequence[Finding]:
    hub = await context.hub()
    found = [] if table.allowed_users else [problem(NAME, NOBODY, "chatbridge setup")]
    async with open_api(table) as api:
        try:
            me = await api.me()
            look = api.standing if table.channel_id else api.direct
            chats = table.channel_id or table.allowed_users
            looked = await asyncio.gather(*map(look, chats), return_exceptions=True)
        except ChatbridgeError as error:
            return [*found, from_error(NAME, str(error))]
    found += [from_error(NAME, str(each)) for each in looked if isinstance(each, ChatbridgeError)]
    if (told := hub.trouble_of(NAME)) and not found:
        found.append(from_error(NAME, told))
    number = "1 chat" if len(chats) == 1 else f"{len(chats):,} chats"
    return found or [fine(NAME, f"{me.name} can write to {number}", bot=me.id)]


async def names(table: Discord, people: Sequence[int]) -> dict[int, PersonName]:
    """Of those whom Discord knows. :raises ChatbridgeError: it cannot be asked."""
    async with open_api(table) as api:
        await api.me()
        found = await asyncio.gather(*map(api.name_of, people), return_exceptions=True)
    return {
        it: name for it, name in zip(people, found, strict=True) if isinstance(name, PersonName)
    }
