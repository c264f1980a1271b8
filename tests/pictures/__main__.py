"""Draws the pictures of the documentation anew: make pictures

Cards are drawn by the channels themselves or sent by them to the tests' servers, the chat around
them is only suggested; terminals are what the commands show; the animated picture is a recording.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.pictures import chats, round_trip, services, terminals

FOLDER = Path("docs/pictures")
PHONE, TERMINAL = 390, 700


def main() -> int:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.stderr.write("No Chromium or Google Chrome on PATH. Run: .ci/browser set-up\n")
        return 1
    FOLDER.mkdir(exist_ok=True)
    drawn = {name: (page, PHONE) for name, page in (chats.pages() | services.pages()).items()}
    drawn |= {name: (page, TERMINAL) for name, page in terminals.pages().items()}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (page, width) in drawn.items():
            context = browser.new_context(
                viewport={"width": width, "height": 60}, device_scale_factor=1.5
            )
            tab = context.new_page()
            tab.set_content(page)
            tab.screenshot(path=FOLDER / f"{name}.png", full_page=True)
            print(f"  {FOLDER / name}.png")
            context.close()
        round_trip.draw(browser, FOLDER / "round-trip.gif")
        print(f"  {FOLDER / 'round-trip.gif'}")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
