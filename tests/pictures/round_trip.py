"""The animated picture: a question on its way to the phone, and its answer on the way back.

A real agent on a terminal, link, hub and inbox, and a finger that taps in a real browser. Only how
long each moment is shown is made up.
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
from playwright.sync_api import Browser, Locator, Page, expect

from tests.acceptance.bridge import Home, new_home
from tests.fakes.on_terminal import in_pipe
from tests.fakes.pty_person import ENTER, PtyPerson, at_terminal
from tests.pictures import agent, screen

PHONE = (390, 844)
WIDTH, HEIGHT, SHARPNESS = 800, 480, 2
PHONE_SHOWN = 330
"""How wide the phone's page is in the picture; its lower end is cut off."""
COLUMNS, ROWS = 48, 20
COLOURS = 256
ORDER = "Run the integration tests in CI"
ANSWER = "PostgreSQL in Docker"
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
    phone: Page
    frames: list[tuple[Image.Image, int]] = field(default_factory=list)
    _seen: bytes = b""

    def show(self, milliseconds: int, tap: Tap | None = None) -> None:
        self._seen = self.phone.screenshot(animations="disabled")
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

    def tap(self, place: Locator) -> None:
        place.wait_for()
        box = place.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2
        self.show(350, Tap(x, y, down=False))
        self.show(250, Tap(x, y, down=True))
        place.tap()


def draw(browser: Browser, path: Path) -> None:
    with new_home() as home:
        phone = _logged_in(browser, home)
        with at_terminal(
            [sys.executable, "-m", "tests.pictures.agent"],
            env={"PATH": os.environ["PATH"], **home.environment},
            cwd=home.project("shop-api"),
            columns=COLUMNS,
            rows=ROWS,
        ) as terminal:
            film = Film(browser, terminal, phone)
            _play(film)
    _write(film.frames, path)


def _logged_in(browser: Browser, home: Home) -> Page:
    """The phone with the inbox, which is empty. As its owner does it: the link, and one button."""
    assert in_pipe(home.environment, "inbox").returncode == 0
    address = home.person.address()
    context = browser.new_context(
        viewport={"width": PHONE[0], "height": PHONE[1]},
        device_scale_factor=PHONE_SHOWN * SHARPNESS / PHONE[0],
        has_touch=True,
        timezone_id="UTC",
        locale="en-GB",
    )
    page = context.new_page()
    code = home.person.request("/api/login-codes", {})["code"]
    page.goto(f"{address}/login/{code}")
    page.get_by_role("button", name="Log in").tap()
    expect(page.locator("#live")).to_have_text("Live")
    return page


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
    question = phone.get_by_text("Which database").first
    question.wait_for()
    film.show(1500)
    film.tap(question)
    option = phone.get_by_role("button", name=ANSWER)
    option.wait_for()
    film.show(1700)
    film.tap(option)
    terminal.ends(0)
    expect(phone.get_by_text("Delivered")).to_be_visible()
    film.show(4500)


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
