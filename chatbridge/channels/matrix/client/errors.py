"""What a homeserver can answer, as this channel tells it apart. Shared: `core.errors`."""

from __future__ import annotations

from chatbridge.core.errors import ChatbridgeError, ChatRefused, TokenRejected


class Rejected(ChatbridgeError):
    """The homeserver does not take this request, however often it is made."""

    def __init__(self, code: str, said: str) -> None:
        self.code = code
        super().__init__(f"{code}: {said}" if said else code)


class MayNot(ChatRefused):
    """The bot is in the room, and has not the power to do this there."""


class LoggedOut(TokenRejected):
    """The access token no longer counts. After a soft log-out the device is still there, and a new
    log-in can go on with it."""

    def __init__(self, message: str, *, soft: bool, after: float = 0.0) -> None:
        self.soft = soft
        super().__init__(message, after=after)
