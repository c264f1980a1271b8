"""What lies between the channel and the Bot API."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from chatbridge.channels.telegram.api import Api
from tests.fakes.telegram.server import BotApi


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
