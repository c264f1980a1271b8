"""A remark to the owner, in several chats."""

from __future__ import annotations

import pytest

from chatbridge.channels.chat.channel import tell_each
from chatbridge.core.errors import RetryLater
from chatbridge.core.ports import Remark


class Chat:
    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.told: list[str] = []

    async def tell(self, remark: Remark) -> None:
        if self.fault:
            raise self.fault
        self.told.append(remark.text)


async def test_a_bug_in_one_chat_keeps_a_remark_from_no_other_and_does_not_make_it_come_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken, paused, works = Chat(KeyError("bug")), Chat(RetryLater("a pause", after=5)), Chat()
    chats = [("broken", broken.tell), ("paused", paused.tell), ("works", works.tell)]
    remark = Remark(text="Somebody new may answer.")
    with pytest.raises(RetryLater):
        await tell_each(remark, chats)
    paused.fault = None
    await tell_each(remark, chats)
    assert works.told == paused.told == [remark.text]
    assert [record.getMessage() for record in caplog.records] == ["broken could not be told"]
