"""Who gets in: codes, cookies, the token, hosts and origins."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatbridge.channels.web.guard import HEADERS, Hosts, fits_token
from chatbridge.channels.web.sessions import MOST_SESSIONS, SESSION_SECONDS, Sessions
from chatbridge.core.login_codes import CODE_SECONDS, CodeUse, LoginCodes
from chatbridge.core.model import ChannelState
from tests.fakes.inbox import CONFIRM
from tests.fakes.web import MARK, TOKEN, Web, running_web, visitor

# ── codes ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_code_logs_one_browser_in_for_ninety_days(web: Web) -> None:
    code = await web.new_code()
    assert re.fullmatch(r"([2-9A-HJ-NP-Z]{4}-){2}[2-9A-HJ-NP-Z]{4}", code)
    response = await web.stranger.post("/login", data={"code": code})
    assert (response.status_code, response.headers["location"]) == (303, "/")
    cookie = response.headers["set-cookie"]
    assert cookie.startswith(f"{web.cookie}=")
    for part in ("HttpOnly", "SameSite=strict", "Path=/", f"Max-Age={90 * 86400}"):
        assert part in cookie
    assert "secure" not in cookie.lower()
    assert (await web.stranger.get("/")).status_code == 200


async def test_a_code_works_once(web: Web) -> None:
    code = await web.new_code()
    await web.browser.post("/login", data={"code": code})
    replayed = await web.stranger.post("/login", data={"code": code})
    assert replayed.status_code == 401
    assert "This link has already been used. Run chatbridge inbox for a new one." in replayed.text
    assert "set-cookie" not in replayed.headers


async def test_the_next_hub_knows_which_codes_are_good_and_which_are_used_up(web: Web) -> None:
    used, good = await web.new_code(), await web.new_code()
    await web.browser.post("/login", data={"code": used})
    later = LoginCodes(clock=web.clock)
    await later.load(web.desk.inbox)
    assert await later.use(used, address="") is CodeUse.USED_BEFORE
    assert await later.use(good, address="") is CodeUse.ACCEPTED
    assert await later.use(good, address="") is CodeUse.USED_BEFORE


async def test_a_code_of_the_token_ends_with_the_hub(web: Web) -> None:
    code = await web.codes.new(by_token=True)
    later = LoginCodes(clock=web.clock)
    await later.load(web.desk.inbox)
    assert await later.use(code, address="") is CodeUse.UNKNOWN


async def test_a_clock_that_is_set_back_keeps_no_code_for_long(web: Web) -> None:
    code = await web.new_code()
    web.clock.step(-86400.0)
    assert await web.codes.use(code, address="") is CodeUse.UNKNOWN


async def test_opening_the_link_does_not_use_the_code_up(web: Web) -> None:
    code = await web.new_code()
    for _ in range(3):
        page = await web.stranger.get(f"/login/{code}")
        assert page.status_code == 200
        assert f'value="{code}"' in page.text
        assert "set-cookie" not in page.headers
    assert (await web.stranger.post("/login", data={"code": code})).status_code == 303


async def test_a_code_ends_after_ten_minutes(web: Web) -> None:
    code = await web.new_code()
    web.clock.advance(CODE_SECONDS)
    response = await web.stranger.post("/login", data={"code": code})
    assert response.status_code == 401
    assert "Run chatbridge inbox for a new one." in response.text


async def test_a_code_may_be_typed_in_small_letters_without_dashes(web: Web) -> None:
    code = (await web.new_code()).lower().replace("-", " ")
    assert (await web.stranger.post("/login", data={"code": code})).status_code == 303


async def test_who_sends_many_wrong_codes_is_told_so_for_a_minute(web: Web) -> None:
    for _ in range(10):
        assert (await web.stranger.post("/login", data={"code": "AAAA"})).status_code == 401
    assert (await web.stranger.post("/login", data={"code": "AAAA"})).status_code == 429
    web.clock.advance(61)
    assert (await web.stranger.post("/login", data={"code": "AAAA"})).status_code == 401


async def test_who_guesses_keeps_nobody_out_that_has_a_code(web: Web) -> None:
    for _ in range(20):
        await web.browser.post("/login", data={"code": "AAAA"})
    code = await web.new_code()
    assert (await web.stranger.post("/login", data={"code": code})).status_code == 303
    assert (await web.browser.post("/login", data={"code": code})).status_code == 429


async def test_only_the_token_makes_codes(web: Web) -> None:
    assert (await web.browser.post("/api/login-codes")).status_code == 403
    assert (await web.stranger.post("/api/login-codes")).status_code == 401


async def test_a_code_without_an_origin_is_refused(web: Web) -> None:
    async with visitor(web.address, {}) as client:
        response = await client.post("/login", data={"code": await web.new_code()})
    assert response.status_code == 403


# ── cookies and the token ─────────────────────────────────────────────────────────────────────────


async def test_a_cookie_ends_after_ninety_days(web: Web) -> None:
    assert (await web.browser.get("/api/asks")).status_code == 200
    web.clock.advance(SESSION_SECONDS)
    assert (await web.browser.get("/api/asks")).status_code == 401


async def test_a_forged_cookie_is_no_cookie(web: Web) -> None:
    real = web.browser.cookies[web.cookie]
    (session,) = json.loads((await noted(web)).value)
    of_another_token = Sessions("another token", web.desk.inbox, clock=web.clock)
    signed_by_an_earlier_version = "1900000000.c29tZSByYW5kb20.c2lnbmF0dXJlIG9mIHRoZSBlbmQ"
    forged = [
        "",
        ".",
        "x",
        real[:-1],
        f"{real}x",
        real.swapcase(),
        session["digest"],
        signed_by_an_earlier_version,
        "é.é.é",
        TOKEN,
        await of_another_token.open(by_token=False),
    ]
    for value in forged:
        headers = {b"Cookie": f"{web.cookie}={value}".encode("latin-1")}
        response = await web.stranger.get("/api/asks", headers=headers)
        assert response.status_code == 401, value
    headers = {b"Cookie": f"{web.cookie}={real}".encode()}
    assert (await web.stranger.get("/api/asks", headers=headers)).status_code == 200


async def noted(web: Web) -> ChannelState:
    note = await web.desk.inbox.note("web", "sessions")
    assert note is not None
    return note


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "bearer x", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN],
)
async def test_a_wrong_token_is_401_even_with_a_cookie(web: Web, header: str) -> None:
    response = await web.browser.get("/api/asks", headers={"Authorization": header})
    assert response.status_code == 401
    assert response.json()["error"]


async def test_the_token_opens_the_api_and_no_page(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM)
    assert (await web.script.get("/api/asks")).status_code == 200
    assert (await web.script.get("/")).status_code == 401
    fields = {"do": "choose", "step": "0", "option": "0"}
    assert (await web.script.post(f"/asks/{ask.id}/form", data=fields)).status_code == 401
    assert (await web.desk.inbox.ask(ask.id)).open


def test_an_empty_token_lets_nobody_in() -> None:
    assert not fits_token("", "")


# ── logging out ───────────────────────────────────────────────────────────────────────────────────


async def test_after_logging_out_the_cookie_is_worth_nothing_also_to_the_next_hub(
    web: Web,
) -> None:
    cookie = {"Cookie": f"{web.cookie}={web.browser.cookies[web.cookie]}"}
    await web.log_in(web.stranger)
    response = await web.browser.post("/logout")
    assert (response.status_code, response.headers["location"]) == (303, "/login")
    assert web.cookie not in web.browser.cookies
    assert (await web.browser.get("/api/asks", headers=cookie)).status_code == 401
    assert (await web.stranger.get("/api/asks")).status_code == 200

    later = Sessions(TOKEN, web.desk.inbox, clock=web.clock)
    await later.load()
    assert later.of(cookie["Cookie"].partition("=")[2]) is None
    assert later.of(web.stranger.cookies[web.cookie]) is not None


async def test_logging_out_everywhere_ends_every_session(web: Web) -> None:
    await web.log_in(web.stranger)
    page = (await web.browser.get("/history")).text
    assert 'name="everywhere"' in page
    assert (await web.browser.post("/logout", data={"everywhere": "1"})).status_code == 303
    assert (await web.stranger.get("/api/asks")).status_code == 401
    assert json.loads((await noted(web)).value) == []


async def test_logging_out_ends_the_open_pages_of_that_browser_alone(web: Web) -> None:
    await web.log_in(web.stranger)
    async with (
        asyncio.timeout(20),
        web.browser.stream("GET", "/api/events") as mine,
        web.stranger.stream("GET", "/api/events") as another,
    ):
        other_lines = another.aiter_lines()
        assert await anext(other_lines) == "retry: 2000"
        cookie = web.browser.cookies[web.cookie]
        async with visitor(web.address, {"Origin": web.address}) as second_tab:
            second_tab.cookies.set(web.cookie, cookie)
            assert (await second_tab.post("/logout")).status_code == 303
        assert [line async for line in mine.aiter_lines()] == ["retry: 2000", ""]
        ask = await web.desk.ask(CONFIRM)
        assert any([ask.id in line async for line in _until_data(other_lines)])


async def _until_data(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    async for line in lines:
        yield line
        if line.startswith("data:"):
            return


async def test_what_no_hub_has_noted_as_sessions_is_nobodys(web: Web) -> None:
    for value in ("{", "7", '{"digest": 1}', '[1, {"digest": "x"}, {"digest": 1, "ends": 2}]'):
        await web.desk.inbox.remember(
            ChannelState(channel="web", key="sessions", value=value, at=0.0)
        )
        later = Sessions(TOKEN, web.desk.inbox, clock=web.clock)
        await later.load()
        assert later.of("x") is None


async def test_the_token_cannot_push_a_persons_session_out(web: Web) -> None:
    sessions = Sessions(TOKEN, web.desk.inbox, clock=web.clock)
    mine = await sessions.open(by_token=False)
    for _ in range(MOST_SESSIONS + 5):
        newest = await sessions.open(by_token=True)
    assert sessions.of(mine) is not None
    assert sessions.of(newest) is not None
    assert len(json.loads((await noted(web)).value)) == MOST_SESSIONS


# ── what is known of who answers ──────────────────────────────────────────────────────────────────


async def test_a_browser_that_the_token_logged_in_is_called_so(web: Web) -> None:
    """An agent that found the token can do this."""
    code = await web.new_code_of_the_token()
    assert (await web.stranger.post("/login", data={"code": code})).status_code == 303
    ask = await web.desk.ask(CONFIRM)
    fields = {"do": "choose", "step": "0", "option": "0"}
    assert (await web.stranger.post(f"/asks/{ask.id}/form", data=fields)).status_code == 303
    page = (await web.stranger.get(f"/asks/{ask.id}")).text
    assert "Answered in a browser logged in with the token, " in page
    assert "You answered" not in page
    told = (await web.script.get(f"/api/asks/{ask.id}")).json()["outcome"]
    assert (told["by"], told["channel"]) == ("in a browser logged in with the token", "web")


async def test_of_another_browser_is_said_that_it_is_one(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM)
    fields = {"do": "choose", "step": "0", "option": "0"}
    await web.browser.post(f"/asks/{ask.id}/form", data=fields)
    assert "Answered in the web inbox, " in (await web.browser.get(f"/asks/{ask.id}")).text
    told = (await web.script.get(f"/api/asks/{ask.id}")).json()["outcome"]
    assert (told["by"], told["channel"]) == ("in the web inbox", "web")


# ── strangers, other sites, other names ───────────────────────────────────────────────────────────

PATHS = [
    "/",
    "/rows",
    "/history",
    "/summary",
    "/agents",
    "/agents/{id}",
    "/messages/{id}/take-back",
    "/asks/{id}",
    "/asks/{id}/card",
    "/asks/{id}/form",
    "/logout",
    "/no-such-page",
    "/api",
    "/api/",
    "/api/asks",
    "/api/asks/{id}",
    "/api/asks/{id}/answer",
    "/api/asks/{id}/cancel",
    "/api/events",
    "/api/login-codes",
    "/api/no-such-call",
]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
async def test_a_stranger_learns_nothing_and_causes_nothing(web: Web, method: str) -> None:
    ask = await web.desk.ask(CONFIRM, title="Secret title")
    before = await web.desk.inbox.ask(ask.id)
    fields = {"do": "choose", "step": "0", "option": "0"}
    for path in PATHS:
        response = await web.stranger.request(method, path.format(id=ask.id), data=fields)
        if response.status_code == 303:
            assert (method in ("GET", "HEAD"), response.headers["location"]) == (True, "/login")
        else:
            assert response.status_code == 401, path
        assert ask.id not in response.text
        assert "Secret" not in response.text
        unknown = await web.stranger.request(method, path.format(id="nothing-like-it"))
        assert (unknown.status_code, unknown.text) == (response.status_code, response.text)
    assert await web.desk.inbox.ask(ask.id) == before


async def test_a_logged_out_page_s_script_gets_401_and_a_sentence_instead_of_the_log_in_page(
    web: Web,
) -> None:
    response = await web.stranger.get("/rows", headers=MARK)
    assert response.status_code == 401
    assert response.headers["x-chatbridge-toast"].startswith("You%20are%20logged%20out.")


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "https://{own}",
        "http://localhost:{port}",
        "",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_another_sites_request_is_403_with_or_without_a_credential(
    web: Web, origin: str, method: str
) -> None:
    ask = await web.desk.ask(CONFIRM)
    own = web.address.removeprefix("http://")
    headers = {"Origin": origin.format(own=own, port=web.port)}
    for client in (web.browser, web.script, web.stranger):
        for path in (f"/asks/{ask.id}/form", f"/api/asks/{ask.id}/cancel", "/login", "/api/events"):
            response = await client.request(method, path, headers=headers)
            assert response.status_code == 403
    assert (await web.desk.inbox.ask(ask.id)).open


async def test_a_cookie_without_an_origin_changes_nothing(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM)
    cookies = {"Cookie": f"{web.cookie}={web.browser.cookies[web.cookie]}"}
    fields = {"do": "choose", "step": "0", "option": "0"}
    path = f"/asks/{ask.id}/form"
    async with visitor(web.address, cookies) as client:
        assert (await client.get(f"/asks/{ask.id}")).status_code == 200
        assert (await client.post(path, data=fields)).status_code == 403
        assert (await client.post(f"/api/asks/{ask.id}/cancel", json={})).status_code == 403
        cross = {"Sec-Fetch-Site": "same-site"}
        assert (await client.post(path, data=fields, headers=cross)).status_code == 403
        assert (await web.desk.inbox.ask(ask.id)).open
        ours = {"Sec-Fetch-Site": "same-origin"}
        assert (await client.post(path, data=fields, headers=ours)).status_code == 303
    assert not (await web.desk.inbox.ask(ask.id)).open


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.x:{port}",
        "",
    ],
)
async def test_a_foreign_host_is_403_for_everybody(web: Web, host: str) -> None:
    headers = {"Host": host.format(port=web.port)}
    for client in (web.browser, web.script, web.stranger):
        for path in ("/", "/login", "/healthz", "/api/asks", "/static/inbox.css"):
            response = await client.get(path, headers=headers)
            assert response.status_code == 403


async def test_this_computers_own_names_are_known(web: Web) -> None:
    for host in ("localhost", "LOCALHOST", "[::1]", "127.0.0.1"):
        headers = {"Host": f"{host}:{web.port}"}
        assert (await web.script.get("/api/asks", headers=headers)).status_code == 200


def test_a_configured_host_is_known_and_a_wildcard_knows_addresses_but_no_names() -> None:
    assert Hosts("inbox.lan", 8787).knows("Inbox.lan:8787")
    assert not Hosts("127.0.0.1", 8787).knows("inbox.lan:8787")
    anywhere = Hosts("::", 8787)
    assert anywhere.knows("192.168.1.5:8787")
    assert anywhere.knows("[fe80::1]:8787")
    assert not anywhere.knows("evil.example:8787")
    assert Hosts("127.0.0.1", 80).knows("localhost")


async def test_behind_a_proxy_its_name_and_origin_are_the_inboxs_and_the_cookie_is_secure(
    tmp_path: Path,
) -> None:
    proxied = {"Host": "inbox.example.org", "Origin": "https://inbox.example.org"}
    async with running_web(tmp_path, url="https://inbox.example.org") as web:
        code = {"code": await web.new_code()}
        for foreign in ("http://inbox.example.org", "https://evil.example", "null"):
            headers = {**proxied, "Origin": foreign}
            refused = await web.stranger.post("/login", data=code, headers=headers)
            assert refused.status_code == 403
        response = await web.stranger.post("/login", data=code, headers=proxied)
        assert response.status_code == 303
        assert "secure" in response.headers["set-cookie"].lower()
        directly = {"Host": f"127.0.0.1:{web.port}", "Origin": "https://inbox.example.org"}
        assert (await web.browser.post("/logout", headers=directly)).status_code == 403
        named = {"Host": f"inbox.example.org:{web.port}"}
        assert (await web.browser.get("/", headers=named)).status_code == 403


async def test_every_response_carries_the_headers(web: Web) -> None:
    for path in ("/", "/login", "/healthz", "/static/inbox.css", "/static/none", "/api/asks", "/x"):
        for client in (web.browser, web.stranger):
            headers = (await client.get(path)).headers
            assert HEADERS.items() <= dict(headers).items(), path
            assert "server" not in headers
            assert "cache-control" in headers
    assert (await web.browser.get("/history")).headers["cache-control"] == "no-store"
    policy = HEADERS["content-security-policy"]
    assert policy.startswith("default-src 'none';")
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"unsafe|https?:|data:|\*", policy)
