"""What was sent before is found, where a service would take it for another message."""

from __future__ import annotations

import pytest

from chatbridge.channels.chat.sent_before import SentBefore
from chatbridge.channels.chat.writer import key_name
from chatbridge.core.errors import RetryLater

NAME = key_name(("card", "1"))


class Room:
    def __init__(self) -> None:
        self.messages: dict[str, str] = {}
        self.read: list[str | None] = []

    async def find(self, room: str, thread: str | None) -> dict[str, str]:
        self.read.append(thread)
        return dict(self.messages)


async def test_a_message_of_an_earlier_process_is_found_and_the_room_is_read_once() -> None:
    room = Room()
    room.messages[NAME] = "m1"
    before = SentBefore(room.find)
    assert await before.find("C", None, NAME) == "m1"
    assert await before.find("C", None, key_name(("card", "2"))) is None
    assert room.read == [None]


@pytest.mark.parametrize(("unsent", "times"), [(False, 2), (True, 1)])
async def test_a_room_is_read_again_after_a_message_that_may_be_out(
    unsent: bool, times: int
) -> None:
    room = Room()
    before = SentBefore(room.find)
    assert await before.find("C", None, NAME) is None
    with pytest.raises(RetryLater), before.sending("C", None):
        raise RetryLater("cut", unsent=unsent)
    await before.find("C", None, NAME)
    assert len(room.read) == times


async def test_a_thread_that_this_process_began_needs_no_reading() -> None:
    room = Room()
    before = SentBefore(room.find)
    before.begun("C", "m1")
    assert await before.find("C", "m1", NAME) is None
    assert not room.read


async def test_what_has_no_key_is_not_looked_for() -> None:
    room = Room()
    assert await SentBefore(room.find).find("C", None, key_name(())) is None
    assert not room.read
