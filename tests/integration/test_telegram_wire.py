"""What lies between the channel and the Bot API."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from chatbridge.channels.telegram.client.api import Api
from tests.fakes.inbox import MULTI, SELECT
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import running_telegram
from tests.fakes.telegram_hub import Scene
from tests.fakes.telegram_log import warnings


class Watching(MetaPathFinder):
    """Knows which modules were searched for, and finds none."""

    def __init__(self) -> None:
        self.searched: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        self.searched.append(fullname)
        return None


async def test_a_message_is_sent_without_a_search_for_modules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watching = Watching()
    with BotApi.running() as telegram:
        chat = telegram.private(telegram.person("Ada"))
        api = Api(telegram.token, base=telegram.address, hint="config.toml")
        await api.me()
        try:
            await api.send(chat.id, "What the first message imports is there after it.")
            monkeypatch.setattr(sys, "meta_path", [watching, *sys.meta_path])
            await api.send(chat.id, "Hello")
        finally:
            await api.close()
    assert watching.searched == []


# ── servers that answer in another form ───────────────────────────────────────────────────────────


def with_no_description(body: bytes) -> bytes:
    return json.dumps({**json.loads(body), "description": None}).encode()


async def test_a_success_may_have_a_description_that_is_null(scene: Scene) -> None:
    scene.api.rewrite("*", with_no_description)
    async with scene.hub() as hub:
        await hub.works(1)
    assert len(scene.api.calls("sendMessage")) == 1


def in_other_types(body: bytes) -> bytes:
    found = json.loads(body)
    odd = {"date": 10**30, "edit_date": [], "chat": 7, "from": "us", "entities": {"type": None}}
    return json.dumps({**found, "result": {**found["result"], **odd}}).encode()


def with_the_id_alone(body: bytes) -> bytes:
    found = json.loads(body)
    return json.dumps(
        {"ok": True, "result": {"message_id": found["result"]["message_id"]}}
    ).encode()


def cut_off(body: bytes) -> bytes:
    return re.sub(rb'("message_id":\d+),.*', rb"\1,", body, flags=re.DOTALL)


def no_text(body: bytes) -> bytes:
    return body.replace(b"Number", b"\xff\xfe")


@pytest.mark.parametrize("change", [in_other_types, with_the_id_alone, cut_off, no_text])
async def test_a_message_that_is_out_is_not_sent_again_and_is_found_by_its_number(
    scene: Scene, caplog: pytest.LogCaptureFixture, change: Callable[[bytes], bytes]
) -> None:
    scene.api.rewrite("sendMessage", change)
    scene.api.rewrite("editMessageText", change)
    async with scene.hub() as hub:
        await hub.works(1)
        await asyncio.to_thread(scene.phone.sees, "✅")
    assert len(scene.api.calls("sendMessage")) == 1
    assert warnings(caplog) == []


def of_another_message(body: bytes) -> bytes:
    return b'{"ok": true, "result": {"reply_to_message": {"message_id": 7, "text": "\xff"}}}'


def cut_in_its_number(body: bytes) -> bytes:
    return re.sub(rb'("message_id":\d).*', rb"\1", body, flags=re.DOTALL)


WITHOUT_A_NUMBER: list[Callable[[bytes], bytes]] = [
    of_another_message,
    cut_in_its_number,
    lambda _body: b'{"result": {"text": "\xff"}, "ok": true}',
    lambda _body: b'{"ok": true}',
    lambda _body: b'{"ok": true, "result": {}}',
    lambda _body: b'{"ok": true, "result": null}',
    lambda _body: b'{"ok": true, "result": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    lambda _body: b'{"ok": true, "result": true, "description": 7}',
    lambda _body: b'{"ok": true, "result": {"message_id": "the first"}}',
]
SAID = "telegram said ok, but its answer cannot be read: it is not sent again"


@pytest.mark.parametrize("change", WITHOUT_A_NUMBER)
async def test_a_message_that_is_out_is_not_sent_again_though_nobody_says_its_number(
    scene: Scene, caplog: pytest.LogCaptureFixture, change: Callable[[bytes], bytes]
) -> None:
    for method in ("sendMessage", "editMessageText", "answerCallbackQuery"):
        scene.api.rewrite(method, change)
    async with scene.hub() as hub:
        await hub.works(1)
        await asyncio.to_thread(scene.phone.sees, "✅")
    for method in ("sendMessage", "answerCallbackQuery"):
        assert len(scene.api.calls(method)) == 1
    assert warnings(caplog) == [SAID]


async def test_a_page_that_is_no_answer_of_telegrams_is_no_ok_whatever_it_says(
    scene: Scene,
) -> None:
    page = b'<html><script>{"ok": true, "result": {"message_id": 7}}</script></html>'
    scene.api.rewrite("sendMessage", lambda _body: page, times=1)
    async with scene.hub() as hub:
        await hub.ask(1)
        await hub.until(lambda: len(scene.api.calls("sendMessage")) == 2, step=0.5)


async def test_a_topic_whose_answer_cannot_be_read_is_made_once(tmp_path: Path) -> None:
    with BotApi.running(topics_enabled=True) as telegram:
        chat = telegram.group("team", telegram.person("Ada"), forum=True)
        api = Api(telegram.token, base=telegram.address, hint="config.toml")
        await api.me()
        try:
            telegram.rewrite("createForumTopic", lambda body: body.replace(b'"name"', b'"title"'))
            made = await api.new_topic(chat.id, "shop-api")
            assert chat.topics == {made: "shop-api"}
        finally:
            await api.close()


async def test_a_topic_without_a_number_is_made_once_and_its_cards_go_to_the_main_chat(
    tmp_path: Path,
) -> None:
    with BotApi.running(topics_enabled=True) as telegram:
        ada = telegram.person("Ada")
        chat = telegram.group("team", ada, forum=True)
        telegram.rewrite("createForumTopic", lambda _body: b'{"ok": true}')
        async with running_telegram(
            tmp_path, api=telegram, chat=chat, phone=chat.phone(ada), topics=True
        ) as running:
            for question in (SELECT, MULTI):
                card = await running.card(await running.desk.ask(question))
                assert card.thread is None
        assert len(chat.topics) == 1


async def test_a_server_without_long_polling_is_asked_twice_a_second_at_most(scene: Scene) -> None:
    scene.api.without_long_polling()
    async with scene.hub(up=False) as hub:
        await hub.until(lambda: len(scene.api.calls("getUpdates")) > 2, step=0.1)
        before, since = len(scene.api.calls("getUpdates")), hub.clock.monotonic()
        await hub.passes(30.0)
        asked = len(scene.api.calls("getUpdates")) - before
        assert 1 <= asked <= 2 * (hub.clock.monotonic() - since) + 1
        ask = await hub.ask(1)
        card = await hub.in_time(hub.sees(1), step=0.1)
        assert await hub.in_time(hub.tap(card), step=0.1) == "Sent: blue"
        assert not (await hub.now(ask)).open
