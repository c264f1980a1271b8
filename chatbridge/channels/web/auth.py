"""Who may use the inbox: the token of scripts, the cookie of a browser, the codes that lead to one.

Owns the secrets and their checks. Which requests need which of them is the guard's business.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from enum import Enum, auto

from chatbridge.core.ports import Clock

COOKIE_SECONDS = 90 * 24 * 3600
CODE_SECONDS = 600

_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""32 letters and digits that cannot be mistaken for one another: five bits each."""
_CODE_LETTERS = 12
_CODES_AT_ONCE = 32
_TRIES = 10
_TRIES_SECONDS = 60.0
_ADDRESSES = 1024


class Keys:
    """The web token, and the cookies signed with a key derived from it."""

    def __init__(self, token: str, *, clock: Clock) -> None:
        self._token = token.encode()
        self._clock = clock
        self._key = hmac.digest(self._token, b"chatbridge web inbox cookie 1", "sha256")

    def fits_token(self, given: str) -> bool:
        # An empty token would let everybody in.
        return bool(self._token) and hmac.compare_digest(given.encode(), self._token)

    def new_cookie(self) -> str:
        expires = int(self._clock.time()) + COOKIE_SECONDS
        stem = f"{expires}.{secrets.token_urlsafe(12)}"
        return f"{stem}.{self._signature(stem)}"

    def fits_cookie(self, value: str) -> bool:
        stem, _, signature = value.rpartition(".")
        expected = self._signature(stem)
        if not hmac.compare_digest(signature.encode(), expected.encode()):
            return False
        return self._clock.time() < int(stem.partition(".")[0])

    def _signature(self, stem: str) -> str:
        digest = hmac.digest(self._key, stem.encode(), "sha256")
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class CodeUse(Enum):
    ACCEPTED = auto()
    USED_BEFORE = auto()
    UNKNOWN = auto()
    """Never issued, or too old."""
    TOO_MANY_TRIES = auto()


class LoginCodes:
    """Single-use codes, kept as hashes until they are too old."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._codes: dict[bytes, tuple[float, bool]] = {}
        """When it ends, and whether it was used."""
        self._misses: dict[str, list[float]] = {}

    def new(self) -> str:
        self._forget_old()
        while len(self._codes) >= _CODES_AT_ONCE:
            del self._codes[next(iter(self._codes))]
        letters = "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_LETTERS))
        self._codes[_hashed(letters)] = (self._clock.time() + CODE_SECONDS, False)
        return "-".join(letters[i : i + 4] for i in range(0, _CODE_LETTERS, 4))

    def use(self, code: str, *, address: str) -> CodeUse:
        """Use a code up. Wrong ones are counted for each address they come from. A right one is
        always taken: nobody can guess one, and strangers behind the same address must not be able
        to keep its owner out."""
        self._forget_old()
        now = self._clock.time()
        key = _hashed(code)
        ends, used = self._codes.get(key, (0.0, False))
        if ends and not used:
            self._codes[key] = (ends, True)
            return CodeUse.ACCEPTED
        misses = [at for at in self._misses.get(address, ()) if at > now - _TRIES_SECONDS]
        if len(misses) >= _TRIES:
            return CodeUse.TOO_MANY_TRIES
        self._misses.pop(address, None)
        while len(self._misses) >= _ADDRESSES:
            del self._misses[next(iter(self._misses))]
        self._misses[address] = [*misses, now]
        return CodeUse.USED_BEFORE if used else CodeUse.UNKNOWN

    def _forget_old(self) -> None:
        now = self._clock.time()
        self._codes = {key: code for key, code in self._codes.items() if code[0] > now}


def _hashed(code: str) -> bytes:
    """People type codes in small letters, and without the dashes."""
    letters = "".join(c for c in code.upper() if c.isalnum())
    return hashlib.sha256(letters.encode()).digest()
