"""Who may answer."""

from __future__ import annotations

from collections.abc import Collection

from telegram import User

from chatbridge.channels.chat.unknown_senders import Strangers
from chatbridge.core.model import Person
from chatbridge.core.pairing import Claim
from chatbridge.core.ports import Clock
from chatbridge.core.text import one_line, shortened

LONGEST_NAME = 40


class People:
    """The allowlist. An empty one means nobody."""

    def __init__(self, allowed: Collection[int], *, clock: Clock) -> None:
        self._allowed = frozenset(allowed)
        self._strangers = Strangers("telegram", clock=clock)

    def allows(self, user: User | None) -> bool:
        """Whether this person may do anything here. A stranger is noted, so that the owner can
        find the number to add."""
        if user is None:
            return False
        if user.id in self._allowed:
            return True
        self._strangers.note(str(user.id))
        return False


def person_of(user: User, *, chat: int) -> Person:
    name = shortened(one_line(user.full_name), LONGEST_NAME)
    return Person(name=name, channel="telegram", place=str(chat))


def claim_of(user: User) -> Claim:
    """Somebody who brings a code in their own chat with the bot, which has their number."""
    name = shortened(one_line(user.full_name), LONGEST_NAME)
    username = shortened(one_line(user.username), LONGEST_NAME) if user.username else None
    return Claim(channel="telegram", person=user.id, chat=user.id, name=name, username=username)
