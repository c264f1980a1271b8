"""Browsers that ring: what rings, what a tap does, when a notification goes, and what is lost."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from chatbridge.channels.checks import HubState
from chatbridge.channels.web.push.doctor import check_push
from chatbridge.cli.database import DatabaseFile, notes
from chatbridge.core.forms.form import STALE, AskCancel, Choose, Snooze
from chatbridge.core.model import Level, Person, Priority, Question
from chatbridge.core.nights.hours import Period, Switch
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.nights.summaries import AFTER_SECONDS
from tests.fakes.doctor import screen
from tests.fakes.inbox import COMMAND, CONFIRM, MULTI, SELECT, TEXT
from tests.fakes.push_desk import Phone, PushDesk, running_push
from tests.fakes.push_service import PushService, Refused

OWNER = Person(name="Ada", channel="web")


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService.running() as found:
        yield found
        assert found.faults == []


def quiet_for_an_hour(push: PushDesk) -> None:
    now = push.clock.time()
    push.desk.inbox.nights.switch = Switch(on=True, period=Period(now, now + 3600))


def titles(phone: Phone) -> list[str]:
    """Of what rang, in words that the test chose."""
    return [shown["body"] for shown in phone.browser.rang]


async def last(push: PushDesk, phone: Phone) -> None:
    """Until all that came before has been dealt with: an urgent one comes after it, and rings."""
    await push.desk.ask(TEXT, priority=Priority.URGENT)
    await phone.sees(TEXT.text)


@dataclass
class Looking:
    """What `doctor` is given, as far as it looks at notifications."""

    push: PushDesk
    state: Path = Path()

    async def notes(self, channel: str) -> Mapping[str, str]:
        return await asyncio.to_thread(notes, DatabaseFile(self.push.database), channel)

    async def hub(self) -> HubState:
        return HubState(status={"remarks": self.push.supervisor.remarks()})

    async def ask(self, do: str) -> dict[str, Any]:
        raise NotImplementedError(do)

    def shown(self, path: Path) -> str:
        return str(path)

    def place_of(self, channel: str, *settings: str) -> str:
        return ""


async def doctor(push: PushDesk) -> str:
    return screen(await check_push(Looking(push)))


# ── answers ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_tap_answers_wakes_the_agent_and_counts_once(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone, other = await push.phone(), await push.phone()
        ask = await push.desk.ask(SELECT)
        shown = await phone.sees("Which database")
        assert shown["title"] == "shop-api asks"
        assert shown["navigate"] == f"{push.address}/asks/{ask.id}"
        labels = [action["title"] for action in shown["actions"]]
        assert labels == ["PostgreSQL in Docker", "SQLite"]
        await other.sees("Which database")
        waiting = asyncio.create_task(push.desk.broker.ended(ask.id))
        response = await phone.tap(shown, "SQLite")
        assert (response.status_code, response.json()) == (200, {"text": "Answered: SQLite"})
        async with asyncio.timeout(20):
            ended = await waiting
        assert ended.outcome is not None
        assert ended.outcome.answers[0].values == ("SQLite",)
        await other.until_empty()
        again = await phone.tap(shown, "PostgreSQL in Docker")
        assert again.status_code == 409
        assert again.json()["error"].startswith("Already answered")
        assert len(phone.browser.received) == 1, "the worker has closed its notification itself"


async def test_yes_or_no_is_answered_and_what_was_moved_on_elsewhere_is_not(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        ask = await push.desk.ask(CONFIRM)
        shown = await phone.sees("Delete the old")
        assert [action["title"] for action in shown["actions"]] == ["Yes", "No"]
        await push.desk.inbox.put(ask.id, AskCancel(step=0), person=OWNER)
        response = await phone.tap(shown, "No")
        assert (response.status_code, response.json()["error"]) == (409, STALE.why)
        assert (await push.desk.inbox.ask(ask.id)).open


@pytest.mark.parametrize("questions", [(MULTI,), (TEXT,), (SELECT, CONFIRM)], ids=len)
async def test_what_two_buttons_cannot_answer_has_none(
    tmp_path: Path, service: PushService, questions: tuple[Question, ...]
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        await push.desk.ask(*questions)
        shown = await phone.sees(questions[0].text)
        assert shown["actions"] == []
        assert "key" not in shown["data"]


async def test_an_approval_rings_without_buttons_and_opens_its_page(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        ask = await push.desk.ask(COMMAND)
        shown = await phone.sees("terraform apply")
        assert shown["title"] == "shop-api asks for approval"
        assert shown["actions"] == []
        assert shown["navigate"].endswith(f"/asks/{ask.id}")


# ── what rings, and what goes ─────────────────────────────────────────────────────────────────────


async def test_it_rings_for_what_would_ring_in_a_chat_and_for_nothing_else(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        await push.desk.ask(CONFIRM, priority=Priority.LOW)
        await push.desk.notify("just so you know", level=Level.INFO)
        await push.desk.notify("the disk is full", level=Level.ERROR)
        await phone.sees("the disk is full")
        quiet_for_an_hour(push)
        night = await push.desk.ask(SELECT)
        await push.desk.notify("still full", level=Level.ERROR)
        await last(push, phone)
        assert titles(phone) == ["the disk is full", TEXT.text]
        await push.desk.inbox.put(night.id, Choose(step=0, option=1), person=OWNER)
        await push.ended(night)
        await push.desk.ask(MULTI, priority=Priority.URGENT)
        await phone.sees(MULTI.text)
        assert len(phone.browser.received) == 3, "nothing was closed that had not come"


async def test_what_came_in_quiet_hours_rings_once_when_they_end(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        nights = push.desk.inbox.nights
        nights.policy = NightPolicy(reminders=(), summary=False)
        quiet_for_an_hour(push)
        night = [await push.desk.ask(each, timeout=7200) for each in (SELECT, CONFIRM)]
        await last(push, phone)
        push.clock.advance(3601)
        for ask in night:
            await push.attention(ask, lambda it: it.raised == 1)
        await push.desk.ask(MULTI)
        await phone.sees(MULTI.text)
        assert len(phone.browser.rang) == 3, "one for both of the night"


async def test_a_reminder_rings_again(tmp_path: Path, service: PushService) -> None:
    async with running_push(tmp_path, service) as push:
        push.desk.inbox.nights.policy = NightPolicy(reminders=(900.0,))
        phone = await push.phone()
        await push.desk.ask(SELECT, timeout=7200)
        await phone.sees("Which database")
        push.clock.advance(901)
        await phone.until(lambda: len(phone.browser.rang) == 2)
        assert len(phone.browser.shows) == 1
        assert [it["renotify"] for it in phone.browser.rang] == [True, True]


async def test_what_is_snoozed_goes_and_rings_when_it_comes_back(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        ask = await push.desk.ask(SELECT, timeout=7200)
        await phone.sees("Which database")
        await push.desk.inbox.put(ask.id, Snooze(step=0, minutes=30), person=OWNER)
        await phone.until_empty()
        push.clock.advance(1801)
        await phone.sees("Which database")
        assert len(phone.browser.rang) == 2


@pytest.mark.parametrize("how", ["answered", "cancelled", "timed out"])
async def test_it_goes_when_the_question_has_ended_elsewhere(
    tmp_path: Path, service: PushService, how: str
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        ask = await push.desk.ask(SELECT)
        await phone.sees("Which database")
        if how == "answered":
            await push.desk.inbox.put(ask.id, Choose(step=0, option=1), person=OWNER)
        elif how == "cancelled":
            await push.desk.inbox.cancel(ask.id, reason=None, person=OWNER)
        else:
            await push.desk.time_out(ask)
        await phone.until_empty()
        ended = phone.browser.received[-1]
        shown = ended["notification"]
        assert (ended["ended"], ended["app_badge"]) == (True, 0)
        assert (shown["title"], shown["body"]) == ("shop-api", how.capitalize())
        assert (shown["tag"], shown["silent"]) == (ask.id, True)
        assert [it["urgency"] for it in phone.browser.headers] == ["high", "normal"]
        topics = {it["topic"] for it in phone.browser.headers}
        assert len(topics) == 1, "a phone that was off gets only the newest"


async def test_a_new_browser_rings_for_nothing_that_was_there_before(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        push.desk.inbox.nights.policy = NightPolicy(reminders=(900.0,))
        old = await push.desk.ask(SELECT, timeout=7200)
        await push.desk.notify("the disk was full", level=Level.ERROR)
        push.clock.advance(1)
        phone = await push.phone()
        await push.noted(old, phone)
        await last(push, phone)
        assert titles(phone) == [TEXT.text]
        push.clock.advance(901)
        await phone.sees("Which database")


async def test_the_empty_page_says_which_browsers_ring(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        nobody = await push.page()
        assert "turn notifications on" in (await nobody.get("/")).text
        phone = await push.phone()
        says = "appears here, and Chrome on Android rings. You can close this page."
        assert says in (await phone.page.get("/")).text


async def test_the_morning_summary_rings_and_opens_its_page(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        nights, summaries = push.desk.inbox.nights, push.desk.summaries
        assert summaries is not None
        nights.policy = NightPolicy(reminders=(), extend_deadlines=False)
        quiet_for_an_hour(push)
        summaries.look()
        await push.desk.ask(SELECT, timeout=7200)
        push.clock.advance(3600 + AFTER_SECONDS)
        shown = await phone.sees("While you were away")
        assert shown["body"] == "1 question is waiting"
        assert shown["navigate"] == f"{push.address}/summary"
        assert len(phone.browser.rang) == 1


async def test_only_what_was_sent_counts_as_shown_to_somebody(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        quiet_for_an_hour(push)
        silent = await push.desk.ask(SELECT)
        loud = await push.desk.ask(TEXT, priority=Priority.URGENT)
        await phone.sees(TEXT.text)
        assert await push.noted(loud, phone) == 1
        assert await push.noted(silent, phone) == 0
        await push.desk.time_out(silent)
        await phone.until_empty()
        assert await push.noted(loud, phone) > 0
        assert await push.noted(silent, phone) == 0, "also not once it has ended"


# ── what a service answers ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("as_date", [False, True])
async def test_it_waits_as_long_as_the_service_says(
    tmp_path: Path, service: PushService, as_date: bool
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        until = formatdate(push.clock.time() + 77, usegmt=True)
        service.refusals = [Refused(429, "slow down", Retry_After=until if as_date else "77")]
        await push.desk.ask(SELECT)
        async with asyncio.timeout(20):
            await push.clock.until_asleep(77.0)
        assert list(push.channel.remarks) == []
        push.clock.advance(77)
        await phone.sees("Which database")
        assert len(service.requests) == 2


async def test_a_service_that_is_down_is_tried_again_and_later(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        service.refusals = [Refused(503, "later"), Refused(500, "oh")]
        await push.desk.ask(SELECT)
        for pause in (1.0, 2.0):
            async with asyncio.timeout(20):
                await push.clock.until_asleep(pause)
            push.clock.advance(pause)
        await phone.sees("Which database")


@pytest.mark.parametrize("status", [404, 410])
async def test_a_browser_that_is_gone_is_dropped_for_good_and_the_owner_is_told(
    tmp_path: Path, service: PushService, status: int
) -> None:
    async with running_push(tmp_path, service) as push:
        gone, stays = await push.phone(), await push.phone()
        push.channel.subscriptions.tell_owner = push.supervisor.tell_again
        if status == 410:
            service.over.add(gone.browser.token)
        else:
            del service.browsers[gone.browser.token]
        await push.desk.ask(SELECT)
        await stays.sees("Which database")
        await asyncio.to_thread(service.wait, lambda: gone.browser.token in service.requests)
        await push.until_listed(stays)
        await stays.sees("takes no notifications any more")
        surfaces = [each.name for each in push.channel.surfaces]
        assert surfaces == ["web", f"web:{stays.id}"]
        clock = push.clock
    before = service.requests.count(gone.browser.token)
    assert before == 1
    async with running_push(tmp_path, service, clock=clock) as push:
        clock.advance(1)
        await push.desk.ask(CONFIRM)
        await stays.sees("Delete the old")
    assert service.requests.count(gone.browser.token) == before


async def test_what_a_service_refuses_is_said_and_done_once_it_takes_it(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        service.refusals = [Refused(403, "VapidPkHashMismatch")]
        await push.desk.ask(SELECT)
        async with asyncio.timeout(20):
            await push.clock.until_asleep(1.0)
        (said,) = push.supervisor.remarks()
        assert "VapidPkHashMismatch (403). Turn notifications off and on again for Chrome" in said
        assert phone.browser.token not in said
        assert "Turn notifications off and on again for Chrome on Android" in await doctor(push)
        push.clock.advance(1)
        await phone.sees("Which database")
        await push.until_remarks([])
        assert "1 browser rings: Chrome on Android" in await doctor(push)


async def test_what_a_service_will_never_take_is_not_sent_for_ever(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        service.refusals = [Refused(413, "too large")]
        await push.desk.ask(SELECT)
        await asyncio.to_thread(service.wait, lambda: service.requests)
        await push.until_remarks(["too large (413)"])
        push.clock.advance(60)
        await last(push, phone)
        assert titles(phone) == [TEXT.text]
        assert len(service.requests) == 2


# ── what a crash leaves ───────────────────────────────────────────────────────────────────────────


async def test_a_hub_killed_after_the_push_and_before_its_record_rings_again_and_loses_nothing(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        ask = await push.desk.ask(SELECT, timeout=7200)
        shown = await phone.sees("Which database")
        await push.noted(ask, phone)
        clock = push.clock
    with closing(sqlite3.connect(tmp_path / "chatbridge.db")) as database, database:
        assert database.execute("DELETE FROM posts").rowcount == 1
    async with running_push(tmp_path, service, clock=clock) as push:
        await phone.until(lambda: len(phone.browser.rang) == 2)
        assert phone.browser.rang[1]["tag"] == shown["tag"], "it takes the other's place"
        assert phone.browser.rang[1]["data"] == shown["data"], "and both answer"
        await push.desk.inbox.cancel(ask.id, reason=None, person=OWNER)
        await phone.until_empty()


async def test_the_next_hub_closes_what_ended_while_none_ran(
    tmp_path: Path, service: PushService
) -> None:
    async with running_push(tmp_path, service) as push:
        phone = await push.phone()
        ask = await push.desk.ask(SELECT, timeout=60)
        await phone.sees("Which database")
        await push.noted(ask, phone)
        clock = push.clock
    clock.advance(120)
    async with running_push(tmp_path, service, clock=clock):
        await phone.until_empty()
        assert len(phone.browser.rang) == 1
