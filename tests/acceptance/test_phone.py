"""The inbox on a phone: one command at the terminal, a code to scan, and a browser that comes to a
real hub through the TLS of a stand-in for Tailscale."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.async_api import async_playwright, expect

from chatbridge.cli.ui.qr import qr_lines
from tests.acceptance.browser import PATIENCE_MS, PHONE
from tests.acceptance.wizard import Desk, choose, desk
from tests.fakes.authority import Authority
from tests.fakes.pty_person import ENTER, PtyPerson
from tests.fakes.tailscale import Daemon, running_tailscale

LINK = re.compile(r"https://\S+/login/[\w-]+")


@contextmanager
def in_a_tailnet(folder: Path) -> Iterator[tuple[Desk, Daemon]]:
    authority = Authority(folder)
    with running_tailscale(folder, authority) as tailscale:
        # 443 is somebody else's: only root could listen there.
        tailscale.config = {"TCP": {"443": {"TCPForward": "127.0.0.1:22"}}}
        trusted = str(authority.file)
        with desk(SSL_CERT_FILE=trusted, PATH=str(tailscale.folder)) as here:
            yield here, tailscale


def link_on(me: PtyPerson) -> str:
    """Of the code on the screen, and of the text below it."""
    found = LINK.search(me.scrolled)
    assert found, me.screen
    for line in qr_lines(found[0]):
        assert line.rstrip() in me.screen  # as a whole
    return found[0]


@pytest.mark.browser
@pytest.mark.asyncio
async def test_a_phone_scans_the_terminals_code_and_answers_over_https(
    quick_chromium: str, tmp_path: Path
) -> None:
    with in_a_tailnet(tmp_path) as (here, tailscale):
        with here.runs("inbox", "--phone") as me:
            me.expect(
                "Tailscale can serve the inbox to the devices in your tailnet", "Do that? (Y/n)"
            )
            assert not here.config.exists()
            me.press(ENTER)
            me.ends(0)
            link = link_on(me)
        trusted = f"--ignore-certificate-errors-spki-list={tailscale.issued.spki}"
        resolved = f"--host-resolver-rules=MAP {tailscale.name} {tailscale.address}"
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=quick_chromium, args=["--no-sandbox", trusted, resolved]
            )
            context = await browser.new_context(
                viewport={"width": PHONE[0], "height": PHONE[1]}, has_touch=True
            )
            context.set_default_timeout(PATIENCE_MS)
            page = await context.new_page()
            await page.goto(link)
            assert await page.evaluate("window.isSecureContext")
            await page.get_by_role("button", name="Log in").click()
            await expect(page.locator("#live")).to_have_text("Live")
            (cookie,) = await context.cookies()
            assert cookie["secure"]
            with here.home.agent() as agent:
                agent.initialize()
                agent.ask(1)
                await page.get_by_text("Which colour?").click()  # it came over the event stream
                await page.get_by_role("button", name="blue").click()
                assert "blue" in str(agent.result())
            await browser.close()


def test_setup_offers_it_beside_the_chats(tmp_path: Path) -> None:
    with in_a_tailnet(tmp_path) as (here, tailscale):
        tailscale.operator = False
        with here.runs("setup") as me:
            choose(me, "Inbox on phone")
            me.expect("Do that? (Y/n)")
            me.press(ENTER)
            me.expect("sudo tailscale set --operator=$USER", "How long may an agent wait for you?")
        assert not here.config.exists()
        tailscale.operator = True
        with here.runs("setup") as me:
            choose(me, "Inbox on phone")
            me.expect("Do that? (Y/n)")
            me.press(ENTER)
            me.expect("A test question is in the inbox on your phone.")
            assert link_on(me).startswith(f"https://{tailscale.name}:8443/")
            here.home.answer(here.home.until(), "yes")
            me.expect('You answered "Yes"', "How long may an agent wait for you?")
            me.press(ENTER)
            me.expect("done. Now try:")
            me.ends(0)
        url = f"https://{tailscale.name}:8443"
        assert tomllib.loads(here.config.read_text())["web"]["url"] == url
