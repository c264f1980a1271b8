"""Why a service cannot be reached: aiohttp's errors as ours. And the pauses that it asks for.

None keeps its cause, which may have an address with a token in it.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable

import aiohttp

from chatbridge.core.cards.phrases import format_certificate_advice
from chatbridge.core.errors import RetryLater, TokenRejected
from chatbridge.core.text import one_line, shortened

LONGEST_PAUSE = 3600.0
LONGEST_REASON = 200


def unreachable(error: BaseException, service: str) -> RetryLater:
    """`service` is the channel's name."""
    unsent = isinstance(error, aiohttp.ClientConnectorError)
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            why, advice = cause.verify_message, format_certificate_advice(f"{service}.api_base")
            said = f"{service}'s certificate is not trusted ({why.rstrip('.')}). {advice}"
            return RetryLater(said, unsent=True)
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, TimeoutError) and not unsent:
        return RetryLater(f"{service} did not answer in time")
    return RetryLater(f"{service} cannot be reached ({type(error).__name__})", unsent=unsent)


def token_rejected(what: str, *, hint: str) -> TokenRejected:
    """`what` says which service did so, and its code; `hint` says where the token is set."""
    return TokenRejected(f"{what}. Check {hint}, then run: chatbridge restart")


def pause(said: object) -> float:
    """The seconds that a service asks for; one, if it does not say how many."""
    try:
        seconds = float(str(said))
    except ValueError:
        return 1.0
    return min(max(seconds, 0.0), LONGEST_PAUSE) if seconds == seconds else 1.0


class Pauses:
    """Until when a service takes no more requests, by what it counts them. Who asks all the same
    may be shut out."""

    def __init__(self, service: str, monotonic: Callable[[], float]) -> None:
        self._service = service
        self._monotonic = monotonic
        self._until: dict[str, float] = {}

    def begin(self, counted: str, said: object) -> None:
        self._until[counted] = self._monotonic() + pause(said)

    def check(self, *counted: str) -> None:
        """:raises RetryLater: it is too early."""
        now = self._monotonic()
        self._until = {each: until for each, until in self._until.items() if until > now}
        until = max((self._until.get(each, now) for each in counted), default=now)
        if until > now:
            raise RetryLater(f"{self._service} asks for a pause (429)", after=until - now)


def words(said: object) -> str:
    """What a service says, safe for a log."""
    return shortened(one_line(str(said or "")), LONGEST_REASON)
