"""Quiet hours of the chats, switched in the inbox."""

from __future__ import annotations

import html
import re

import pytest

from tests.fakes.web import MARK, Web


def is_quiet(web: Web) -> bool:
    return web.desk.inbox.nights.is_quiet(web.clock.time())


async def buttons(web: Web) -> tuple[str, dict[str, str]]:
    """What the list says of quiet hours, and its buttons."""
    page = (await web.browser.get("/?all")).text
    found = re.search(r'<form[^>]* action="/quiet"[^>]*><p>(.*?)</p>(.*?)</form>', page, re.DOTALL)
    assert found is not None
    pairs = re.findall(r'value="([^"]*)">(.*?)</button>', found[2])
    return html.unescape(found[1]), {label: words for words, label in pairs}


async def test_the_list_says_how_they_are_and_switches_them(web: Web) -> None:
    said, offered = await buttons(web)
    assert said == "No regular quiet hours. Now: off."
    assert [*offered] == ["Quiet for 2 h", "Quiet until 08:00"]
    response = await web.browser.post(
        "/quiet", data={"words": offered["Quiet for 2 h"]}, headers=MARK
    )
    assert (response.status_code, response.headers["location"]) == (303, "/?all")
    assert is_quiet(web)
    said, offered = await buttons(web)
    assert said.startswith("No regular quiet hours. Now: on until ")
    await web.browser.post("/quiet", data={"words": offered["Off"]}, headers=MARK)
    assert not is_quiet(web)


@pytest.mark.parametrize("words", ["", "7d", "for ever", "off", "until 99:99", "<b>"])
async def test_what_is_not_offered_is_refused(web: Web, words: str) -> None:
    response = await web.browser.post("/quiet", data={"words": words}, headers=MARK)
    assert response.status_code == 422
    assert not is_quiet(web)


async def test_a_stranger_switches_nothing_and_learns_nothing(web: Web) -> None:
    response = await web.stranger.post("/quiet", data={"words": "2h"}, headers=MARK)
    assert response.status_code in (303, 401, 403)
    assert "uiet" not in response.text
    assert not is_quiet(web)
    crossed = await web.browser.post(
        "/quiet", data={"words": "2h"}, headers={"origin": "https://evil.example"}
    )
    assert crossed.status_code == 403
    assert not is_quiet(web)
