"""Who can have notifications, who can answer from one, and who cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chatbridge.channels.web.push.subscriptions import MOST
from chatbridge.channels.web.sessions import SESSION_SECONDS
from chatbridge.redaction import redacted
from tests.fakes.inbox import COMMAND, CONFIRM, SELECT
from tests.fakes.push_desk import PushDesk, answer, running_push, subscribe
from tests.fakes.push_service import Json, PushService
from tests.fakes.web import TOKEN, visitor

ELSEWHERE = [
    "https://evil.example.org/push/1",
    "http://127.0.0.1:9/push/1",
    "http://localhost:8787/push",
    "https://fcm.googleapis.com@evil.example.org/1",
    "https://[::1]/push/1",
    "file:///etc/passwd",
]


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService.running() as found:
        yield found


async def refused_everywhere(push: PushDesk, client: Any, subscription: Json, key: Json) -> None:
    for path, body in (("/push/subscriptions", subscription), ("/push/answer", key)):
        response = await client.post(path, json=body)
        assert response.status_code in (401, 403), (path, response.status_code)
    for path in ("/push/subscriptions/1/remove", "/push/subscriptions/1/test"):
        assert (await client.post(path)).status_code in (401, 403)
    for path in ("/push", "/push/key"):
        response = await client.get(path, headers={"X-Chatbridge": "worker"})
        assert response.status_code in (401, 403)


async def test_without_a_log_in_nothing_can_be_had_and_nothing_answered(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        ask = await push.desk.ask(SELECT)
        shown = await phone.sees("Which database")
        key = {**shown["data"], "option": 1}
        eve = service.browser(phone.browser.hub_key).subscription
        origin = {"Origin": push.address}
        async with (
            visitor(push.address, origin) as stranger,
            visitor(push.address, {"Authorization": f"Bearer {TOKEN}"}) as script,
            visitor(push.address, {"Origin": "https://evil.example.org"}) as site,
        ):
            site.cookies.update(phone.page.cookies)
            for client in (stranger, script, site):
                await refused_everywhere(push, client, eve, key)
        assert (await push.desk.inbox.ask(ask.id)).open
        assert [each.id for each in push.channel.subscriptions.listed()] == [phone.id]


async def test_a_key_answers_its_ask_and_step_from_its_browser_and_nothing_else(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone, other = await push.phone(), await push.phone()
        ask, another = await push.desk.ask(SELECT), await push.desk.ask(CONFIRM)
        approval = await push.desk.ask(COMMAND)
        data = (await phone.sees("Which database"))["data"]
        theirs = (await other.sees("Which database"))["data"]
        assert data["key"] != theirs["key"]
        page, wrong = phone.page, {**data, "option": 1}
        for change in (
            {"ask": another.id},
            {"ask": approval.id},
            {"step": data["step"] + 1},
            {"key": theirs["key"]},
            {"key": ""},
            {"key": data["key"][:-1]},
        ):
            response = await answer(page, **{**wrong, **change})
            assert response.status_code in (403, 422), change
        assert (await answer(other.page, **wrong)).status_code == 403
        assert (await answer(page, **{**wrong, "option": 2})).status_code == 409
        for open_one in (ask, another, approval):
            assert (await push.desk.inbox.ask(open_one.id)).open
        assert (await answer(page, **wrong)).status_code == 200


async def test_an_approval_is_refused_even_with_a_key_for_it(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        ask = await push.desk.ask(COMMAND)
        keys = await push.channel.subscriptions.keys()
        forged = keys.answer_key(phone.id, ask.id, 0)
        response = await answer(phone.page, ask=ask.id, step=0, option=0, key=forged)
        assert (response.status_code, response.json()) == (
            403,
            {"error": "An approval is given on its page."},
        )
        assert (await push.desk.inbox.ask(ask.id)).open


async def test_a_browser_that_a_script_has_logged_in_gets_no_notifications(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        page = await push.page(by_token=True)
        key = (await page.get("/push/key")).json()["key"]
        response = await subscribe(page, service.browser(key).subscription)
        assert response.status_code == 403
        assert "chatbridge inbox" in response.json()["error"]
        assert not push.channel.subscriptions.listed()


async def test_the_other_browsers_are_told_of_a_new_one_and_not_of_one_that_asks_again(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        push.channel.subscriptions.tell_owner = push.supervisor.tell_again
        phone = await push.phone()
        other = await push.phone(await push.page(agent="X11; Linux x86_64; rv:140.0 Firefox/140.0"))
        shown = await phone.sees("Notifications were turned on in Firefox on Linux")
        assert (shown["silent"], shown["navigate"]) == (True, f"{push.address}/push")
        assert (await subscribe(other.page, other.browser.subscription)).status_code == 201
        renewed = service.browser(other.browser.hub_key)
        replaces = other.browser.subscription["endpoint"]
        response = await subscribe(other.page, renewed.subscription, replaces=replaces)
        assert response.status_code == 201
        await push.desk.ask(SELECT)
        await phone.sees("Which database")
        assert len(phone.browser.shows) == 2
        assert not other.browser.received


async def test_two_browsers_that_ask_at_once_are_both_kept_and_served(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        load = push.channel.load_browsers
        first, second = await asyncio.gather(load(), load())
        assert first is second
        pages = [await push.page(), await push.page()]
        one, two = await asyncio.gather(*map(push.phone, pages))
        await push.until_listed(one, two)
        for here, there in ((one, two), (two, one)):
            await push.desk.ask(SELECT)
            await there.sees("Which database")
            tapped = await here.tap(await here.sees("Which database"), "SQLite")
            assert tapped.status_code == 200
            await there.until_empty()
        for each in (one, two):
            closed = [it for it in each.browser.received if "ended" in it]
            assert len(closed) == 1, "the one that answered has closed its own"


@pytest.mark.parametrize("endpoint", ELSEWHERE)
async def test_no_address_makes_the_hub_send_requests_elsewhere(
    tmp_path: Path, service: PushService, endpoint: str
) -> None:
    async with running_push(tmp_path, service) as push:
        page = await push.page()
        good = service.browser((await page.get("/push/key")).json()["key"]).subscription
        response = await subscribe(page, good | {"endpoint": endpoint})
        assert response.status_code == 403
        assert "is not in push.services" in response.json()["error"]
        assert not push.channel.subscriptions.listed()


async def test_what_is_no_subscription_is_refused_with_its_place(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        page = await push.page()
        good = service.browser((await page.get("/push/key")).json()["key"]).subscription
        keys = good["keys"]
        for path, given in (
            ("endpoint", good | {"endpoint": 7}),
            ("endpoint", good | {"endpoint": service.address + "/push/" + "x" * 3000}),
            ("keys", good | {"keys": None}),
            ("keys.auth", good | {"keys": keys | {"auth": "AAAA"}}),
            ("keys.auth", good | {"keys": keys | {"auth": "A" * 21}}),
            ("keys.p256dh", good | {"keys": keys | {"p256dh": "B" * 87}}),
            ("keys.p256dh", good | {"keys": keys | {"p256dh": "ö" * 87}}),
            ("name", good | {"name": "x"}),
            ("replaces", good | {"replaces": []}),
        ):
            response = await subscribe(page, given)
            assert (response.status_code, response.json()["path"]) == (422, path)


# ── as long as the log-in ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", ["here", "everywhere", "expired"])
async def test_a_browser_that_is_logged_out_hears_nothing_more(
    tmp_path: Path, service: PushService, how: str
) -> None:
    async with running_push(tmp_path, service) as push:
        phone, other = await push.phone(), await push.phone()
        if how == "expired":
            push.clock.advance(SESSION_SECONDS + 1)
        else:
            form = {"everywhere": "1"} if how == "everywhere" else {}
            assert (await phone.page.post("/logout", data=form)).status_code == 303
        rings = [other] if how == "here" else []
        await push.desk.ask(SELECT)
        again = await push.phone()
        await push.desk.ask(CONFIRM)
        for each in (again, *rings):
            await each.sees("Delete the old")
        await push.until_listed(again, *rings)
        assert not phone.browser.received
        assert len(push.channel.surfaces) == 1 + len(rings) + 1


async def test_another_token_of_the_inbox_ends_all_notifications(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        await push.phone()
        clock = push.clock
    async with running_push(
        tmp_path, service, clock=clock, token="another-token-0123456789"
    ) as push:
        assert not push.channel.subscriptions.listed()


async def test_a_browser_that_asks_again_is_the_same_one_and_belongs_to_its_new_log_in(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone, page = await push.phone(), await push.page()
        response = await subscribe(page, phone.browser.subscription)
        assert (response.status_code, response.json()) == (201, {"id": phone.id})
        await phone.page.post("/logout")
        await push.desk.ask(SELECT)
        shown = await phone.sees("Which database")
        tapped = await answer(page, **shown["data"], option=1)
        assert tapped.status_code == 200


async def test_a_renewed_address_takes_the_place_of_the_old_one(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone, other = await push.phone(), await push.phone()
        fresh = service.browser(phone.browser.hub_key)
        await subscribe(phone.page, fresh.subscription, replaces=phone.browser.endpoint)
        await subscribe(phone.page, fresh.subscription, replaces=other.browser.endpoint)
        assert len(push.channel.subscriptions.listed()) == 2, "somebody else's stays"
        await push.desk.ask(SELECT)
        await asyncio.to_thread(fresh.sees, "Which database")
        await other.sees("Which database")
        assert not phone.browser.received


async def test_a_browser_can_be_removed_and_tested_and_the_oldest_of_many_goes(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        page = await push.page()
        phones = []
        for _ in range(MOST + 1):
            push.clock.advance(1)
            phones.append(await push.phone(page))
        listed = [each.id for each in push.channel.subscriptions.listed()]
        assert listed == [each.id for each in reversed(phones[1:])]
        assert {each.name for each in push.channel.subscriptions.listed()} == {"Chrome on Android"}
        mark = {"X-Chatbridge": "push"}
        one, two = phones[1], phones[2]
        assert (await page.post(f"/push/subscriptions/{one.id}/test", headers=mark)).is_success
        await one.sees("It rings here.")
        removed = await page.post(f"/push/subscriptions/{one.id}/remove")
        assert (removed.status_code, removed.headers["location"]) == (303, "/push")
        gone = await page.post(f"/push/subscriptions/{one.id}/test", headers=mark)
        assert (gone.status_code, gone.json()) == (
            404,
            {"error": "This browser is no longer listed."},
        )
        service.over.add(two.browser.token)
        failed = await page.post(f"/push/subscriptions/{two.id}/test", headers=mark)
        assert failed.status_code == 502
        assert "takes no notifications any more" in failed.json()["error"]


async def test_who_reads_the_log_cannot_ring(tmp_path: Path, service: PushService) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        said = f"POST {phone.browser.endpoint} {phone.browser.subscription['keys']['auth']}"
        assert redacted(said) == "POST [secret] [secret]"
