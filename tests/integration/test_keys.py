"""Single keys of a terminal: which count."""

from __future__ import annotations

import os
import pty
import select
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from chatbridge.cli.ui import prompts

pytestmark = pytest.mark.timeout(10)  # a key that is dropped is waited for

Press = Callable[[bytes], object]


@pytest.fixture
def press() -> Iterator[Press]:
    """On the keyboard of the terminal that is this process' standard input."""
    keyboard, terminal = pty.openpty()
    before = os.dup(0)
    os.dup2(terminal, 0)
    try:
        yield partial(os.write, keyboard)
    finally:
        os.dup2(before, 0)
        for descriptor in (keyboard, terminal, before):
            os.close(descriptor)


def test_enter_counts_in_the_moment_in_which_it_is_asked_for(press: Press) -> None:
    assert prompts.enter_or_escape(lambda: press(b"\r"))


def test_escape_leaves(press: Press) -> None:
    assert not prompts.enter_or_escape(lambda: press(b"x\x1b"))


def test_what_was_pressed_before_anybody_asked_does_not_count(press: Press) -> None:
    press(b"\r")
    assert select.select([0], [], [], 5.0)[0], "it has not arrived"
    assert not prompts.enter_or_escape(lambda: press(b"\x1b"))
