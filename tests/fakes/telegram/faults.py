"""What goes wrong on purpose: for the next calls of a method, before or after their effect."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fakes.telegram.replies import Cut, Later, Outcome, Refusal, Reply, refused

Params = dict[str, Any]
PATIENCE = 20.0
BAD_GATEWAY = b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>\r\n"
_PHRASES = {
    401: "Unauthorized",
    403: "Forbidden: bot was blocked by the user",
    500: "Internal Server Error",
}


class Hold:
    """An answer that waits for the test."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[Callable[[], None]] = []
        self._released = False
        self._arrived = 0

    def arrived(self, count: int = 1) -> None:
        """Wait until so many requests are held here."""
        with self._changed:
            there = self._changed.wait_for(lambda: self._arrived >= count, PATIENCE)
        assert there, f"only {self._arrived} of {count} requests came"

    def release(self) -> None:
        """Let all go on that are held, and hold none any more."""
        with self._changed:
            self._released = True
            waiting, self._waiting = self._waiting, []
        for go_on in waiting:
            go_on()

    def add(self, go_on: Callable[[], None]) -> None:
        with self._changed:
            self._arrived += 1
            self._changed.notify_all()
            if not self._released:
                self._waiting.append(go_on)
                return
        go_on()


@dataclass(slots=True, kw_only=True)
class Fault:
    method: str
    times: int
    when: Callable[[Params], bool] | None
    after_effect: bool = False
    outcome: Outcome | None = None
    rewrite: Callable[[bytes], bytes] | None = None
    """What becomes of the answer's body."""
    hold: Hold | None = None
    cut_after: int | None = None
    """How many bytes of the answer's body come."""

    def fits(self, method: str, params: Params) -> bool:
        named = self.method in ("*", method)
        return named and self.times > 0 and (self.when is None or self.when(params))


@dataclass(slots=True)
class Faults:
    """In the order in which they were asked for; a call takes the first that fits."""

    _coming: list[Fault] = field(default_factory=list)

    def add(self, fault: Fault) -> None:
        self._coming.append(fault)

    def take(self, method: str, params: Params) -> Fault | None:
        for fault in self._coming:
            if fault.fits(method, params):
                fault.times -= 1
                if not fault.times:
                    self._coming.remove(fault)
                return fault
        return None

    def clear(self) -> None:
        self._coming.clear()


def failure(status: int, *, retry_after: int | None, description: str | None) -> Reply:
    """The answer that comes with a status."""
    if status == 502:
        return Reply(status=502, body=BAD_GATEWAY, kind="text/html", description="Bad Gateway")
    if status == 429:
        seconds = 1 if retry_after is None else retry_after
        words = f"Too Many Requests: retry after {seconds}"
        return refused(Refusal(429, description or words, retry_after=seconds))
    return refused(Refusal(status, description or _PHRASES.get(status, "Bad Request: failed")))


GARBAGE = Reply(body=b'{"ok":true,"result":{"message_id":')


def run_with(
    fault: Fault,
    effect: Callable[[], Outcome | Later],
    *,
    in_loop: Callable[[Callable[[], None]], None],
) -> Outcome | Later:
    """The effect of a call, with the fault before or after it. `in_loop` runs something in the
    server's loop."""
    if not fault.after_effect:
        if fault.hold is None:
            return fault.outcome or Cut()
        return _held(fault.hold, effect, in_loop=in_loop)
    happened = effect()
    changed = Later(abandoned=happened.abandon if isinstance(happened, Later) else None)

    def then(outcome: Outcome) -> None:
        if fault.cut_after is not None and isinstance(outcome, Reply):
            changed.settle(replace(outcome, cut_after=fault.cut_after))
        elif fault.rewrite is not None and isinstance(outcome, Reply):
            changed.settle(replace(outcome, body=fault.rewrite(outcome.body)))
        elif fault.hold is None:
            changed.settle(fault.outcome or Cut())
        else:
            fault.hold.add(lambda: changed.settle(outcome))

    if isinstance(happened, Later):
        happened.when_settled(then)
    else:
        then(happened)
    return changed


def _held(
    hold: Hold,
    effect: Callable[[], Outcome | Later],
    *,
    in_loop: Callable[[Callable[[], None]], None],
) -> Later:
    held = Later()
    gone = False

    def leave() -> None:
        nonlocal gone
        gone = True

    def go_on() -> None:
        # The request is here: it takes effect whether or not anybody waits for the answer.
        happened = effect()
        if not isinstance(happened, Later):
            held.settle(happened)
        elif gone:
            happened.abandon()
        else:
            held.abandoned = happened.abandon
            happened.when_settled(held.settle)

    held.abandoned = leave
    hold.add(lambda: in_loop(go_on))
    return held
