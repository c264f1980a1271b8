"""What goes wrong with any service: a token, a certificate, a pause that it asks for.

None of these errors keeps its cause, which may have an address with a token in it.
"""

from __future__ import annotations

from chatbridge.core.cards.phrases import format_certificate_advice
from chatbridge.core.errors import RetryLater, TokenRejected
from chatbridge.core.text import one_line, shortened

LONGEST_PAUSE = 3600.0
LONGEST_REASON = 200


def token_rejected(what: str, *, hint: str) -> TokenRejected:
    """`what` says which service did so, and its code; `hint` says where the token is set."""
    return TokenRejected(f"{what}. Check {hint}, then run: chatbridge restart")


def asks_for_pause(service: str, after: float | None) -> RetryLater:
    return RetryLater(f"{service} asks for a pause (429)", after=after)


def pause(said: object, *, usual: float = 1.0, least: float = 0.0) -> float:
    """The seconds that a service asks for; the `usual` ones, if it does not say how many."""
    try:
        seconds = float(str(said))
    except ValueError:
        return usual
    return min(max(seconds, least), LONGEST_PAUSE) if seconds == seconds else usual


def untrusted(error: BaseException | None, server: str, *, setting: str) -> str | None:
    """What to do about a server's certificate, if that is why it could not be reached. `setting`
    has its address."""
    while error is not None:
        # aiohttp's own error is one as well, and does not say why.
        if why := getattr(error, "verify_message", ""):
            advice = format_certificate_advice(setting)
            return f"{server}'s certificate is not trusted ({why.rstrip('.')}). {advice}"
        error = error.__cause__ or error.__context__
    return None


def words(said: object) -> str:
    """What a service says, safe for a log."""
    return shortened(one_line(str(said or "")), LONGEST_REASON)
