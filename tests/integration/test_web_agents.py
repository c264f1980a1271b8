"""The inbox's page of the agents: who is there, messages to them with files, and who may write."""

from __future__ import annotations

import asyncio
import html
import re
import tempfile
from pathlib import Path
from urllib.parse import unquote

import httpx2
import pytest

from chatbridge.channels.web.sessions import BY_TOKEN, IN_A_BROWSER, Session
from chatbridge.core.messages.agents import ConnectedAgent
from chatbridge.core.messages.message import MAX_TEXT, OwnerMessage, Way, format_for_model
from chatbridge.core.messages.messages import MAX_WAITING
from chatbridge.core.model import Agent, CallName, Project
from tests.fakes.inbox import CLAUDE, CONFIRM, SHOP
from tests.fakes.web import MARK, TOKEN, Web, visitor
from tests.fakes.web_stream import stream

BILLING = Project(key="/code/billing", name="billing", label="night run")
CODEX = Agent(client="codex", name="Codex")
CALL = CallName(link="link", request="7")
FORGED = b'--b\r\nContent-Disposition: form-data; name="text"\r\n\r\nforged\r\n--b--\r\n'
FORM = {"Content-Type": "multipart/form-data; boundary=b"}
"""In one piece: who is refused may find the connection closed before a second one."""
EVIL = "<img src=x onerror=alert(1)>'\"&\u202e"


def comes(web: Web, link: str = "link", project: Project = SHOP) -> ConnectedAgent:
    return web.desk.inbox.messages.agents.seen(link, project, CLAUDE)


def leaves(web: Web, agent: ConnectedAgent) -> None:
    web.desk.inbox.messages.agents.closed(agent.link)


def sent(web: Web) -> list[OwnerMessage]:
    """What waits, or is on its way."""
    return web.desk.inbox.messages.waiting()


async def takes(web: Web, agent: ConnectedAgent) -> None:
    """The agent's next result has what waits for it."""
    messages = web.desk.inbox.messages
    taken = await messages.hand_over(CALL, link=agent.link, project=agent.project, way=Way.RESULT)
    assert taken


async def post(
    web: Web, agent: ConnectedAgent, text: str, *files: tuple[str, bytes], script: bool = False
) -> httpx2.Response:
    """As the page's form sends it."""
    return await web.browser.post(
        f"/agents/{agent.key}",
        data={"text": text},
        files=[("files", each) for each in files or [("", b"")]],
        headers=MARK if script else {},
    )


async def take_back(web: Web, message: OwnerMessage, *, script: bool = True) -> httpx2.Response:
    headers = MARK if script else {}
    return await web.browser.post(f"/messages/{message.id}/take-back", headers=headers)


def toast(response: httpx2.Response) -> str:
    return unquote(response.headers["x-chatbridge-toast"])


def words(page: str) -> str:
    """What a person reads."""
    return html.unescape(re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", page)))


async def page_of(web: Web) -> str:
    return words((await web.browser.get("/agents", headers=MARK)).text)


# ── who is there ──────────────────────────────────────────────────────────────────────────────────


async def test_without_an_agent_the_page_says_what_to_do(web: Web) -> None:
    page = (await web.browser.get("/agents")).text
    assert "No agent is connected" in page
    assert "chatbridge connect" in page
    assert "<textarea" not in page
    assert "Last messages" not in page


async def test_each_agent_is_listed_with_everything_that_is_known_of_it(web: Web) -> None:
    comes(web)
    comes(web, "other", SHOP)
    web.clock.advance(1)
    web.desk.inbox.messages.agents.seen("billing", BILLING, CODEX)
    await web.desk.ask(CONFIRM)
    web.clock.advance(120)
    second = comes(web, "other", SHOP)
    await post(web, second, "use tabs")
    page = (await web.browser.get("/agents")).text
    articles = [words(each) for each in re.findall(r"<article.*?</article>", page, re.DOTALL)]
    times = re.findall(r"<time[^>]*>(.*?)</time>", page)
    assert times[0] == times[1] == times[2] != times[3]  # only the second was seen again
    first, other, billing = articles
    assert first.startswith(" shop-api Claude Code Since ")
    assert "1 open question · no message waits" in first
    assert other.startswith(" shop-api-2 shop-api Claude Code ")
    assert "No open question · 1 message waits" in other
    assert "use tabs" in other
    assert billing.startswith(" billing night run Codex ")


async def test_every_page_leads_there_and_says_how_many_are_connected(web: Web) -> None:
    for path in ("/?all", "/history", "/agents"):
        assert ">Agents<span" in (await web.browser.get(path)).text
    comes(web)
    for path in ("/?all", "/history", "/agents"):
        assert '>Agents<span id="agent-count"> (1)</span>' in (await web.browser.get(path)).text
    assert 'data-connected="1"' in (await web.browser.get("/rows")).text
    agents = (await web.browser.get("/agents")).text
    assert re.search(r'href="/agents"[^>]* aria-current="page"', agents)
    assert agents.count('aria-current="page"') == 1


# ── writing ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_message_is_sent_by_a_plain_form_as_the_owners_in_the_browser(web: Web) -> None:
    agent = comes(web)
    response = await post(web, agent, "use tabs\r\nnot spaces")
    assert (response.status_code, response.headers["location"]) == (303, "/agents")
    (message,) = sent(web)
    assert (message.text, message.link, message.by) == (
        "use tabs\nnot spaces",
        "link",
        IN_A_BROWSER,
    )
    read = format_for_model(message, now=web.clock.time())
    assert re.match(r"Message from the owner of this computer, sent .* in the web inbox:\n", read)
    assert "shop-api gets it with its next step." in await page_of(web)


async def test_its_files_go_with_it(web: Web) -> None:
    agent = comes(web)
    response = await post(
        web, agent, "", ("nötes.txt", b"use tabs"), ("b.bin", b"\x00" * 1_500_000), script=True
    )
    assert response.status_code == 200
    (message,) = sent(web)
    assert [(each.name, each.size) for each in message.attachments] == [
        ("nötes.txt", 8),
        ("b.bin", 1_500_000),
    ]
    assert {each.ask_id for each in message.attachments} == {message.id}
    path = web.desk.files.path(message.attachments[0])
    assert path is not None
    assert "nötes.txt" in await page_of(web)


async def test_a_browser_that_was_given_no_file_sends_an_empty_one_which_is_none(
    web: Web,
) -> None:
    none = b'--b\r\nContent-Disposition: form-data; name="files"; filename=""\r\n\r\n\r\n'
    address = f"/agents/{comes(web).key}"
    response = await web.browser.post(address, content=none + FORGED, headers=FORM)
    assert response.status_code == 303
    (message,) = sent(web)
    assert (message.text, message.attachments) == ("forged", ())


async def test_a_browser_logged_in_with_the_token_is_named_as_such(web: Web) -> None:
    agent = comes(web)
    code = await web.new_code_of_the_token()
    async with visitor(web.address, {"Origin": web.address}) as browser:
        await browser.post("/login", data={"code": code})
        await browser.post(f"/agents/{agent.key}", files={"text": (None, "use tabs")})
    (message,) = sent(web)
    assert message.by == BY_TOKEN


@pytest.mark.parametrize("script", [False, True])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x" * (MAX_TEXT + 1), "This is too long (at most 10,000 characters)."),
        (" \n ", "There is nothing to tell. Write something."),
    ],
)
async def test_a_text_that_does_not_fit_is_refused_and_kept(
    web: Web, text: str, why: str, script: bool
) -> None:
    response = await post(web, comes(web), text, script=script)
    assert (response.status_code, toast(response)) == (422, why)
    assert f">{text}</textarea>" in response.text.replace("&#10;", "\n")
    assert ("<html" in response.text) != script
    assert sent(web) == []


async def test_an_endless_text_or_form_is_refused(web: Web) -> None:
    agent = comes(web)
    response = await post(web, agent, "x" * 300_000)
    assert response.status_code == 422
    tail = await web.browser.post(
        f"/agents/{agent.key}", content=FORGED + b"x" * 3_000_000, headers=FORM
    )
    assert tail.status_code == 413
    many = await web.browser.post(
        f"/agents/{agent.key}", files=[("text", (None, "x")) for _ in range(9)]
    )
    assert many.status_code == 422
    assert sent(web) == []


@pytest.mark.parametrize(
    ("files", "status", "why"),
    [
        ([("a.txt", b"x")] * 6, 422, "A message can have 5 files at most. Send fewer."),
        ([("a.txt", b"")], 422, "This file is empty."),
        (
            [("a.bin", b"x" * 1_200_000)] * 2,
            413,
            "That is too large: the files of a message can have 2 MB together.",
        ),
        (
            [("a.bin", b"x" * 2_100_000)],
            413,
            "That is too large: the files of a message can have 2 MB together.",
        ),
    ],
)
async def test_files_that_do_not_fit_are_refused(
    web: Web, files: list[tuple[str, bytes]], status: int, why: str
) -> None:
    response = await post(web, comes(web), "look", *files)
    assert (response.status_code, toast(response)) == (status, why)
    assert sent(web) == []
    assert web.desk.files.received == []


async def test_a_disk_that_takes_no_files_is_told_and_nothing_is_sent(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    response = await post(web, comes(web), "look", ("a.bin", b"x" * 1_500_000))
    assert response.status_code == 507
    assert toast(response) == "The files could not be kept: No such file or directory."
    assert sent(web) == []


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("text/plain", b"use tabs", 415),
        ("application/x-www-form-urlencoded", b"text=use+tabs", 415),
        ("multipart/form-data", b"text=use+tabs", 422),
        ("multipart/form-data; boundary=b", b"--b\r\nnonsense", 422),
        ("multipart/form-data; boundary=b", b"--b\r\n\r\nx\r\n--b--", 422),
        ("multipart/form-data; boundary=b; charset=no", b"--c", 422),
    ],
)
async def test_what_is_no_such_form_is_refused(
    web: Web, kind: str, body: bytes, status: int
) -> None:
    agent = comes(web)
    headers = {"Content-Type": kind}
    response = await web.browser.post(f"/agents/{agent.key}", content=body, headers=headers)
    assert response.status_code == status
    assert sent(web) == []


async def test_too_many_waiting_messages_are_refused(web: Web) -> None:
    agent = comes(web)
    for number in range(MAX_WAITING):
        assert (await post(web, agent, f"number {number}")).status_code == 303
    response = await post(web, agent, "one more")
    assert response.status_code == 422
    assert "Take one back first." in toast(response)
    assert len(sent(web)) == MAX_WAITING


# ── agents that have gone ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("another", [False, True])
async def test_an_agent_that_has_gone_gets_nothing_nor_does_another_of_its_name(
    web: Web, another: bool
) -> None:
    gone = comes(web)
    leaves(web, gone)
    if another:
        assert comes(web, "new").name == gone.name
    response = await post(web, gone, "stop & think")
    assert response.status_code == 409
    assert toast(response) == "This agent is no longer connected. Nothing was sent."
    assert sent(web) == []
    kept = re.search(r"<textarea readonly[^>]*>(.*?)</textarea>", response.text, re.DOTALL)
    assert kept is not None
    assert html.unescape(kept[1]) == "stop & think"


@pytest.mark.parametrize("key", ["0", "link", "x" * 22, "..%2f..%2fetc", "%00", "é" * 500])
async def test_an_unknown_agent_gets_nothing(web: Web, key: str) -> None:
    comes(web)
    response = await web.browser.post(f"/agents/{key}", content=FORGED, headers=FORM)
    assert response.status_code in (404, 409)
    assert sent(web) == []


async def test_a_message_whose_agent_has_gone_is_listed_and_can_be_taken_back(web: Web) -> None:
    agent = comes(web)
    await post(web, agent, "use tabs")
    leaves(web, agent)
    page = (await web.browser.get("/agents")).text
    assert "No agent is connected" in page
    (message,) = sent(web)
    assert f'action="/messages/{message.id}/take-back"' in page
    comes(web, "new", BILLING)
    assert "no message waits" in await page_of(web)
    comes(web, "newer")
    assert "1 message waits" in await page_of(web)
    assert (await take_back(web, message)).status_code == 200
    assert sent(web) == []


# ── what becomes of a message ─────────────────────────────────────────────────────────────────────


async def test_a_delivered_message_is_listed_with_when_and_how(web: Web) -> None:
    agent = comes(web)
    await post(web, agent, "use tabs")
    assert "Take back" in await page_of(web)
    await takes(web, agent)
    assert "Take back" not in await page_of(web)
    await web.desk.inbox.messages.delivered(CALL)
    page = await page_of(web)
    assert "Last messages use tabs" in page
    assert re.search(
        r"Delivered to Claude Code in shop-api, \d+:\d\d, with its next result\.", page
    )
    assert "no message waits" in page


async def test_a_message_is_taken_back_once_and_then_says_so(web: Web) -> None:
    agent = comes(web)
    await post(web, agent, "use tabs")
    (message,) = sent(web)
    response = await take_back(web, message, script=False)
    assert (response.status_code, response.headers["location"]) == (303, "/agents")
    assert "Taken back. shop-api does not get it." in await page_of(web)
    again = await take_back(web, message)
    assert "Last messages" in again.text
    assert sent(web) == []


async def test_a_message_that_is_on_its_way_or_delivered_is_not_taken_back(web: Web) -> None:
    agent = comes(web)
    await post(web, agent, "use tabs")
    (message,) = sent(web)
    await takes(web, agent)
    response = await take_back(web, message)
    assert response.status_code == 409
    assert toast(response) == "It is on its way to the agent, and cannot be taken back."
    await web.desk.inbox.messages.delivered(CALL)
    response = await take_back(web, message)
    assert response.status_code == 409
    assert toast(response).startswith("Delivered to Claude Code in shop-api, ")


@pytest.mark.parametrize("message_id", ["7", "%3Cb%3E", "x" * 500])
async def test_an_unknown_message_is_not_taken_back(web: Web, message_id: str) -> None:
    response = await web.browser.post(f"/messages/{message_id}/take-back", headers=MARK)
    assert (response.status_code, toast(response)) == (409, "This message is no longer here.")


async def test_only_the_last_ten_are_listed_and_all_that_wait(web: Web) -> None:
    agent, gone = comes(web), comes(web, "billing", BILLING)
    await post(web, gone, "number 12")
    leaves(web, gone)
    for number in range(12):
        await post(web, agent, f"number {number:02}")
    await takes(web, agent)
    await web.desk.inbox.messages.delivered(CALL)
    listed = re.findall(r"number (\d\d)", await page_of(web))
    assert listed == ["12", *[f"{number:02}" for number in range(11, 1, -1)]]


# ── live ──────────────────────────────────────────────────────────────────────────────────────────


async def test_pages_are_told_who_comes_and_goes_and_of_messages_and_scripts_are_not(
    web: Web,
) -> None:
    async with asyncio.timeout(20), stream(web, page=True) as page, stream(web) as script:
        agent = comes(web)
        assert await page.event() == ("agents", {})
        await post(web, agent, "use tabs")
        assert await page.event() == ("agents", {})
        await takes(web, agent)
        assert await page.event() == ("agents", {})
        await web.desk.inbox.messages.delivered(CALL)
        assert await page.event() == ("agents", {})
        leaves(web, agent)
        assert await page.event() == ("agents", {})
        await web.desk.ask(CONFIRM)
        assert (await script.event())[0] == "ask"


async def test_pages_are_told_of_a_sign_of_life_once_a_minute(web: Web) -> None:
    comes(web)
    with web.channel.events.reader(Session(digest="", ends=0, by_token=False)) as reader:
        comes(web)
        assert await reader.news(within=0) == ()
        web.clock.advance(60)
        comes(web)
        assert await reader.news(within=0)


async def test_a_closed_inbox_is_no_longer_told(web: Web) -> None:
    session = Session(digest="", ends=0, by_token=False)
    with web.channel.events.reader(session) as reader:
        comes(web)
        assert await reader.news(within=0)
    web.running.cancel()
    await asyncio.wait({web.running})
    with web.channel.events.reader(session) as reader:
        comes(web, "other")
        assert await reader.news(within=0) == ()


# ── strangers ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_stranger_sees_nothing_and_writes_nothing(web: Web) -> None:
    agent = comes(web)
    await post(web, agent, "use tabs")
    (message,) = sent(web)
    back = f"/messages/{message.id}/take-back"
    for client in (web.stranger, web.script):
        for response in (
            await client.get("/agents"),
            await client.get("/agents", headers=MARK),
            await client.post(f"/agents/{agent.key}", content=FORGED, headers=FORM),
            await client.post(back),
        ):
            assert response.status_code in (303, 401, 403)
            assert response.headers.get("location") in (None, "/login")
            assert "shop" not in response.text
    assert sent(web) == [message]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", None])
async def test_another_sites_form_is_refused(web: Web, origin: str | None) -> None:
    agent = comes(web)
    await post(web, agent, "use tabs")
    (message,) = sent(web)
    cookie = f"{web.cookie}={web.browser.cookies[web.cookie]}"
    headers = {"Cookie": cookie, **({"Origin": origin} if origin else {})}
    async with visitor(web.address, headers) as other:
        tried = await other.post(f"/agents/{agent.key}", content=FORGED, headers=FORM)
        assert tried.status_code == 403
        assert (await other.post(f"/messages/{message.id}/take-back")).status_code == 403
    assert sent(web) == [message]


async def test_a_token_in_a_header_does_not_open_the_page(web: Web) -> None:
    agent = comes(web)
    both = {**FORM, "Authorization": f"Bearer {TOKEN}"}
    address = f"/agents/{agent.key}"
    assert (await web.browser.post(address, content=FORGED, headers=both)).status_code == 401
    assert sent(web) == []
    assert (await web.browser.post(address, content=FORGED, headers=FORM)).status_code == 303
    assert len(sent(web)) == 1


async def test_words_of_agents_and_people_stay_text(web: Web) -> None:
    project = Project(key="/x", name=f"p{EVIL}", label=f"l{EVIL}")
    agent = web.desk.inbox.messages.agents.seen(EVIL, project, Agent(client=EVIL, name=EVIL))
    await post(web, agent, f"t{EVIL}</textarea>", (f"f{EVIL}", b"x"))
    await post(web, agent, f"t{EVIL}" + "x" * MAX_TEXT)
    for state in range(2):
        response = await web.browser.get("/agents")
        assert response.text.count("&lt;img") > 3
        for bad in ("<img", "\u202e", "</textarea></textarea>", "=x onerror=alert(1)>"):
            assert bad not in response.text
        if not state:
            await takes(web, agent)
            await web.desk.inbox.messages.delivered(CALL)
    refused = await post(web, agent, f"</textarea>{EVIL}" + "x" * MAX_TEXT)
    assert "<img" not in refused.text
