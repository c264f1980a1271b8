"""The Bot API server of the tests says who may write, as the real one does."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import pytest
from telegram import Bot, ChatMemberMember, ChatMemberRestricted
from telegram.error import BadRequest, Forbidden

from tests.fakes.clock import START, StillClock
from tests.fakes.telegram.server import BotApi


@pytest.fixture
def telegram() -> Iterator[BotApi]:
    with BotApi.running(clock=StillClock()) as telegram:
        yield telegram


def bot_of(telegram: BotApi) -> Bot:
    return Bot(telegram.token, base_url=f"{telegram.address}/bot")


async def test_a_bot_that_was_muted_is_restricted_and_cannot_write(telegram: BotApi) -> None:
    chat = telegram.group("team", telegram.person("Ada"), supergroup=True)
    async with bot_of(telegram) as bot:
        assert isinstance(await bot.get_chat_member(chat.id, bot.id), ChatMemberMember)
        chat.mute_bot()
        member = await bot.get_chat_member(chat.id, bot.id)
        assert isinstance(member, ChatMemberRestricted)
        assert not member.can_send_messages
        with pytest.raises(BadRequest, match="ot enough rights to send text messages"):
            await bot.send_message(chat.id, "hello")


async def test_a_group_where_nobody_may_write_says_so(telegram: BotApi) -> None:
    chat = telegram.group("team", telegram.person("Ada"), supergroup=True)
    async with bot_of(telegram) as bot:
        chat.mute_bot(everybody=True)
        found = await bot.get_chat(chat.id)
        assert found.permissions
        assert not found.permissions.can_send_messages
        with pytest.raises(BadRequest, match="ot enough rights"):
            await bot.send_message(chat.id, "hello")


async def test_a_group_is_closed_after_a_kick_and_a_private_chat_after_a_block_is_not(
    telegram: BotApi,
) -> None:
    ada = telegram.person("Ada")
    group, private = telegram.group("team", ada), telegram.private(ada)
    group.kick_bot()
    private.phone(ada).block()
    async with bot_of(telegram) as bot:
        with pytest.raises(Forbidden, match="bot was kicked"):
            await bot.get_chat(group.id)
        assert (await bot.get_chat(private.id)).first_name == "Ada"
        with pytest.raises(Forbidden, match="bot was blocked by the user"):
            await bot.send_chat_action(private.id, "typing")


async def test_somebody_who_is_not_in_the_group_is_no_member(telegram: BotApi) -> None:
    ada, eve = telegram.person("Ada"), telegram.person("Eve")
    chat = telegram.group("team", ada)
    async with bot_of(telegram) as bot:
        assert (await bot.get_chat_member(chat.id, ada.id)).status == "member"
        with pytest.raises(BadRequest, match="ember not found"):
            await bot.get_chat_member(chat.id, eve.id)


def test_every_answer_has_the_services_time(telegram: BotApi) -> None:
    where = urlsplit(telegram.address)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=20)
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        answer.read()
    finally:
        connection.close()
    assert parsedate_to_datetime(answer.headers["Date"]).timestamp() == START
