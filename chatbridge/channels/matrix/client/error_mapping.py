"""What a homeserver's answers mean, and what it means when none comes: nio's words in ours.

No error keeps its cause: addresses and headers of a request are in it.
"""

from __future__ import annotations

import logging
from typing import TypeVar

import aiohttp
from nio.exceptions import EncryptionError, LocalProtocolError, OlmTrustError
from nio.responses import ErrorResponse, Response
from peewee import PeeweeException

from chatbridge.channels.matrix.client.errors import LoggedOut, MayNot, Rejected
from chatbridge.core.cards.phrases import format_certificate_advice
from chatbridge.core.errors import ChatbridgeError, ChatRefused, RetryLater

log = logging.getLogger(__name__)

T = TypeVar("T", bound=Response)

LONGEST_PAUSE = 3600.0
LONGEST_REASON = 200
UNKNOWN_TOKEN = ("M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED")
NOT_ALLOWED = ("M_FORBIDDEN", "M_NOT_FOUND", "M_UNKNOWN")
"""About a room: it is closed to the bot, or there is no such room."""
UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What nio does with an answer in another form than it expects."""


class Refusal(Exception):
    """An answer that is an error."""

    def __init__(self, answer: ErrorResponse) -> None:
        self.answer = answer


def checked(answer: object, kind: type[T]) -> T:
    if isinstance(answer, ErrorResponse):
        raise Refusal(answer)
    if not isinstance(answer, kind):
        raise TypeError(type(answer).__name__)
    return answer


def meaning_of(
    error: Exception, *, user: str, hint: str, room: str | None, inside: bool
) -> Exception:
    """`room` is where something was to be done, `inside` whether the bot is known to be there;
    `hint` says where the log-in is set."""
    match error:
        case ChatbridgeError():
            return error
        case Refusal(answer=answer):
            return _refusal(answer, user=user, hint=hint, room=room, inside=inside)
        case TimeoutError():
            return RetryLater("matrix: the homeserver did not answer in time")
        case aiohttp.ClientConnectorCertificateError(certificate_error=why):
            reason = str(getattr(why, "verify_message", type(why).__name__)).rstrip(".")
            what_to_do = format_certificate_advice("matrix.homeserver")
            return RetryLater(
                f"matrix: the homeserver's certificate is not trusted ({reason}). {what_to_do}"
            )
        case aiohttp.ClientError() | OSError():
            return RetryLater(f"matrix: the homeserver cannot be reached ({type(error).__name__})")
        case LocalProtocolError() if room is not None and not inside:
            return _not_in(room, user)
        case LocalProtocolError() | EncryptionError() | OlmTrustError() | PeeweeException():
            return RetryLater(f"matrix: encryption does not work ({type(error).__name__})")
        case _ if isinstance(error, UNREADABLE):
            log.debug("the homeserver's answer has another form: %r", type(error))
            return RetryLater("matrix: the homeserver's answer cannot be read")
        case _:
            return error


def _refusal(
    answer: ErrorResponse, *, user: str, hint: str, room: str | None, inside: bool
) -> Exception:
    code, said = str(answer.status_code or ""), str(answer.message or "")[:LONGEST_REASON]
    status = int(getattr(answer.transport_response, "status", 0))
    if code == "M_LIMIT_EXCEEDED" or status == 429:
        return RetryLater("matrix: the homeserver asks for a pause (429)", after=_pause(answer))
    if code in UNKNOWN_TOKEN:
        return LoggedOut(
            f"matrix refused the access token ({code}). Check {hint}, then run: chatbridge stop. "
            "Open questions wait",
            soft=bool(getattr(answer, "soft_logout", False)),
        )
    if status == 404 and not code.startswith("M_"):
        return RetryLater("matrix: there is no homeserver at this address. Check matrix.homeserver")
    if not code.startswith("M_") or status >= 500:
        return RetryLater(f"matrix: the homeserver cannot be reached ({status or 'no answer'})")
    if room is None or code not in NOT_ALLOWED:
        return Rejected(code, said)
    if not inside or "not in room" in said:
        return _not_in(room, user)
    return MayNot(
        f"matrix: the bot may not write to the room {room} ({code}: {said}). Let somebody with the "
        "power to do so raise the bot's power level"
    )


def _not_in(room: str, user: str) -> ChatRefused:
    return ChatRefused(
        f"matrix: the bot is not in the room {room}. Invite {user} there, from an account in "
        "matrix.allowed_users"
    )


def _pause(answer: ErrorResponse) -> float:
    """In seconds: what the header says, else the body."""
    headers = getattr(answer.transport_response, "headers", {})
    try:
        said = headers.get("Retry-After")
        seconds = float(said) if said else float(answer.retry_after_ms or 1000) / 1000.0
    except ValueError:
        return 1.0
    return min(max(seconds, 0.1), LONGEST_PAUSE) if seconds == seconds else 1.0
