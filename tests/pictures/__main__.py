"""Draws the pictures of the documentation anew: make pictures

Cards are drawn by the channels themselves; the chat around them is only suggested.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.pictures import chats

FOLDER = Path("docs/pictures")
WIDTH = 390


def main() -> int:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.stderr.write("No Chromium or Google Chrome on PATH. Run: .ci/browser set-up\n")
        return 1
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, page in chats.pages().items():
            context = browser.new_context(
                viewport={"width": WIDTH, "height": 200}, device_scale_factor=1.5
            )
            tab = context.new_page()
            tab.set_content(page)
            tab.screenshot(path=FOLDER / f"{name}.png", full_page=True)
            print(f"  {FOLDER / name}.png")
            context.close()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
