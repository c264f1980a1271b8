"""What a homeserver's answers mean, and what it means when none comes: nio's errors as ours. None
keeps its cause, which has addresses and headers of a request in it."""

from __future__ import annotations

import logging
from typing import TypeVar

import aiohttp
from nio.exceptions import EncryptionError, LocalProtocolError, OlmTrustError
from nio.responses import ErrorResponse, Response
from peewee import PeeweeException

from chatbridge.channels.chat.writer import MessageRejected
from chatbridge.channels.errors import LONGEST_REASON, pause, untrusted
from chatbridge.core.errors import ChatRefused, RetryLater, TokenRejected

log = logging.getLogger(__name__)

T = TypeVar("T", bound=Response)

NOT_ALLOWED = ("M_FORBIDDEN", "M_NOT_FOUND", "M_UNKNOWN")
"""About a room: it is closed to the bot, or there is no such room."""


class Rejected(MessageRejected):
    def __init__(self, code: str, said: str) -> None:
        self.code = code
        super().__init__(f"{code}: {said}" if said else code)


class MayNot(ChatRefused):
    """The bot is in the room, and has not the power to do this there."""


class LoggedOut(TokenRejected):
    """The access token no longer counts. After a soft log-out a new one can be for the device."""

    def __init__(self, message: str, *, soft: bool, after: float = 0.0) -> None:
        self.soft = soft
        super().__init__(message, after=after)


class Refusal(Exception):
    """An answer that is an error."""

    def __init__(self, answer: ErrorResponse) -> None:
        transport = answer.transport_response
        self.code = str(answer.status_code or "")
        self.said = str(answer.message or "")[:LONGEST_REASON]
        self.status = int(getattr(transport, "status", 0))
        self.soft = bool(getattr(answer, "soft_logout", False))
        said = getattr(transport, "headers", {}).get("Retry-After")
        self.pause = pause(said or float(answer.retry_after_ms or 1000) / 1000.0, least=0.1)


def checked(answer: T | ErrorResponse) -> T:
    if isinstance(answer, ErrorResponse):
        raise Refusal(answer)
    return answer


def meaning_of(
    error: Exception, *, user: str, hint: str, room: str | None, inside: bool
) -> Exception:
    """`room` is where something was to be done, `inside` whether the bot is known to be there;
    `hint` says where the log-in is set."""
    not_in = ChatRefused(
        f"matrix: the bot is not in the room {room}. Invite {user} there, from an account in "
        "matrix.allowed_users"
    )
    match error:
        case Refusal(code="M_LIMIT_EXCEEDED") | Refusal(status=429):
            return RetryLater("matrix: the homeserver asks for a pause (429)", after=error.pause)
        case Refusal(code="M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN" | "M_USER_DEACTIVATED" as code):
            return LoggedOut(
                f"matrix refused the access token ({code}). Check {hint}, then run: chatbridge "
                "restart. Open questions wait",
                soft=error.soft,
            )
        case Refusal(status=413):  # also from a proxy, in words of its own
            return Rejected("M_TOO_LARGE", "" if error.code != "M_TOO_LARGE" else error.said)
        case Refusal(status=404) if not error.code.startswith("M_"):
            return RetryLater(
                "matrix: there is no homeserver at this address. Check matrix.homeserver"
            )
        case Refusal(status=status) if status >= 500 or not error.code.startswith("M_"):
            return RetryLater(f"matrix: the homeserver cannot be reached ({status or 'no answer'})")
        case Refusal() if room is None or error.code not in NOT_ALLOWED:
            return Rejected(error.code, error.said)
        case Refusal() if not inside or "not in room" in error.said:
            return not_in
        case Refusal():
            return MayNot(
                f"matrix: the bot may not write to the room {room} ({error.code}: {error.said}). "
                "Let somebody with the power to do so raise the bot's power level"
            )
        case TimeoutError():
            return RetryLater("matrix: the homeserver did not answer in time")
        case aiohttp.ClientError() | OSError():
            server = "matrix: the homeserver"
            why = untrusted(error, server, setting="matrix.homeserver")
            return RetryLater(why or f"{server} cannot be reached ({type(error).__name__})")
        case LocalProtocolError() if room is not None and not inside:
            return not_in
        case LocalProtocolError() | EncryptionError() | OlmTrustError() | PeeweeException():
            return RetryLater(f"matrix: encryption does not work ({type(error).__name__})")
        case ArithmeticError() | AttributeError() | LookupError() | TypeError() | ValueError():
            # What nio does with an answer in another form than it expects.
            log.debug("the homeserver's answer has another form: %r", type(error))
            return RetryLater("matrix: the homeserver's answer cannot be read")
        case _:
            return error
