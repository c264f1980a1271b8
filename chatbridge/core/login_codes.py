"""Single-use codes that log a browser in to the inbox, and proofs that an address leads to it.

Owns their list, which is one note of the store: `chatbridge setup` shows a code, and restarts the
hub before it is used. A code that was created with the token is in no note: who changes a stolen
token, and restarts the hub, ends what was made with it. Part of the core because the hub creates
them before any channel is imported.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from enum import Enum, auto

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.model import ChannelState
from chatbridge.core.ports import Clock

CODE_SECONDS = 600
CHANNEL, KEY = "web", "login-codes"
PROOF_HEADER = "x-chatbridge-proof"
"""Of a request to `/healthz` that asks for a proof."""

_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # None look alike: five bits each
_CODE_LETTERS = 12
_CODES_AT_ONCE = 32
_PROOFS_AT_ONCE = 32
_TRIES = 10
_TRIES_SECONDS = 60.0
_ADDRESSES = 1024


class CodeUse(Enum):
    ACCEPTED = auto()
    ACCEPTED_BY_TOKEN = auto()  # It was created with the token, so a script may be using it
    USED_BEFORE = auto()
    UNKNOWN = auto()  # Never created, or expired
    TOO_MANY_TRIES = auto()


ACCEPTED = frozenset({CodeUse.ACCEPTED, CodeUse.ACCEPTED_BY_TOKEN})
_KEPT = frozenset({CodeUse.ACCEPTED.name, CodeUse.USED_BEFORE.name})


class LoginCodes:
    """Single-use codes, kept as hashes until they expire."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._inbox: AskActions | None = None
        self._codes: dict[str, tuple[float, CodeUse]] = {}
        """By hash: when the code expires, and the result of its next use."""
        self._misses: dict[str, list[float]] = {}
        self._proofs: dict[str, str] = {}

    async def load(self, inbox: AskActions) -> None:
        """Load what the last hub stored there. Entries of another form are ignored."""
        self._inbox = inbox
        note = await inbox.note(CHANNEL, KEY)
        try:
            found = json.loads(note.value) if note else []
        except ValueError:
            found = []
        for each in found if isinstance(found, list) else []:
            match each:
                case [str(hashed), int() | float() as ends, str(use)] if use in _KEPT:
                    self._codes[hashed] = (ends, CodeUse[use])

    async def new(self, *, by_token: bool) -> str:
        """:raises StoreError: there is none then"""
        self._forget_old()
        while len(self._codes) >= _CODES_AT_ONCE:
            del self._codes[next(iter(self._codes))]
        letters = "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_LETTERS))
        use = CodeUse.ACCEPTED_BY_TOKEN if by_token else CodeUse.ACCEPTED
        self._codes[_hashed(letters)] = (self._clock.time() + CODE_SECONDS, use)
        await self._save()
        return "-".join(letters[i : i + 4] for i in range(0, _CODE_LETTERS, 4))

    async def use(self, code: str, *, address: str) -> CodeUse:
        """Use up a code. Wrong ones are counted for each address. A valid one is always accepted:
        nobody can guess it, and strangers behind the same address must not lock its owner out.

        :raises StoreError: it is used up, but nobody is to be let in: the next hub would do so, too
        """
        self._forget_old()
        now = self._clock.time()
        key = _hashed(code)
        ends, use = self._codes.get(key, (0.0, CodeUse.UNKNOWN))
        if use in ACCEPTED:
            self._codes[key] = (ends, CodeUse.USED_BEFORE)
            await self._save()
            return use
        misses = [at for at in self._misses.get(address, ()) if at > now - _TRIES_SECONDS]
        if len(misses) >= _TRIES:
            return CodeUse.TOO_MANY_TRIES
        self._misses.pop(address, None)
        while len(self._misses) >= _ADDRESSES:
            del self._misses[next(iter(self._misses))]
        self._misses[address] = [*misses, now]
        return use

    def new_proof(self) -> tuple[str, str]:
        """A question for the inbox, and the answer that only this hub's gives, once."""
        while len(self._proofs) >= _PROOFS_AT_ONCE:
            del self._proofs[next(iter(self._proofs))]
        question, answer = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
        self._proofs[question] = answer
        return question, answer

    def proof_for(self, question: str) -> str | None:
        return self._proofs.pop(question, None)

    async def _save(self) -> None:
        assert self._inbox is not None, "not loaded"
        codes = self._codes.items()
        listed = [[hashed, ends, use.name] for hashed, (ends, use) in codes if use.name in _KEPT]
        value, at = json.dumps(listed), self._clock.time()
        await self._inbox.remember(ChannelState(channel=CHANNEL, key=KEY, value=value, at=at))

    def _forget_old(self) -> None:
        now = self._clock.time()
        # A clock that was set back must not keep one for long.
        latest = now + 2 * CODE_SECONDS
        self._codes = {key: it for key, it in self._codes.items() if now < it[0] < latest}


def _hashed(code: str) -> str:
    """Ignores case and dashes, as people type codes without them."""
    letters = "".join(c for c in code.upper() if c.isalnum())
    return hashlib.sha256(letters.encode()).hexdigest()
