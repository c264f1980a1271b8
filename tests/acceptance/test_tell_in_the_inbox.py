"""What the owner writes in the inbox reaches a real agent, and the page says so."""

from __future__ import annotations

import asyncio
import re

import httpx2
import pytest

from tests.acceptance.bridge import PATIENCE, connected, new_home, texts_of
from tests.fakes.web import visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def until(browser: httpx2.AsyncClient, words: str) -> str:
    """The page of the agents, once it says this."""
    async with asyncio.timeout(PATIENCE):
        while words not in (page := (await browser.get("/agents")).text):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return page


async def test_a_message_comes_with_the_agents_next_result_and_the_agent_goes_when_it_ends() -> (
    None
):
    with new_home() as home:
        async with connected(home, home.project("shop"), name="claude-code") as connection:
            await connection.client.list_tools()
            address = await asyncio.to_thread(connection.person.address)
            request = connection.person.request
            code = (await asyncio.to_thread(request, "/api/login-codes", {}))["code"]
            browser = visitor(address, {"Origin": address})
            await browser.post("/login", data={"code": code})
            page = await until(browser, "1 agent connected")
            form = re.search(r'action="(/agents/[\w-]{22})"', page)
            assert form is not None
            notes = ("notes.txt", b"not spaces")
            told = await browser.post(form[1], data={"text": "use tabs"}, files={"files": notes})
            assert told.status_code == 303
            result = await connection.client.call_tool("notify_user", {"message": "Half done"})
            own, message = texts_of(result)[:2]
            assert "use tabs" not in own
            assert re.match(
                r"Message from the owner of this computer, sent \d\d:\d\d in a browser logged in "
                r"with the token: use tabs",
                message,
            )
            assert any("not spaces" in each or "notes.txt" in each for each in texts_of(result))
            await until(browser, "Delivered to Claude Code in shop")
        await until(browser, "No agent is connected")
        await browser.aclose()
