"""What a terminal shows while a code waits for its phone: picture, link, and what is wrong."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from chatbridge.cli.people.qr import coloured, qr_lines
from chatbridge.cli.ui import prompts

NARROWEST = 40
WAITING = "  … waiting for Start"


@contextmanager
def shown_code(link: str) -> Iterator[Screen]:
    screen = Screen(link)
    screen.show()
    try:
        yield screen
    finally:
        screen.end()


class Screen:
    def __init__(self, link: str) -> None:
        self._link = link
        self._inverted = False
        self._trouble: str | None = None
        self._width = shutil.get_terminal_size().columns
        self._rows = 0

    def show(self) -> None:
        """The last line is left open: it goes when the wait is over."""
        lines = self._lines()
        # A link that is wider than the window takes more rows than one.
        self._rows = sum(max(1, -(-len(text) // self._width)) for text, _ in lines)
        for text, is_picture in lines:
            if is_picture:
                print(f"    {coloured(text)}")
            else:
                prompts.say(text)
        self._wait()

    def invert(self) -> None:
        self._inverted = not self._inverted
        self._trouble = None  # it goes with the rest, and is said again
        print(f"\x1b[{self._rows}A\r\x1b[J", end="")
        self.show()

    def trouble(self, text: str | None) -> None:
        """Said once."""
        if text is not None and text != self._trouble:
            self._trouble = text
            print("\x1b[2K", end="")
            self._rows += prompts.remark(text)
            self._wait()

    def end(self) -> None:
        print("\x1b[2K", end="\r", flush=True)

    def _wait(self) -> None:
        inverts = self._width >= NARROWEST and not self._trouble
        keys = ["i: invert   Esc: later"] if inverts else []
        print(prompts.with_key(WAITING, *keys, prompts.LATER), end="\r", flush=True)

    def _lines(self) -> list[tuple[str, bool]]:
        """Each line, and whether it is one of the picture."""
        picture = qr_lines(self._link, inverted=self._inverted)
        fits = self._width >= max(NARROWEST, len(picture[0]) + 4)
        how = "or open" if fits else "open"
        lines = [("", False), *((line, True) for line in picture if fits)]
        once = "(works once, 10 min)"
        in_a_row = f"  {how}  {self._link}      {once}"
        if len(in_a_row) < self._width:
            return [*lines, (in_a_row, False), ("", False)]
        return [*lines, (f"  {how}  {once}", False), (self._link, False), ("", False)]
