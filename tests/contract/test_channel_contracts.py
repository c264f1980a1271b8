"""What every channel promises about approvals, asking back and notices.

An approval is given by its button and by nothing else, and nowhere that its owner has not named.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from chatbridge.core.cards.card import AskAction
from chatbridge.core.forms import form
from chatbridge.core.forms.form import AskExplain, AskMore, Explain, Rephrase, ShowAll
from chatbridge.core.model import ALLOW, ALLOW_SESSION, DENY, Answer, Ask, AskBack, Level, Status
from chatbridge.core.policy import Policy
from tests.contract.drivers import CHANNELS, DRIVERS, Driver
from tests.fakes.inbox import COMMAND, CONFIRM, LONG_COMMAND, SELECT

CODE = COMMAND.subject.code if COMMAND.subject else ""
NAMES = {"telegram": "Telegram", "matrix": "Matrix"}


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", params=CHANNELS)
async def powerless(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Driver]:
    """A channel on which no approval can be settled."""
    other = "matrix" if request.param == "telegram" else "telegram"
    policy = Policy(approval_channels=frozenset({other}))
    async with DRIVERS[request.param](tmp_path, request, policy=policy) as driver:
        yield driver


async def now(driver: Driver, ask: Ask) -> Ask:
    return await driver.desk.inbox.ask(ask.id)


async def verdict(driver: Driver, ask: Ask) -> Answer:
    ended = await now(driver, ask)
    assert ended.outcome
    assert ended.outcome.by
    assert ended.outcome.by.channel == driver.channel.name
    (answer,) = ended.outcome.answers
    return answer


# ── approvals ─────────────────────────────────────────────────────────────────────────────────────


async def test_an_approval_shows_who_wants_to_do_what_to_the_letter(driver: Driver) -> None:
    tricky = "echo '*not bold*' `date` <b>x</b> && rm \u202etxt"
    assert COMMAND.subject
    subject = replace(COMMAND.subject, code=tricky)
    shown = await driver.shown(await driver.desk.ask(replace(COMMAND, subject=subject)))
    assert "echo '*not bold*' `date` <b>x</b> && rm ⟨U+202E⟩txt" in shown
    for part in ("shop-api", "Claude Code", "Run this command?", "~/code/infra"):
        assert part in shown


async def test_one_tap_allows_one_thing_once(driver: Driver) -> None:
    ask = await driver.desk.ask(COMMAND)
    await driver.tap(ask, form.Choose(step=0, option=ALLOW))
    assert await verdict(driver, ask) == Answer(values=("allow",))
    shown = await driver.shown(await now(driver, ask))
    assert "Allowed once" in shown
    assert CODE in shown


async def test_words_allow_nothing(driver: Driver) -> None:
    ask = await driver.desk.ask(COMMAND)
    for words in ("yes", "1", "ok, allow it"):
        await driver.type(ask, words)
    assert await now(driver, ask) == ask


async def test_one_tap_denies(driver: Driver) -> None:
    ask = await driver.desk.ask(COMMAND)
    await driver.tap(ask, form.Choose(step=0, option=DENY))
    assert await verdict(driver, ask) == Answer(values=("deny",))
    assert "Denied" in await driver.shown(await now(driver, ask))


async def test_a_denial_can_say_why(driver: Driver) -> None:
    ask = await driver.desk.ask(COMMAND)
    await driver.tap(ask, form.Other(step=0))
    assert (await now(driver, ask)).open
    await driver.type(await now(driver, ask), "allow it after the backup")
    assert await verdict(driver, ask) == Answer(
        values=("deny",), custom_text="allow it after the backup"
    )
    assert "allow it after the backup" in await driver.shown(await now(driver, ask))


async def test_more_is_allowed_for_a_time_with_a_last_tap_and_taken_back_with_another(
    driver: Driver,
) -> None:
    ask = await driver.desk.ask(COMMAND)
    await driver.tap(ask, AskMore(step=0))
    asked = await now(driver, ask)
    assert "How long may it run this exact command" in await driver.shown(asked)
    await driver.tap(asked, form.Pick(step=1, option=1))
    last = await now(driver, ask)
    assert last.open
    assert "may run this exact command without asking until" in await driver.shown(last)
    await driver.tap(last, form.Choose(step=2, option=ALLOW_SESSION))
    assert await verdict(driver, ask) == Answer(values=("session",))
    after = await now(driver, ask)
    assert "Allowed for 8 h" in await driver.shown(after)
    assert after.grant
    assert after.grant.until == last.draft.until
    await driver.tap(after, AskAction.TAKE_BACK)
    taken = await now(driver, ask)
    assert taken.grant
    assert taken.grant.taken_back_at is not None
    assert "Taken back" in await driver.shown(taken)


async def test_an_allow_of_an_older_step_changes_nothing(driver: Driver) -> None:
    ask = await driver.desk.ask(COMMAND)
    await driver.tap(ask, AskMore(step=0))
    before = await now(driver, ask)
    assert await driver.tap(ask, form.Choose(step=0, option=ALLOW)) == form.STALE.why
    assert await now(driver, ask) == before


async def test_what_was_hidden_cannot_be_allowed(driver: Driver) -> None:
    ask = await driver.desk.ask(LONG_COMMAND)
    shown = await driver.shown(ask)
    assert "line 000" in shown
    assert "line 100" not in shown
    assert "line 199" in shown
    await driver.tap(ask, form.Choose(step=0, option=ALLOW))
    assert await now(driver, ask) == ask
    await driver.tap(ask, ShowAll(step=0))
    await driver.shown(await now(driver, ask))
    await driver.tap(await now(driver, ask), form.Choose(step=1, option=ALLOW))
    assert await verdict(driver, ask) == Answer(values=("allow",))


async def test_an_approval_that_nobody_gives_is_denied_for_good(driver: Driver) -> None:
    ask = await driver.desk.ask(COMMAND, timeout=60)
    await driver.shown(ask)
    ended = await driver.desk.time_out(ask)
    shown = await driver.shown(ended)
    assert "Denied" in shown
    assert "Nobody answered" in shown
    assert "anyway" not in shown
    await driver.tap(ask, form.Choose(step=0, option=ALLOW))
    assert await now(driver, ask) == ended


async def test_a_strangers_allow_does_nothing(driver: Driver) -> None:
    ask = await driver.desk.ask(COMMAND)
    learnt = await driver.intrude(ask, form.Choose(step=0, option=ALLOW), "allow")
    assert CODE not in learnt
    assert await now(driver, ask) == ask


async def test_a_channel_that_may_not_settle_it_shows_it_and_can_do_nothing(
    powerless: Driver,
) -> None:
    driver = powerless
    ask = await driver.desk.ask(COMMAND)
    (where,) = driver.desk.inbox.only_on(ask, driver.channel.name)
    shown = await driver.shown(ask)
    assert CODE in shown
    assert f"Allow or deny this in {NAMES[where]}." in shown
    for option in (ALLOW, DENY):
        assert await driver.tap(ask, form.Choose(step=0, option=option))
    await driver.type(ask, "allow")
    await driver.type(ask, "deny")
    assert await now(driver, ask) == ask
    question = await driver.desk.ask(CONFIRM)
    await driver.tap(question, form.Choose(step=0, option=0))
    assert (await now(driver, question)).status is Status.ANSWERED


# ── asking back ───────────────────────────────────────────────────────────────────────────────────


async def test_asking_to_rephrase_cancels_with_a_reason_that_says_so(driver: Driver) -> None:
    ask = await driver.desk.ask(SELECT)
    await driver.tap(ask, AskExplain(step=0))
    await driver.tap(await now(driver, ask), Rephrase(step=1))
    ended = await now(driver, ask)
    assert ended.status is Status.CANCELLED
    assert ended.outcome
    assert ended.outcome.reason == "Please rephrase this in a different way."


@pytest.mark.parametrize("words", ["What is the second one for?", None])
async def test_asking_to_explain_cancels_with_what_should_be_explained(
    driver: Driver, words: str | None
) -> None:
    ask = await driver.desk.ask(SELECT)
    await driver.tap(ask, AskExplain(step=0))
    asked = await now(driver, ask)
    assert asked.open
    await driver.shown(asked)
    if words:
        await driver.type(asked, words)
    else:
        await driver.tap(asked, Explain(step=1))
    ended = await now(driver, ask)
    assert ended.status is Status.CANCELLED
    assert ended.outcome
    assert ended.outcome.reason == f"Please explain this in more detail. {words or ''}".strip()


async def test_where_the_tool_takes_it_asking_back_is_an_answer(driver: Driver) -> None:
    ask = await driver.desk.ask(replace(SELECT, takes_ask_back=True))
    await driver.tap(ask, AskExplain(step=0))
    await driver.type(await now(driver, ask), "What is a container?")
    ended = await now(driver, ask)
    assert ended.status is Status.ANSWERED
    assert ended.outcome
    asked_back = Answer(ask_back=AskBack.EXPLAIN, custom_text="What is a container?")
    assert ended.outcome.answers == (asked_back,)
    assert "asked to explain: What is a container?" in await driver.shown(ended)


# ── notices ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_notice_is_shown_once_with_who_sends_it(driver: Driver) -> None:
    for _ in range(2):
        await driver.desk.notify(
            "The tests pass.", title="Night run", level=Level.WARNING, request='"same"'
        )
    await driver.desk.notify("The end.", level=Level.ERROR)
    shown = await driver.notices(until="The end.")
    (first,) = (each for each in shown if "The tests pass." in each)
    for part in ("Warning", "shop-api", "Claude Code", "Night run"):
        assert part in first
    assert sum("The end." in each for each in shown) == 1


async def test_a_notice_cannot_pretend_to_be_more_than_text(driver: Driver) -> None:
    await driver.desk.notify(
        "Look: <b>not bold</b> <script>alert(1)</script> \u202eesrever @room &lt;",
        title="<i>plain</i> \u200b",
        level=Level.ERROR,
    )
    (*_, shown) = await driver.notices(until="Look:")
    for part in ("<b>not bold</b> <script>alert(1)</script>", "⟨U+202E⟩esrever"):
        assert part in shown
    assert "<i>plain</i> ⟨U+200B⟩" in shown
    assert "\u202e" not in shown
