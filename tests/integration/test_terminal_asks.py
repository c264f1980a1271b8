"""What a person's commands see of asks, and which one they mean."""

from __future__ import annotations

import asyncio
import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatbridge.attachments.files import AttachmentFiles
from chatbridge.attachments.settings import AttachmentLimits
from chatbridge.core import bounds
from chatbridge.core.asks import transitions as asks
from chatbridge.core.cards.outcome_text import in_place
from chatbridge.core.errors import ChatbridgeError, NoOpenAsk, SeveralAsks
from chatbridge.core.model import Ask, Attachment, Notice, Question
from chatbridge.core.policy import Policy
from chatbridge.digests import sha256_hex
from chatbridge.hub.control.asks import Watchers, how_it_ended, in_list, short_ids
from tests.fakes.approving import ClaudeCode
from tests.fakes.core_env import BLUE, COLOUR, OWNER, name, request
from tests.fakes.loop_watch import calls_in_this_thread
from tests.fakes.terminal_desk import desk

NAME = Question(id="name", text="Which name?")


# ── what is open ──────────────────────────────────────────────────────────────────────────────────


async def test_pending_lists_open_asks_with_the_beginning_of_their_ids(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask(COLOUR, NAME)
        (found,) = await mine.pending()
        assert found["id"] == ask.id
        assert found["short"] == ask.id[:6]
        assert (found["done"], found["approval"]) == (0, False)
        json.dumps(found)


async def test_a_list_for_a_table_is_short_however_long_the_questions_are(tmp_path: Path) -> None:
    long = replace(COLOUR, text="word " * 20_000)
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask(long)
        for do, ended in (("pending", False), ("history", True)):
            if ended:
                await mine.action("answer", id=ask.id, words=["blue"])
            (whole,) = (await mine.action(do))["asks"]
            (brief,) = (await mine.action(do, brief=True))["asks"]
            assert whole["questions"][0]["question"] == long.text
            assert long.text.startswith(brief["questions"][0]["question"])
            assert len(json.dumps(brief)) < 2_000


async def test_an_approval_is_listed_as_one(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine, ClaudeCode(mine.world).wanting():
        (found,) = await mine.pending()
        assert found["approval"]
        assert found["questions"][0]["subject"]["code"] == "ls -l"


async def test_a_summary_has_what_waits_and_what_timed_out_since_then(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine:
        clock = mine.world.clock
        over = await mine.world.ask(COLOUR, timeout=60.0)
        clock.advance(60.0)
        await mine.world.ended(over)
        ask = await mine.world.ask(NAME, number=2)
        (found,) = (await mine.action("summary")).values()
        assert [each["id"] for each in found["waiting"]] == [ask.id]
        assert found["timedOut"] == 1
        clock.advance(1.0)
        since = await mine.action("summary", since=clock.time() - 0.5)
        assert since["summary"]["timedOut"] == 0
        json.dumps(since)


@pytest.mark.parametrize("since", [float("nan"), True, "1h"])
async def test_a_summary_since_no_time_is_that_of_the_last_quiet_hours(
    tmp_path: Path, since: object
) -> None:
    async with desk(tmp_path) as mine:
        assert await mine.action("summary", since=since) == await mine.action("summary")


async def test_others_get_their_turn_while_a_long_summary_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_by_then = set[int]()
    async with desk(tmp_path) as mine:
        for number in range(5):
            await mine.world.ask(NAME, link=f"link-{number}", number=number)
        monkeypatch.setattr(bounds, "SLICE_SECONDS", -1.0)
        with calls_in_this_thread(in_list) as called:
            making = asyncio.ensure_future(mine.action("summary"))
            while not making.done():
                made_by_then.add(len(called))
                await asyncio.sleep(0)
        assert len((await making)["summary"]["waiting"]) == 5
    assert made_by_then > {1, 2, 3, 4}


@pytest.mark.parametrize("since", ["22:30", None, True, [], -1e300, 1e300, float("inf")])
async def test_a_summary_since_no_time_at_all_is_one_all_the_same(
    tmp_path: Path, since: object
) -> None:
    async with desk(tmp_path) as mine:
        found = (await mine.action("summary", since=since))["summary"]
        assert found["since"] <= found["until"]
        assert found["waiting"] == []


def test_a_short_id_grows_until_no_other_begins_like_it() -> None:
    bare = asks.open_ask(request(), now=0.0, deadline=None)

    def ask(id: str) -> Ask:
        return replace(bare, id=id)

    assert short_ids([ask("abcdef01"), ask("abcdef02"), ask("12345678")]) == {
        "abcdef01": "abcdef01",
        "abcdef02": "abcdef02",
        "12345678": "123456",
    }
    assert short_ids([ask("abcdef01"), ask("abcdef01")]) == {"abcdef01": "abcdef"}


async def test_a_watcher_is_told_of_each_change_and_of_nothing_else(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine, mine.watching() as picture:
        assert await picture() == []
        coming = asyncio.ensure_future(picture())
        ask = await mine.world.ask(COLOUR)
        assert [it["id"] for it in await coming] == [ask.id]
        coming = asyncio.ensure_future(picture())
        await mine.action("answer", id=ask.id, words=["blue"])
        assert await coming == []


async def test_a_watcher_is_woken_by_the_asks_that_its_user_may_see_alone(tmp_path: Path) -> None:
    hers, his = os.getuid() + 4242, os.getuid() + 4243
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask()
    of_her = replace(ask, project=replace(ask.project, key=f"uid:{hers}:/srv/shop"))
    watchers = Watchers()
    with (
        watchers.watching(hers) as by_her,
        watchers.watching(his) as by_him,
        watchers.watching(os.getuid()) as by_the_owner,
    ):
        watchers.changed(of_her)
        assert by_her.is_set()
        assert by_the_owner.is_set()
        assert not by_him.is_set()
        by_her.clear()
        watchers.changed(ask)
        assert not by_her.is_set()


# ── which one is meant ────────────────────────────────────────────────────────────────────────────


async def test_the_beginning_of_an_id_is_enough_in_any_case(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask()
        for given in (ask.id, ask.id[:1], f" {ask.id[:7].upper()} "):
            assert (await mine.action("ask", id=given))["ask"]["id"] == ask.id


@pytest.mark.parametrize("given", ["zzz", "", "  ", None, 7, "\x1b[2J"])
async def test_an_unknown_id_is_answered_with_those_that_are_open(
    tmp_path: Path, given: Any
) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask()
        with pytest.raises(NoOpenAsk) as refused:
            await mine.action("answer", id=given, words=["blue"])
        assert str(refused.value).endswith(f". Open now: {ask.id[:6]}")
        assert "\x1b" not in str(refused.value)


async def test_an_unknown_id_where_nothing_is_open_says_so(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine:
        with pytest.raises(NoOpenAsk, match=r"^No open question “k3f”\. None is open now\.$"):
            await mine.action("cancel", id="k3f")


async def test_an_id_that_several_begin_with_is_answered_with_the_candidates(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path) as mine:
        asks = [
            await mine.world.ask(replace(NAME, text=f"{i}?"), number=i) for i in range(17)
        ]  # of sixteen possible first characters
        firsts = [ask.id[0] for ask in asks]
        common = next(first for first in firsts if firsts.count(first) > 1)
        with pytest.raises(SeveralAsks) as refused:
            await mine.action("answer", id=common, words=["x"])
        for ask in asks:
            assert (ask.id[:6] in str(refused.value)) == ask.id.startswith(common)
        assert len(await mine.pending()) == 17


# ── what has been ─────────────────────────────────────────────────────────────────────────────────


async def test_history_has_the_newest_first_and_finds_words(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine:
        for number, text in enumerate(("Which name?", "Which town?", "Which name again?")):
            ask = await mine.world.ask(replace(NAME, text=text), number=number)
            mine.world.clock.advance(1.0)
            await mine.action("answer", id=ask.id, words=["x"])

        async def texts(**given: Any) -> list[str]:
            found = (await mine.action("history", **given))["asks"]
            return [ask["questions"][0]["question"] for ask in found]

        assert await texts() == ["Which name again?", "Which town?", "Which name?"]
        assert await texts(limit=1) == ["Which name again?"]
        assert await texts(search="name") == ["Which name again?", "Which name?"]
        for odd in ({"limit": -1}, {"limit": "x"}, {"search": 1}, {"search": " "}):
            assert len(await texts(**odd)) == 3


async def test_statistics_are_those_of_the_period_that_is_asked_for(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine:
        for number, waits in enumerate((30.0, 90.0)):
            ask = await mine.world.ask(NAME, number=number)
            mine.world.clock.advance(waits)
            await mine.action("answer", id=ask.id, words=["x"])

        async def stats(seconds: Any) -> dict[str, Any]:
            return dict((await mine.action("stats", seconds=seconds))["stats"])

        whole = await stats(86400)
        assert whole["total"]["questions"]["answered"] == 2
        assert whole["total"]["waitedSeconds"] == 120
        assert (await stats(91.0))["total"]["worstSeconds"] == 90
        assert (await stats(91.0))["total"]["questions"]["asked"] == 1


@pytest.mark.parametrize("odd", [0, -1, 1e300, "30d", None, [1], True])
async def test_a_period_that_is_none_is_refused(tmp_path: Path, odd: Any) -> None:
    async with desk(tmp_path) as mine:
        with pytest.raises(ChatbridgeError, match="seconds: a number up to 315360000"):
            await mine.action("stats", seconds=odd)


async def test_quiet_says_how_it_is_and_switches_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine:
        off, on = "No regular quiet hours. Now: off.", "No regular quiet hours. Now: on until "
        for words, said in (("", off), ("on 2h", on), ("", on), ("off", off), ("off", off)):
            assert (await mine.action("quiet", words=words))["said"].startswith(said)
        assert (await mine.action("quiet"))["said"] == off


@pytest.mark.parametrize("odd", ["soon", "on 8d", 5, ["on"], True, {}])
async def test_words_that_mean_nothing_switch_nothing(tmp_path: Path, odd: Any) -> None:
    async with desk(tmp_path) as mine:
        with pytest.raises(ChatbridgeError, match=r"such as 2h|up to 7 days"):
            await mine.action("quiet", words=odd)
        assert mine.world.broker.policy.nights.switch is None


# ── whose asks are whose ──────────────────────────────────────────────────────────────────────────


async def test_another_users_commands_see_and_touch_nothing(tmp_path: Path) -> None:
    stranger = os.getuid() + 4242
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask()
        assert await mine.pending(uid=stranger) == []
        for do in ("ask", "answer", "cancel", "snooze", "extend", "files"):
            with pytest.raises(NoOpenAsk, match="None is open now"):
                await mine.action(do, uid=stranger, id=ask.id, words=["blue"], when="1h")
        assert await mine.world.now(ask) == ask
        await mine.action("answer", id=ask.id, words=["blue"])
        assert (await mine.action("history", uid=stranger))["asks"] == []
        with pytest.raises(NoOpenAsk):
            await mine.action("ask", uid=stranger, id=ask.id)


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def file(name: str) -> Attachment:
    return Attachment(digest=sha256_hex(name.encode()), name=name, type="text/plain", size=4)


async def test_the_files_of_an_ask_its_answer_and_a_notice_are_listed_with_where_they_are(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path) as mine:
        store = AttachmentFiles(tmp_path / "state", AttachmentLimits(), mine.world.clock)
        mine.world.inbox.attachments = store
        image, log = [
            await store.add(io.BytesIO(name.encode()), name=name) for name in ("image", "log")
        ]
        red, blue = COLOUR.options
        asked = replace(
            request(replace(COLOUR, options=(red, replace(blue, image=image)))), attachments=(log,)
        )
        mine.world.broker.waiting_calls.link_opened("link-1")
        ask, _ = await mine.world.broker.ask(asked, name())
        answer = replace(BLUE[0], attachments=(file("gone"),))
        await mine.world.inbox.answer(ask.id, (answer,), person=OWNER)
        found = (await mine.action("files", id=ask.id[:6]))["files"]
        assert [(it["from"], it["name"], it["path"]) for it in found] == [
            ("option 2", "image", store.path(image)),
            ("question", "log", store.path(log)),
            ("answer", "gone", None),
        ]
        (listed,) = (await mine.action("history"))["asks"]
        of = {key: value for key, value in found[1].items() if key not in ("from", "path")}
        assert listed["attachments"] == [of]
        assert listed["questions"][0]["options"][1]["image"]["name"] == "image"
        assert listed["outcome"]["answers"][0]["attachments"][0]["name"] == "gone"


async def test_a_user_of_the_machines_hub_sees_the_names_of_own_files_and_no_path(
    tmp_path: Path,
) -> None:
    ada = os.getuid() + 4242
    async with desk(tmp_path) as mine:
        store = AttachmentFiles(tmp_path / "state", AttachmentLimits(), mine.world.clock)
        mine.world.inbox.attachments = store
        log = await store.add(io.BytesIO(b"log"), name="log")
        asked = replace(request(project=f"uid:{ada}:/src/shop"), attachments=(log,))
        mine.world.broker.waiting_calls.link_opened("link-1")
        ask, _ = await mine.world.broker.ask(asked, name())
        (found,) = (await mine.action("files", uid=ada, id=ask.id))["files"]
        assert (found["name"], found["path"]) == ("log", None)
        with pytest.raises(NoOpenAsk):
            await mine.action("files", uid=ada + 1, id=ask.id)


async def test_the_files_of_a_notice_are_for_who_may_see_it(tmp_path: Path) -> None:
    ada = os.getuid() + 4242
    async with desk(tmp_path) as mine:
        asked = request(project=f"uid:{ada}:/src/shop")
        notice = Notice(
            id="abcdef12",
            call=name(),
            project=asked.project,
            agent=asked.agent,
            message="Done",
            at=mine.world.clock.time(),
            attachments=(file("log"),),
        )
        await mine.world.store.write(lambda tx: tx.add_notice(notice))
        for uid in (os.getuid(), ada):
            (found,) = (await mine.action("files", uid=uid, id="abcdef"))["files"]
            assert (found["name"], found["from"]) == ("log", "message")
        for uid, given in ((ada + 1, "abcdef12"), (ada, "abcde")):
            with pytest.raises(NoOpenAsk):
                await mine.action("files", uid=uid, id=given)


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


async def test_what_is_asked_names_the_channels_that_work_and_the_others_trouble(
    tmp_path: Path,
) -> None:
    troubles = {"telegram": None, "web": None, "matrix": "access token refused"}
    async with desk(tmp_path, troubles=troubles) as mine:
        ask = await mine.world.ask()
        found = await mine.action("ask", id=ask.id)
        assert found["places"] == ["on Telegram", "in the web inbox"]
        assert found["troubles"] == {"Matrix": "access token refused"}
        assert found["ended"] is None


async def test_how_an_ask_ended_names_the_place(tmp_path: Path) -> None:
    async with desk(tmp_path) as mine:
        ask = await mine.world.ask()
        ended = await mine.world.inbox.answer(ask.id, BLUE, person=replace(OWNER, channel="matrix"))
        said = how_it_ended(ended, now=mine.world.clock.time())
        assert said.startswith("answered on Matrix at ")
        assert in_place("terminal") == "in the terminal"


async def test_limits_are_the_owners(tmp_path: Path) -> None:
    async with desk(tmp_path, withdraw_on_cancel=True) as mine:
        assert await mine.action("limits") == {
            "longest": Policy().max_timeout,
            "withdraws": True,
            "attach": "path",
        }
