"""What lies between the channel and the Bot API."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from chatbridge.channels.telegram.api import Api
from tests.fakes.telegram.server import BotApi
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
        await api.open()
        try:
            await api.send(chat.id, "What the first message imports is there after it.")
            monkeypatch.setattr(sys, "meta_path", [watching, *sys.meta_path])
            await api.send(chat.id, "Hello")
        finally:
            await api.close()
    assert watching.searched == []


# ── servers that answer in another form ───────────────────────────────────────────────────────────


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with Scene.set(tmp_path) as scene:
        yield scene


def with_no_description(body: bytes) -> bytes:
    return json.dumps({**json.loads(body), "description": None}).encode()


async def test_a_success_may_have_a_description_that_is_null(scene: Scene) -> None:
    scene.api.rewrite("*", with_no_description)
    async with scene.hub() as hub:
        await hub.works(1)
    assert len(scene.api.calls("sendMessage")) == 1


def in_other_types(body: bytes) -> bytes:
    found = json.loads(body)
    odd = {"date": "soon", "edit_date": [], "chat": 7, "from": "us", "entities": {"type": None}}
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


async def test_an_answer_without_a_number_is_no_message_and_says_so(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.api.answer_with("sendMessage", b'{"ok": true, "result": {}}')
    async with scene.hub() as hub:
        await hub.works(1)
    (said,) = warnings(caplog)
    assert said.endswith("telegram said ok, but its answer cannot be read")


async def test_a_topic_whose_answer_cannot_be_read_is_made_once(tmp_path: Path) -> None:
    with BotApi.running(topics_enabled=True) as telegram:
        chat = telegram.group("team", telegram.person("Ada"), forum=True)
        api = Api(telegram.token, base=telegram.address, hint="config.toml")
        await api.open()
        try:
            telegram.rewrite("createForumTopic", lambda body: body.replace(b'"name"', b'"title"'))
            made = await api.new_topic(chat.id, "shop-api")
            assert chat.topics == {made: "shop-api"}
        finally:
            await api.close()


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
