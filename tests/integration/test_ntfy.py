"""ntfy: what rings, what a tap does, and what nobody can do who only knows the topics."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.responses import Response

from chatbridge.channels.chat.callback_data import Tap, encode
from chatbridge.channels.errors import LONGEST_PAUSE
from chatbridge.channels.ntfy.channel import signed
from chatbridge.core.forms.form import Choose, Snooze
from chatbridge.core.model import WHAT_NEXT, Level, Option, Person, Priority
from chatbridge.core.nights.hours import Period, Switch
from chatbridge.core.nights.policy import NightPolicy
from chatbridge.core.nights.summaries import AFTER_SECONDS
from chatbridge.core.policy import Policy
from tests.fakes.inbox import ANYWHERE, COMMAND, CONFIRM, MULTI, SELECT, TEXT
from tests.fakes.ntfy_desk import ANSWER_TOPIC, INBOX, TOPIC, Ringing, running_ntfy
from tests.fakes.ntfy_server import NtfyServer, Refused, send

OWNER = Person(name="Ada", channel="web")


@pytest.fixture
def server() -> Iterator[NtfyServer]:
    with NtfyServer.running() as found:
        yield found


async def junk(ntfy: Ringing, *bodies: str | bytes, **headers: str) -> None:
    """Somebody writes to the answer topic; done once all of it was read."""
    ntfy.server.allowed += len(bodies)  # of a visitor's own
    async with asyncio.timeout(20):
        await ntfy.channel.drain()  # the first reading ends all waits, whatever it has missed
        for body in bodies:
            await asyncio.to_thread(send, f"{ntfy.server.address}/{ANSWER_TOPIC}", body, **headers)
        await ntfy.channel.drain()


async def test_a_tap_answers_and_the_notification_goes(tmp_path: Path, server: NtfyServer) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        ask = await ntfy.desk.ask(SELECT)
        ring = await ntfy.sees("Which database")
        assert ring["title"].startswith("❓ shop-api")
        assert ring["click"] == f"{INBOX}/asks/{ask.id}"
        labels = [action["label"] for action in ring["actions"]]
        assert labels == ["1 · PostgreSQL in Docker", "2 · SQLite", "Open inbox"]
        assert ring["message"].endswith("use?\n1. PostgreSQL in Docker\n2. SQLite")
        await ntfy.tap(ring, "SQLite")
        ended = await ntfy.ended(ask)
        assert ended.outcome is not None
        assert ended.outcome.answers[0].values == ("SQLite",)
        assert ended.outcome.by is not None
        assert ended.outcome.by.channel == "ntfy"
        await asyncio.to_thread(ntfy.phone.until_empty)
        assert len(ntfy.phone.rang) == 1


async def test_an_agent_that_has_finished_is_named_as_such(
    tmp_path: Path, server: NtfyServer
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        question = replace(TEXT, text="All done.", required=False)
        await ntfy.desk.ask(question, title="Finished", tool=WHAT_NEXT)
        ring = await ntfy.sees("All done.")
        assert ring["title"] == "🏁 shop-api has finished"


async def test_a_notification_is_taken_away_once(tmp_path: Path, server: NtfyServer) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        ask = await ntfy.desk.ask(SELECT)
        await ntfy.tap(await ntfy.sees("Which database"), "SQLite")
        ended = await ntfy.ended(ask)
        await asyncio.to_thread(ntfy.phone.until_empty)
        shown = await ntfy.channel.show(ended, place="0 digest")  # nobody heard that it worked
        await ntfy.channel.show(ended, place=shown.place)  # its agent has the answer
    assert sum("/clear" in request for request in server.requests) == 2


async def test_without_the_owners_word_it_only_rings(tmp_path: Path, server: NtfyServer) -> None:
    async with running_ntfy(tmp_path, server, answers=False) as ntfy:
        ask = await ntfy.desk.ask(SELECT, CONFIRM)
        ring = await ntfy.sees("Which database")
        assert [action["action"] for action in ring["actions"]] == ["view"]
        await ntfy.desk.inbox.put(
            ask.id, Choose(step=0, option=1), Choose(step=1, option=0), person=OWNER
        )
        ring = await ntfy.sees("Send these answers?")
        assert [action["action"] for action in ring["actions"]] == ["view"]
    assert not any(ANSWER_TOPIC in request for request in server.requests)


async def test_as_the_last_resort_it_rings_with_the_last_reminder_alone(
    tmp_path: Path, server: NtfyServer
) -> None:
    async with running_ntfy(tmp_path, server, answers=False) as ntfy:
        ntfy.desk.inbox.nights.policy = NightPolicy(reminders=(900.0, 3600.0), escalate="ntfy")
        ask = await ntfy.desk.ask(SELECT, timeout=3900.0)
        await ntfy.desk.ask(CONFIRM, timeout=3900.0)
        assert await ntfy.desk.shown_on(await ntfy.desk.notify("Just so you know")) == frozenset()
        ntfy.clock.advance(960.0)
        await ntfy.attention(ask, lambda it: it.raised > 0)
        assert not ntfy.phone.shows
        ntfy.clock.advance(2700.0)
        await ntfy.sees(SELECT.text)
        await ntfy.sees(CONFIRM.text)
        assert len(ntfy.phone.rang) == 1, "and once for both"


async def test_a_stranger_who_knows_both_topics_answers_nothing(
    tmp_path: Path, server: NtfyServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with running_ntfy(tmp_path, server) as ntfy:
        ask = await ntfy.desk.ask(SELECT)
        await ntfy.sees("Which database")
        data = encode(Tap(ask_id=ask.id, question=0, action=Choose(step=0, option=1)))
        await junk(
            ntfy,
            data,
            signed(data, secret="a guess"),
            f"{data} ",
            f"{data} {'0' * 32}",
            f"{data} \udcff",
            "SQLite",
            "\x00" * 100,
            "q:off",
            "n",
            "{}",
            "9" * 4096,
            "9" * 100_000,
            b"\xff\xfe" * 50,
            "a\x85b\u2028c\r\nd",
        )
        await junk(ntfy, "", Title="9" * 300_000)  # of more than one read
        assert not ntfy.channel._ours("")  # which this server makes "triggered" of
        assert (await ntfy.desk.inbox.ask(ask.id)).open
        assert ntfy.channel.trouble is None
        assert not [it for it in caplog.records if it.name.startswith("chatbridge")]


async def test_who_reads_an_answer_can_repeat_it_but_make_up_no_other(
    tmp_path: Path, server: NtfyServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        ask = await ntfy.desk.ask(CONFIRM, SELECT)
        ring = await ntfy.sees("Delete the old fixtures?")
        await ntfy.tap(ring, "Yes")
        await ntfy.sees("Which database")
        seen = next(it["message"] for it in server.messages if it["topic"] == ANSWER_TOPIC)
        data, _, signature = seen.partition(" ")
        other = encode(Tap(ask_id=ask.id, question=1, action=Choose(step=1, option=0)))
        await junk(ntfy, seen, f"{other} {signature}", seen)
        now = await ntfy.desk.inbox.ask(ask.id)
        assert now.open
        assert now.draft.at == 1
        assert data != other
        await ntfy.desk.inbox.cancel(ask.id, reason=None, person=OWNER)
        await junk(ntfy, *[seen] * 5)
        assert not [it for it in caplog.records if it.name.startswith("chatbridge")]


async def test_a_signature_of_one_question_counts_for_no_other(
    tmp_path: Path, server: NtfyServer
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        first = await ntfy.desk.ask(CONFIRM, title="first")
        second = await ntfy.desk.ask(CONFIRM, title="second")
        ring, other = await ntfy.sees("first"), await ntfy.sees("second")
        _, _, signature = ring["actions"][0]["body"].partition(" ")
        data = other["actions"][0]["body"].partition(" ")[0]
        await junk(ntfy, f"{data} {signature}")
        for ask in (first, second):
            assert (await ntfy.desk.inbox.ask(ask.id)).open


async def test_a_flood_on_the_answer_topic_costs_the_hub_no_requests(
    tmp_path: Path, server: NtfyServer
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        ask = await ntfy.desk.ask(CONFIRM)
        ring = await ntfy.sees("Delete")
        await ntfy.listens()
        before = len(server.requests)
        for number in range(30):
            await asyncio.to_thread(send, f"{server.address}/{ANSWER_TOPIC}", f"junk {number}")
        await ntfy.tap(ring, "Yes")
        await ntfy.ended(ask)
        mine = [it for it in server.requests[before:] if it.startswith("GET")]
        assert len(mine) <= 2, "the stream, again after the answer"


async def test_an_approval_rings_and_says_where_it_is_given(
    tmp_path: Path, server: NtfyServer
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        await ntfy.desk.ask(COMMAND)
        ring = await ntfy.sees("Run this command?")
        assert "terraform apply" in ring["message"]
        assert (
            "Allow or deny this in Discord or Matrix or Slack or Telegram or the web inbox."
            in (ring["message"])
        )
        assert [action["label"] for action in ring["actions"]] == ["Open inbox"]


async def test_an_approval_is_never_given_here_whatever_the_settings_say(
    tmp_path: Path, server: NtfyServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Even with a signature of this hub."""
    policy = Policy(approval_channels=ANYWHERE | {"ntfy"})
    async with running_ntfy(tmp_path, server, policy=policy) as ntfy:
        ask = await ntfy.desk.ask(COMMAND)
        ring = await ntfy.sees("Run this command?")
        assert [action["label"] for action in ring["actions"]] == ["Open inbox"]
        data = encode(Tap(ask_id=ask.id, question=0, action=Choose(step=0, option=0)))
        await junk(ntfy, ntfy.channel._sign(data))
        assert "was passed over" in caplog.text
        assert (await ntfy.desk.inbox.ask(ask.id)).open


async def test_a_form_goes_on_in_the_same_notification_without_a_sound(
    tmp_path: Path, server: NtfyServer
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        ask = await ntfy.desk.ask(CONFIRM, SELECT)
        await ntfy.tap(await ntfy.sees("1 of 2"), "No")
        await ntfy.tap(await ntfy.sees("2 of 2"), "SQLite")
        ring = await ntfy.sees("Send these answers?")
        assert len(ntfy.phone.shows) == 1
        await ntfy.tap(ring, "Send answers")
        ended = await ntfy.ended(ask)
        assert ended.outcome is not None
        assert [answer.values for answer in ended.outcome.answers] == [("no",), ("SQLite",)]
        assert len(ntfy.phone.rang) == 1


async def test_an_older_server_gets_one_notification_and_no_updates(tmp_path: Path) -> None:
    with NtfyServer.running(updates=False) as server:
        async with running_ntfy(tmp_path, server) as ntfy:
            ask = await ntfy.desk.ask(CONFIRM, SELECT)
            await ntfy.tap(await ntfy.sees("1 of 2"), "No")
            await junk(ntfy, "")
            await ntfy.desk.inbox.cancel(ask.id, reason=None, person=OWNER)
            await ntfy.ended(ask)
            assert len(ntfy.phone.shows) == 1
            assert ntfy.channel.trouble is None


async def test_a_server_that_became_older_leaves_the_notification(
    tmp_path: Path, server: NtfyServer
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        ask = await ntfy.desk.ask(CONFIRM)
        ring = await ntfy.sees("Delete")
        server.updates = False
        await ntfy.tap(ring, "Yes")
        await ntfy.ended(ask)
        await asyncio.to_thread(
            server.wait, lambda: any(it.startswith("PUT") for it in server.requests)
        )
        await ntfy.desk.notify("and on", level=Level.ERROR)
        await ntfy.sees("and on")
        assert ntfy.channel.trouble is None


async def test_a_notification_says_how_many_files_are_in_the_inbox(
    tmp_path: Path, server: NtfyServer
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        log, shot = await ntfy.desk.files.text("a.log", "a"), await ntfy.desk.files.picture("a.png")
        await ntfy.desk.ask(TEXT, attachments=(log, shot))
        ring = await ntfy.sees(TEXT.text)
        assert ring["message"].splitlines()[-1] == "📎 2 files, which are in the inbox."
        await ntfy.desk.notify("It is done", level=Level.ERROR, attachments=(log,))
        told = await ntfy.sees("It is done")
        assert told["message"] == "It is done\n📎 1 file, which is in the inbox."


async def test_short_options_are_buttons_and_without_answers_they_are_named(
    tmp_path: Path, server: NtfyServer
) -> None:
    short = replace(SELECT, options=tuple(Option(label=it) for it in ("red", "blue", "green")))
    many = replace(SELECT, options=tuple(Option(label=f"colour {i}") for i in range(1, 8)))
    async with running_ntfy(tmp_path, server) as ntfy:
        await ntfy.desk.ask(short, title="short")
        ring = await ntfy.sees("short")
        assert [action["label"] for action in ring["actions"]] == ["red", "blue", "green"]
        assert ring["message"].endswith("use?")
        await ntfy.desk.ask(MULTI, title="several")
        assert "\n3. Load test" in (await ntfy.sees("several"))["message"]
        await ntfy.desk.ask(many, title="many")
        said = (await ntfy.sees("many"))["message"]
        assert said.endswith("\n3. colour 3\n4. colour 4\n…")
    async with running_ntfy(tmp_path, server, answers=False) as ntfy:
        await ntfy.desk.ask(short, title="named")
        assert (await ntfy.sees("named"))["message"].endswith("use?\n1. red\n2. blue\n3. green")


@pytest.mark.parametrize(
    "question", [TEXT, MULTI, replace(SELECT, options=(Option(label="a"),) * 4)]
)
async def test_what_does_not_fit_into_buttons_is_answered_in_the_inbox(
    tmp_path: Path, server: NtfyServer, question: object
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        await ntfy.desk.ask(question)  # type: ignore[arg-type]
        ring = await ntfy.sees("shop-api")
        assert [action["label"] for action in ring["actions"]] == ["Open inbox"]


async def test_a_question_of_100000_characters_is_cut_and_no_field_can_be_forged(
    tmp_path: Path, server: NtfyServer
) -> None:
    hostile = (
        '\u202e"],"priority":5,"topic":"other"\r\nX-Actions: http\n' + "\U0001f600日本" * 33_000
    )
    label = '"},{"action":"http"' + "x" * 1000
    question = replace(SELECT, text=hostile, options=(Option(label=label), Option(label="\x1b[2J")))
    async with running_ntfy(tmp_path, server) as ntfy:
        await ntfy.desk.ask(question, title=hostile)
        ring = await ntfy.sees("shop-api")
        assert (ring["topic"], ring["priority"], len(ring["actions"])) == (TOPIC, 3, 3)
        assert "attachment" not in ring
        assert len(json.dumps(ring, ensure_ascii=False).encode()) < 4096, "what phones are sent"
        assert "\u202e" not in ring["message"] + ring["title"]
        assert "\n" not in ring["title"]


async def test_a_label_cannot_write_buttons_and_a_title_hides_nothing(
    tmp_path: Path, server: NtfyServer
) -> None:
    """The server makes headers of them, and decodes the words of RFC 2047 there."""
    options = (Option(label="=?utf-8?q?=22,=22a?="), Option(label="=?utf-8?b?Iix7?="))
    title = "=?utf-8?q?all=0Awell?= =?utf-8?b?4oCu?="
    async with running_ntfy(tmp_path, server) as ntfy:
        await ntfy.desk.ask(replace(SELECT, options=options), title=title)
        ring = await ntfy.sees("Which database")
        labels = [action["label"] for action in ring["actions"]]
        assert labels == ["1 · = ?utf-8?q?=22,=22a?=", "2 · = ?utf-8?b?Iix7?=", "Open inbox"]
        assert {action["url"] for action in ring["actions"][:2]} == {
            f"{server.address}/{ANSWER_TOPIC}"
        }
        assert ring["title"] == f"❓ shop-api · {title.replace('=?', '= ?')}"


@pytest.mark.parametrize(
    "text", ["a\x00b\x07c\x1b[31mred", "one\r\ntwo\rthree", "👩‍👩‍👧‍👦" * 500, " "]
)
async def test_whatever_a_text_holds_a_phone_gets_it_in_one_message(
    tmp_path: Path, server: NtfyServer, text: str
) -> None:
    server.files = False
    async with running_ntfy(tmp_path, server) as ntfy:
        await ntfy.desk.ask(replace(SELECT, text=text), title=text)
        await ntfy.desk.notify(text, title=text, level=Level.ERROR)
        ring, told = await ntfy.sees("❓"), await ntfy.sees("❌")
        for shown in (ring, told):
            assert len(json.dumps(shown, ensure_ascii=False).encode()) < 4096
            assert not set("\x00\x07\x1b\r") & set(shown["message"] + shown["title"])
            assert "\n" not in shown["title"]


async def test_priorities_follow_the_question(tmp_path: Path, server: NtfyServer) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        await ntfy.desk.ask(SELECT, priority=Priority.LOW, title="low")
        await ntfy.desk.ask(SELECT, priority=Priority.URGENT, title="urgent")
        await ntfy.desk.notify("told", level=Level.INFO)
        await ntfy.desk.notify("warned", level=Level.ERROR)
        found = [(await ntfy.sees(it))["priority"] for it in ("low", "urgent", "told", "warned")]
        assert found == [2, 5, 2, 3]


async def test_a_reminder_rings_again_where_the_notification_is_still_there(
    tmp_path: Path, server: NtfyServer
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        ntfy.desk.inbox.nights.policy = NightPolicy(reminders=(900.0,))
        ask = await ntfy.desk.ask(SELECT, timeout=7200)
        await ntfy.sees("Which database")
        ntfy.clock.advance(901)
        await asyncio.to_thread(server.wait, lambda: len(ntfy.phone.rang) == 2)
        ring = await ntfy.sees("⏳")
        assert len(ntfy.phone.shows) == 1
        await ntfy.tap(ring, "SQLite")
        await ntfy.ended(ask)


async def test_what_is_snoozed_goes_and_rings_when_it_comes_back(
    tmp_path: Path, server: NtfyServer
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        ask = await ntfy.desk.ask(SELECT, timeout=7200)
        await ntfy.sees("Which database")
        await ntfy.desk.inbox.put(ask.id, Snooze(step=0, minutes=30), person=OWNER)
        await asyncio.to_thread(ntfy.phone.until_empty)
        ntfy.clock.advance(1801)
        await ntfy.sees("Which database")
        assert len(ntfy.phone.rang) == 2


async def test_in_quiet_hours_nothing_rings_but_what_may(
    tmp_path: Path, server: NtfyServer
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        now = ntfy.clock.time()
        ntfy.desk.inbox.nights.switch = Switch(on=True, period=Period(now, now + 3600))
        await ntfy.desk.ask(SELECT, title="night")
        await ntfy.desk.ask(SELECT, priority=Priority.URGENT, title="fire")
        await ntfy.desk.notify("warned", level=Level.ERROR)
        found = [(await ntfy.sees(it))["priority"] for it in ("night", "fire", "warned")]
        assert found == [2, 5, 2]


async def test_the_morning_summary_comes_once_and_opens_the_inbox(
    tmp_path: Path, server: NtfyServer
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        now = ntfy.clock.time()
        nights, summaries = ntfy.desk.inbox.nights, ntfy.desk.summaries
        assert summaries is not None
        nights.policy = NightPolicy(reminders=(), extend_deadlines=False)
        nights.switch = Switch(on=True, period=Period(now, now + 3600))
        summaries.look()
        await ntfy.desk.ask(SELECT, timeout=7200)
        await ntfy.sees("Which database")
        ntfy.clock.advance(3600 + AFTER_SECONDS)
        ring = await ntfy.sees("While you were away")
        assert (ring["priority"], ring["message"]) == (3, "1 question is waiting")
        assert len([it for it in server.messages if "away" in it.get("title", "")]) == 1


# ── what a server does ────────────────────────────────────────────────────────────────────────────


async def test_a_wrong_token_is_said_and_nothing_is_lost(
    tmp_path: Path, server: NtfyServer
) -> None:
    server.rights = {"tk_right-0123": {TOPIC: "w", ANSWER_TOPIC: "r"}, "": {ANSWER_TOPIC: "w"}}
    async with running_ntfy(tmp_path, server, token="tk_wrong-0123", answers=False) as ntfy:
        ask = await ntfy.desk.ask(SELECT, timeout=3600)
        await ntfy.until("does not accept the token. Check ntfy.token")
        server.rights["tk_wrong-0123"] = {}
        ntfy.clock.advance(600)
        await ntfy.until("forbidden (403). Let the token use the topic there")
        server.rights["tk_wrong-0123"] = {TOPIC: "rw"}
        ntfy.clock.advance(600)
        await ntfy.sees("Which database")
        await ntfy.until(None)
        assert (await ntfy.desk.inbox.ask(ask.id)).open


async def test_answers_come_from_a_server_where_everybody_may_only_write_them(
    tmp_path: Path, server: NtfyServer
) -> None:
    server.rights = {"tk_right-0123": {TOPIC: "w", ANSWER_TOPIC: "r"}, "": {ANSWER_TOPIC: "w"}}
    async with running_ntfy(tmp_path, server, token="tk_right-0123") as ntfy:
        ask = await ntfy.desk.ask(CONFIRM)
        await ntfy.tap(await ntfy.sees("Delete"), "Yes")
        await ntfy.ended(ask)
        assert not any("tk_right" in str(message) for message in server.messages)


async def test_a_rate_limit_is_a_pause_and_no_trouble(tmp_path: Path, server: NtfyServer) -> None:
    async with running_ntfy(tmp_path, server, answers=False) as ntfy:
        server.refusals = [Refused(42901), *(Refused(42901, after=it) for it in ("7", "9" * 9))]
        await ntfy.desk.ask(SELECT)
        for pause in (12.0, 7.0, LONGEST_PAUSE):
            async with asyncio.timeout(20):
                await ntfy.clock.until_asleep(pause)
            assert ntfy.channel.trouble is None
            ntfy.clock.advance(pause)
        await ntfy.sees("Which database")


@pytest.mark.parametrize(("code", "said"), [(42908, "daily message quota"), (50001, "internal")])
async def test_what_the_server_cannot_do_now_is_said_and_done_later(
    tmp_path: Path, server: NtfyServer, code: int, said: str
) -> None:
    async with running_ntfy(tmp_path, server, answers=False) as ntfy:
        server.refusals = [Refused(code)]
        await ntfy.desk.ask(SELECT)
        await ntfy.until(said)
        ntfy.clock.advance(600)
        await ntfy.sees("Which database")


async def test_answers_given_while_the_stream_was_cut_count_once(
    tmp_path: Path, server: NtfyServer
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        ask = await ntfy.desk.ask(CONFIRM)
        ring = await ntfy.sees("Delete")
        await ntfy.listens()
        server.down = True
        await ntfy.until("has ended the connection")
        server.down = False
        await ntfy.tap(ring, "Yes")
        ntfy.clock.advance(600)
        await ntfy.ended(ask)
        await ntfy.until(None)
    server.requests.clear()
    async with running_ntfy(tmp_path, server) as ntfy:
        await junk(ntfy, "hello")
        assert "since=m" in next(it for it in server.requests if f"/{ANSWER_TOPIC}/json" in it)
        assert (await ntfy.desk.inbox.ask(ask.id)).outcome is not None


async def test_a_server_that_lost_its_messages_brings_the_next_answer(
    tmp_path: Path, server: NtfyServer
) -> None:
    async with running_ntfy(tmp_path, server) as ntfy:
        first, second = await ntfy.desk.ask(CONFIRM, title="one"), await ntfy.desk.ask(SELECT)
        await ntfy.tap(await ntfy.sees("one"), "Yes")
        await ntfy.ended(first)
        ring = await ntfy.sees("Which database")
        await ntfy.listens()
        server.down = True
        await ntfy.until("has ended the connection")
        server.lose_cache()
        server.down = False
        await ntfy.tap(ring, "SQLite")
        ntfy.clock.advance(600)
        await ntfy.ended(second)


async def test_signs_of_life_are_no_answers_and_keep_the_stream(
    tmp_path: Path, server: NtfyServer
) -> None:
    server.keepalive = 0.0
    async with running_ntfy(tmp_path, server) as ntfy:
        ask = await ntfy.desk.ask(CONFIRM)
        ring = await ntfy.sees("Delete")
        await ntfy.listens()
        before, signs = len(server.requests), server.signs_of_life
        await asyncio.to_thread(server.wait, lambda: server.signs_of_life > signs + 2)
        assert (ntfy.channel.trouble, len(server.requests)) == (None, before)
        await ntfy.tap(ring, "Yes")
        await ntfy.ended(ask)


@pytest.mark.parametrize("code", [42901, 42903, 42909])
async def test_a_reader_that_is_told_to_wait_does(
    tmp_path: Path, server: NtfyServer, code: int
) -> None:
    server.refusals = [Refused(code)]
    async with running_ntfy(tmp_path, server) as ntfy:
        async with asyncio.timeout(20):
            await ntfy.clock.until_asleep(12.0)
        ntfy.clock.advance(12.0)
        await ntfy.listens()
        await ntfy.until(None)


async def test_a_page_of_a_portal_instead_of_a_server_is_no_end(
    tmp_path: Path, server: NtfyServer
) -> None:
    """A hotel's network answers everything with 200 and a page."""
    page = Refused(50001)
    page.response = Response("<html>\nLog in", 200, media_type="text/html")
    server.refusals = [page]
    async with running_ntfy(tmp_path, server) as ntfy:
        ask = await ntfy.desk.ask(CONFIRM)
        await ntfy.tap(await ntfy.sees("Delete"), "Yes")
        await ntfy.ended(ask)
