"""The animated picture: a question on its way to the phone, and its answer on the way back.

A real agent on a terminal, link and hub, and the tests' Bot API server, whose messages are shown as
a phone might. Only the phone's looks and how long each moment is shown are made up.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Locator, Page

from chatbridge.channels.chat.notices import paired
from tests.acceptance.thumb import telegram_home
from tests.fakes.pty_person import ENTER, PtyPerson, at_terminal
from tests.fakes.telegram.people import Card, Phone
from tests.pictures import agent, chats, screen
from tests.telegram_html import write

PHONE = (390, 844)
WIDTH, HEIGHT, SHARPNESS = 800, 480, 2
PHONE_SHOWN = 330
"""How wide the phone's page is in the picture; its lower end is cut off."""
COMPUTER, BOT = "laptop", "my agents"
COLUMNS, ROWS = 48, 20
COLOURS = 256
ORDER = "Run the integration tests in CI"
ANSWER = "PostgreSQL in Docker"
DELIVERED = "delivered"
STYLE = """
* { box-sizing: border-box }
body { margin: 0; background: #e4ece8; overflow: hidden; font: 12px/1 system-ui, sans-serif }
.terminal { position: absolute; left: 22px; top: 24px; width: 400px; height: 432px;
  background: #0f1a16; border-radius: 10px; overflow: hidden }
.bar { height: 30px; padding: 10px 14px; background: #1c2b25; color: #a9bbb3 }
.terminal .screen { padding: 12px 14px }
.phone { position: absolute; left: 446px; top: 24px; width: 330px; height: 500px }
.phone img { position: absolute; width: 330px; border-radius: 18px }
.phone::after { content: ""; position: absolute; inset: -6px; border: 6px solid #26332d;
  border-radius: 24px }
.tap { position: absolute; width: 44px; height: 44px; margin: -22px; border-radius: 50%; z-index: 1;
  background: #0a6a5055; border: 2px solid #0a6a50aa }
.tap.down { transform: scale(.7); background: #0a6a5099 }
"""


@dataclass(frozen=True, slots=True)
class Tap:
    x: float
    y: float
    down: bool


@dataclass(slots=True)
class Film:
    """The moments so far, each with how long it is shown."""

    browser: Browser
    terminal: PtyPerson
    phone: Phone
    page: Page
    frames: list[tuple[Image.Image, int]] = field(default_factory=list)
    _seen: bytes = b""

    def show(self, milliseconds: int, tap: Tap | None = None) -> None:
        greeting = chats.message(write(paired(COMPUTER, here=True), now=0.0))
        shown = map(_message, self.phone.messages)
        self.page.set_content(chats.conversation(BOT, greeting, *shown))
        self._seen = self.page.screenshot()
        self.show_terminal(milliseconds, tap)

    def show_terminal(self, milliseconds: int, tap: Tap | None = None) -> None:
        """Beside the phone as it was shown last: the moment before it heard of anything."""
        shown = screen.drawn(self.terminal.written, columns=COLUMNS, rows=ROWS)
        page = _page(shown, self._seen, tap)
        context = self.browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SHARPNESS
        )
        tab = context.new_page()
        tab.set_content(page)
        image = Image.open(BytesIO(tab.screenshot())).convert("RGB")
        context.close()
        self.frames.append((image, milliseconds))

    def show_tap(self, place: Locator) -> None:
        box = place.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2
        self.show(350, Tap(x, y, down=False))
        self.show(350, Tap(x, y, down=True))


def draw(browser: Browser, path: Path) -> None:
    context = browser.new_context(
        viewport={"width": PHONE[0], "height": PHONE[1]},
        device_scale_factor=PHONE_SHOWN * SHARPNESS / PHONE[0],
    )
    with (
        telegram_home() as (home, phone),
        at_terminal(
            [sys.executable, "-m", "tests.pictures.agent"],
            env={"PATH": os.environ["PATH"], **home.environment},
            cwd=home.project("shop-api"),
            columns=COLUMNS,
            rows=ROWS,
        ) as terminal,
    ):
        film = Film(browser, terminal, phone, context.new_page())
        _play(film)
    _write(film.frames, path)


def _play(film: Film) -> None:
    terminal, phone = film.terminal, film.phone
    terminal.asks(agent.PROMPT.rstrip())
    film.show(600)
    for piece in _pieces(ORDER, 8):
        terminal.type(piece)
        terminal.asks(piece.rstrip())
        film.show(150)
    terminal.press(ENTER)
    terminal.expect(agent.WAITING)
    film.show_terminal(900)
    card = phone.sees("Which database")
    film.show(3200)
    film.show_tap(film.page.get_by_text(ANSWER).last)
    phone.tap(card, f"1 · {ANSWER}")
    terminal.ends(0)
    phone.until(card, lambda card: DELIVERED in card.text)
    film.show(4500)


def _message(card: Card) -> str:
    keys = iter(card.keys)
    return chats.message(card.html, [[next(keys) for _ in row] for row in card.rows])


def _pieces(text: str, length: int) -> Iterator[str]:
    for start in range(0, len(text), length):
        yield text[start : start + length]


def _page(shown: str, phone: bytes, tap: Tap | None) -> str:
    scale = PHONE_SHOWN / PHONE[0]
    finger = ""
    if tap is not None:
        place = f"left: {tap.x * scale:.0f}px; top: {tap.y * scale:.0f}px"
        finger = f'<div class="tap {"down" * tap.down}" style="{place}"></div>'
    image = base64.b64encode(phone).decode()
    return (
        f"<!doctype html><meta charset=utf-8><style>{STYLE}{screen.STYLE}</style>"
        f'<div class="terminal"><div class="bar">your agent, on your computer</div>{shown}</div>'
        f'<div class="phone"><img src="data:image/png;base64,{image}">{finger}</div>'
    )


def _write(frames: list[tuple[Image.Image, int]], path: Path) -> None:
    """With one palette for all: only what changes between two frames is stored."""
    last = frames[-1][0]
    every = Image.new("RGB", (last.width, last.height * len(frames)))
    for number, (image, _) in enumerate(frames):
        every.paste(image, (0, number * last.height))
    palette = every.quantize(COLOURS, dither=Image.Dither.NONE)
    images = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image, _ in frames]
    images[0].save(
        path,
        save_all=True,
        append_images=images[1:],
        duration=[milliseconds for _, milliseconds in frames],
        loop=0,
        optimize=False,
    )
