"""Words that some service reads as markup, a call or a button: on every channel they are words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Option, Project, Status
from tests.contract.drivers import Driver
from tests.fakes.inbox import SELECT, TEXT

pytestmark = pytest.mark.asyncio(loop_scope="module")

WORDS = {
    "calls": "<!channel> <!here> <@U0000001> <@&5> @everyone @here @room",
    "html": "<b>x</b> <script>alert(1)</script> &lt;i&gt; <a href='//evil.example'>bank</a>",
    "links": "https://evil.example|bank tg://user?id=1 https://matrix.to/#/@eve:example.org",
    "blocks": '{"type":"button"} [{"type":"section"}] ||spoiler|| :tada: <t:0:R>',
    "shell": "$(id) %s {0} {{x}} \\n \\u0041 ' \" ; --",
}
each = pytest.mark.parametrize("words", WORDS.values(), ids=list(WORDS))


@each
async def test_what_an_agent_says_is_shown_to_the_letter(driver: Driver, words: str) -> None:
    options = (Option(label=words[:30], description=words), Option(label="b"))
    project = Project(key="/x", name=f"a {words[:12]} z")
    ask = await driver.desk.ask(
        replace(SELECT, text=words, options=options), title=f"for {words[:15]} now", project=project
    )
    shown = await driver.shown(ask)
    assert shown.count(words) >= 2  # the question, and the option's description
    for part in (words[:30], f"for {words[:15]} now", f"a {words[:12]} z"):
        assert part in shown
    await driver.tap(ask, form.Choose(step=0, option=0))
    ended = await driver.desk.inbox.ask(ask.id)
    assert ended.status is Status.ANSWERED
    assert words[:30] in await driver.shown(ended)


@each
async def test_what_a_person_types_is_the_answer_to_the_letter(driver: Driver, words: str) -> None:
    ask = await driver.desk.ask(TEXT)
    await driver.shown(ask)
    await driver.type(ask, words)
    ended = await driver.desk.inbox.ask(ask.id)
    assert ended.outcome
    assert ended.outcome.answers == (Answer(values=(words,)),)
    assert words in await driver.shown(ended)
