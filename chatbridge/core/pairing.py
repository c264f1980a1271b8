"""How a person becomes one of those who may answer: codes that a terminal shows and a chat brings.

Owns the codes: single use, short-lived, few at a time, and not to be guessed. A claim allows nobody
anything; whether it was the right person is decided at the terminal, which then changes the
settings. So nothing here is kept: a hub that ends forgets its codes.
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

from chatbridge.core.errors import TooManyCodes
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Without what looks alike, and without vowels that make words."""
CODE_LENGTH = 8
CODE_SECONDS = 600.0
MAX_OPEN_CODES = 3
PREFIX = "p_"
GUESS_WINDOW_SECONDS = 600.0
MAX_GUESSES_PER_PERSON = 5
MAX_GUESSES = 60
"""After so many, whoever has guessed wrong is not heard. Others are: strangers must not be able to
keep the owner from pairing."""
MAX_REMEMBERED_GUESSES = 1000
_PAYLOAD = re.compile(rf"{PREFIX}([0-9A-Za-z_-]{{1,62}})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Who brought a code, as their chat service knows them."""

    channel: str
    person: int
    chat: int
    name: str
    username: str | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Code:
    text: str = field(repr=False)
    until: float
    claim: Claim | None = None
    claimed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def payload(self) -> str:
        """For a deep link."""
        return PREFIX + self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """What a channel offers while it works."""

    address: Callable[[str], str]
    """The link that brings this payload to the bot."""
    greet: Callable[[int], Awaitable[None]]
    """Say in this chat that it is paired. :raises NotPaired: it is not."""


class Pairing:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._codes: list[Code] = []
        self._guesses: deque[tuple[float, int]] = deque(maxlen=MAX_REMEMBERED_GUESSES)
        self._warned = False
        self._bot: Bot | None = None
        self._works = asyncio.Event()

    # ── for the terminal ──────────────────────────────────────────────────────────────────────────

    @contextmanager
    def opened(self) -> Iterator[Code]:
        """A new code. It is gone with the block. :raises TooManyCodes:"""
        now = self._clock.time()
        living = [code for code in self._codes if now < code.until]
        if len(living) >= MAX_OPEN_CODES:
            raise TooManyCodes(limit=MAX_OPEN_CODES)
        code = Code(
            text="".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_LENGTH)),
            until=now + CODE_SECONDS,
        )
        self._codes.append(code)
        try:
            yield code
        finally:
            self._drop(code)

    async def bot(self) -> Bot:
        """Once there is one that works."""
        await self._works.wait()
        assert self._bot is not None
        return self._bot

    # ── for the channel ───────────────────────────────────────────────────────────────────────────

    @contextmanager
    def works_with(self, bot: Bot) -> Iterator[None]:
        """The channel receives meanwhile."""
        self._bot = bot
        self._works.set()
        try:
            yield
        finally:
            self._works.clear()
            self._bot = None

    def claim(self, payload: str, claim: Claim) -> bool:
        """Whether this is an open code; it is used up then. Otherwise nothing has happened, and
        whoever tried is to get what any stranger gets.

        An update that comes again after a crash or a failed commit finds its code used or gone: a
        claim counts once at most."""
        found = _PAYLOAD.fullmatch(payload)
        if found is None:
            return False
        now = self._clock.time()
        self._forget_guesses(now)
        if self._guesses_too_often(claim.person):
            return False
        # All are compared, and each whole: how long it takes says nothing.
        given = found[1].encode()
        fitting = [code for code in self._codes if hmac.compare_digest(code.text.encode(), given)]
        open_ones = [code for code in fitting if now < code.until]
        if not open_ones:
            self._guesses.append((now, claim.person))
            return False
        self._drop(open_ones[0])
        open_ones[0].claim = claim
        open_ones[0].claimed.set()
        return True

    def _drop(self, code: Code) -> None:
        self._codes = [it for it in self._codes if it is not code]

    def _forget_guesses(self, now: float) -> None:
        # A clock that was set back must not keep them for ever.
        while self._guesses and not 0 <= now - self._guesses[0][0] < GUESS_WINDOW_SECONDS:
            self._guesses.popleft()

    def _guesses_too_often(self, person: int) -> bool:
        many = len(self._guesses) >= MAX_GUESSES
        if many and not self._warned:
            log.warning("many people guess pairing codes; each has one try for some minutes")
        self._warned = many
        own = sum(guesser == person for _, guesser in self._guesses)
        return own >= (1 if many else MAX_GUESSES_PER_PERSON)
