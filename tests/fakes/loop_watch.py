"""Which functions are called in one thread: that of the test, and so of its event loop."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import unwrap
from types import FrameType


@contextmanager
def calls_in_this_thread(*functions: Callable[..., object]) -> Iterator[list[str]]:
    """The names of those of `functions` that are called in this thread. In others they may be."""
    names = {unwrap(function).__code__: function.__name__ for function in functions}
    called: list[str] = []

    def note(frame: FrameType, event: str, _value: object) -> None:
        if event == "call" and frame.f_code in names:
            called.append(names[frame.f_code])

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(before)
