"""An approval where a chat is set up: the phone gives it, and nothing on the computer can."""

from __future__ import annotations

import asyncio
import time

from tests.acceptance.bridge import PATIENCE, connected
from tests.acceptance.thumb import Thumb, telegram_home
from tests.fakes.approving import ALLOWED, LIST, denial, verdict
from tests.fakes.page import Page
from tests.fakes.telegram.people import Card, Phone

EARLY = "That was very quick. Tap again if you mean it."


def taps(thumb: Thumb, label: str) -> str:
    """Tapped until it was not too soon after the card came."""
    until = time.monotonic() + PATIENCE
    while (said := thumb.taps(label)) == EARLY:
        assert time.monotonic() < until
        time.sleep(0.2)
    return said


def new_card(phone: Phone, known: set[int]) -> Card:
    return phone.sees(lambda card: "ls -l" in card.text and card.id not in known)


async def test_only_the_phone_can_allow_or_deny_it() -> None:
    with telegram_home() as (home, phone):
        page = Page(home.state)
        async with connected(home, home.project("shop")) as it:
            for label, toast in (("Allow once", "Allowed once."), ("Deny", "Denied.")):
                known = {card.id for card in phone.messages}
                call = asyncio.create_task(
                    it.client.call_tool("approve_tool_use", LIST, read_timeout_seconds=PATIENCE)
                )
                card = await asyncio.to_thread(new_card, phone, known)
                ask = await asyncio.to_thread(page.sees, "Run this command?")
                assert await asyncio.to_thread(page.allows, ask) == 403
                assert await asyncio.to_thread(page.denies, ask) == 403
                thumb = Thumb(phone, card, home.state / "chatbridge.db")
                assert await asyncio.to_thread(taps, thumb, label) == toast
                result = await call
                if label == "Deny":
                    assert denial(result) == ("denied", "The user denied this.")
                else:
                    assert verdict(result) == ALLOWED
                heard = "the agent was told" if label == "Deny" else "delivered"
                ended = await asyncio.to_thread(thumb.shows, heard)
                assert ended.rows == ()
