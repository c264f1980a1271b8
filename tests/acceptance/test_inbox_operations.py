"""Operations that have ended, on an open page: they come in by themselves, and all of what they
printed is one tap away and runs nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from playwright.async_api import Browser, expect

from tests.acceptance.browser import IN_BROWSER, PHONE, visiting
from tests.acceptance.test_inbox_screens import TOO_SMALL_OR_OUTSIDE
from tests.ended_operations import BADLY, HOSTILE, OPERATION, WELL

pytestmark = IN_BROWSER

PRINTED = "<script>window.hacked = 1</script>\n\x1b[31mE   assert 1 == 2\x1b[0m\n"


async def test_an_end_comes_in_fits_a_phone_and_opens_its_whole_output(
    browser: Browser, tmp_path: Path
) -> None:
    async with visiting(browser, tmp_path, PHONE) as visit:
        page, desk = await visit.open("/?all"), visit.inbox.desk
        desk.outputs[OPERATION] = PRINTED.encode() + b"x" * 5_000
        await desk.tell_end(replace(WELL, whole=True))
        await desk.tell_end(replace(HOSTILE, tail=f"{HOSTILE.tail}{'wide' * 500}"))
        lines = "\n".join(f"tests/test_{i}.py::test_{i} FAILED" for i in range(11))
        await desk.tell_end(replace(BADLY, tail=f"{lines}\n1 failed, 411 passed"))
        await expect(page.get_by_text("exit 1 after 4 min 12 s")).to_be_visible()
        await expect(page.get_by_text("1 failed, 411 passed")).to_be_in_viewport()
        assert await page.evaluate(TOO_SMALL_OR_OUTSIDE) == []
        await page.get_by_role("link", name="Whole output of pytest").click()
        await expect(page.get_by_text("E   assert 1 == 2")).to_be_visible()
        await expect(page.get_by_text("<script>window.hacked = 1</script>")).to_be_visible()
        assert await page.evaluate("window.hacked") is None
        await page.go_back()
        await expect(page.get_by_text("exit 1 after 4 min 12 s")).to_be_visible()
        assert visit.errors == []
