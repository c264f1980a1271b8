"""Pairing codes: a terminal shows one, and a person sends it in a chat to be allowed to answer.

Codes are single-use, short-lived, few at a time and hard to guess. A claim alone allows nothing:
the person at the terminal confirms it, and the terminal changes the settings. Codes are not stored.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from chatbridge.core.errors import TooManyCodes
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # No look-alikes, and no vowels, so no words
CODE_LENGTH = 8
CODE_SECONDS = 600.0
MAX_OPEN_CODES = 3
PREFIX = "p_"
GUESS_WINDOW_SECONDS = 600.0
MAX_GUESSES_PER_PERSON = 5
MAX_GUESSES = 60
"""After this many wrong guesses, each person has only one. Strangers must not be able to keep the
owner from pairing."""
MAX_REMEMBERED_GUESSES = 1000
_PAYLOAD = re.compile(rf"{PREFIX}([0-9A-Za-z_-]{{1,62}})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The person who sent a code, as the chat service identifies them."""

    channel: str
    person: int | str
    chat: int | str | None = None
    """Where they get questions, if that can be listed in the settings."""
    name: str
    username: str | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Code:
    text: str = field(repr=False)
    until: float
    channel: str | None = None  # The only one on which it can be used
    claim: Claim | None = None
    claimed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def payload(self) -> str:
        """The parameter of a deep link."""
        return PREFIX + self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """What a working channel offers for pairing."""

    channel: str
    address: Callable[[str], str]  # Returns the link that sends this payload to the bot
    typed: bool = False  # The link only leads to the bot: the person sends the payload as a message
    greet: Callable[[Any], Awaitable[None]]  # Tells this chat that it is paired. :raises NotPaired:


class Pairing:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._codes: list[Code] = []
        self._guesses: deque[tuple[float, int | str]] = deque(maxlen=MAX_REMEMBERED_GUESSES)
        self._warned = False
        self._bots: dict[str, Bot] = {}
        self._works = asyncio.Event()

    @contextmanager
    def opened(self, *, channel: str | None = None) -> Iterator[Code]:
        """Create a code that is valid within the block. :raises TooManyCodes:"""
        now = self._clock.time()
        if sum(now < code.until for code in self._codes) >= MAX_OPEN_CODES:
            raise TooManyCodes(limit=MAX_OPEN_CODES)
        text = "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_LENGTH))
        code = Code(text=text, until=now + CODE_SECONDS, channel=channel)
        self._codes.append(code)
        try:
            yield code
        finally:
            self._drop(code)

    @property
    def waits(self) -> bool:
        """Whether a code is open."""
        return bool(self._codes)

    async def bot(self, channel: str) -> Bot:
        """Wait for a working bot of this channel and return it."""
        while channel not in self._bots:
            self._works.clear()
            await self._works.wait()
        return self._bots[channel]

    @contextmanager
    def works_with(self, bot: Bot) -> Iterator[None]:
        """Offer a bot within the block."""
        self._bots[bot.channel] = bot
        self._works.set()
        try:
            yield
        finally:
            del self._bots[bot.channel]

    def claim(self, payload: str, claim: Claim) -> bool:
        """Use up an open code and return True. Otherwise nothing has changed, and the sender should
        be treated like any stranger."""
        found = _PAYLOAD.fullmatch(payload)
        if found is None:
            return False
        now = self._clock.time()
        # A clock that was set back must not keep guesses forever.
        while self._guesses and not 0 <= now - self._guesses[0][0] < GUESS_WINDOW_SECONDS:
            self._guesses.popleft()
        many = len(self._guesses) >= MAX_GUESSES
        if many and not self._warned:
            log.warning("many people guess pairing codes; each has one try for some minutes")
        self._warned = many
        own = sum(guesser == claim.person for _, guesser in self._guesses)
        if own >= (1 if many else MAX_GUESSES_PER_PERSON):
            return False
        # Compare all of them completely, so that the time reveals nothing.
        given = found[1].encode()
        fitting = [code for code in self._codes if hmac.compare_digest(code.text.encode(), given)]
        usable = (code for code in fitting if code.channel in (None, claim.channel))
        code = next((code for code in usable if now < code.until), None)
        if code is None:
            self._guesses.append((now, claim.person))
            return False
        self._drop(code)
        code.claim = claim
        code.claimed.set()
        return True

    def _drop(self, code: Code) -> None:
        self._codes = [it for it in self._codes if it is not code]
