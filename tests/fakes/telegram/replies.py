"""What a request gets: a body, a refusal in the Bot API's words, a cut connection, or all of these
later."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class Refusal(Exception):
    """The Bot API says no. `description` is what follows the status' own words."""

    def __init__(self, status: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.parameters = parameters


def bad_request(description: str, **parameters: int) -> Refusal:
    return Refusal(400, f"Bad Request: {description}", **parameters)


def too_many_requests(seconds: int) -> Refusal:
    return Refusal(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int = 200
    body: bytes
    kind: str = "application/json"
    description: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    cut_after: int | None = None
    """After how many bytes of the body the connection ends, if before its end."""


@dataclass(frozen=True, slots=True)
class Cut:
    """No answer: the connection is closed."""


Outcome = Reply | Cut


def result(value: Any) -> Reply:
    return Reply(body=json.dumps({"ok": True, "result": value}, separators=(",", ":")).encode())


def refused(error: Refusal) -> Reply:
    body = {"ok": False, "error_code": error.status, "description": error.description}
    if error.parameters:
        body["parameters"] = error.parameters
    seconds = error.parameters.get("retry_after")
    return Reply(
        status=error.status,
        body=json.dumps(body).encode(),
        description=error.description,
        headers=() if seconds is None else (("Retry-After", str(seconds)),),
    )


@dataclass(slots=True)
class Later:
    """An outcome that is not there yet. May be settled from any thread; the first time counts."""

    outcome: Outcome | None = None
    abandoned: Callable[[], None] | None = None
    """Called when the client has gone meanwhile."""
    _listeners: list[Callable[[Outcome], None]] = field(default_factory=list)

    def settle(self, outcome: Outcome) -> None:
        if self.outcome is None:
            self.outcome = outcome
            for listener in self._listeners:
                listener(outcome)

    def when_settled(self, listener: Callable[[Outcome], None]) -> None:
        if self.outcome is None:
            self._listeners.append(listener)
        else:
            listener(self.outcome)

    def abandon(self) -> None:
        if self.outcome is None and self.abandoned is not None:
            self.abandoned()
