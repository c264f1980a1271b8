"""Asking back in the inbox: the sheets of its script, and the screens without one."""

from __future__ import annotations

from dataclasses import replace

import httpx2

from chatbridge.core.model import Answer, Ask, AskBack, CallName, Status, View
from tests.fakes.inbox import COMMAND, CONFIRM, SELECT, TEXT
from tests.fakes.web import MARK, Web

REPHRASE = "Please rephrase this in a different way."
EXPLAIN = "Please explain this in more detail."


async def now(web: Web, ask: Ask) -> Ask:
    return await web.desk.inbox.ask(ask.id)


async def tap(web: Web, ask: Ask, do: str, **fields: str | int) -> httpx2.Response:
    step = (await now(web, ask)).draft.step
    data = {"do": do, "step": str(step)} | {name: str(value) for name, value in fields.items()}
    return await web.browser.post(f"/asks/{ask.id}/form", data=data, headers=MARK)


async def reason(web: Web, ask: Ask) -> str | None:
    ended = await now(web, ask)
    assert ended.status is Status.CANCELLED
    assert ended.outcome
    return ended.outcome.reason


async def test_the_sheets_ask_back_from_the_question_in_one_go(web: Web) -> None:
    for do, text, said in (
        ("rephrase", "", REPHRASE),
        ("explain", "", EXPLAIN),
        ("explain", "  ", EXPLAIN),
        ("explain", "Why two?", f"{EXPLAIN} Why two?"),
    ):
        ask = await web.desk.ask(SELECT)
        assert (await tap(web, ask, do, text=text)).status_code == 200
        assert await reason(web, ask) == said


async def test_without_the_script_it_is_a_screen_with_a_way_back(web: Web) -> None:
    ask = await web.desk.ask(SELECT)
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    assert page.index("Ask back…") < page.index("Cancel question…")
    page = (await tap(web, ask, "ask_cancel")).text
    assert "Ask back…" not in page
    await tap(web, ask, "back")
    page = (await tap(web, ask, "ask_explain")).text
    for words in ("What should the agent explain?", "Explain this", "Ask it differently", "Back"):
        assert words in page
    await tap(web, ask, "back")
    assert (await now(web, ask)).draft.view is View.QUESTION
    await tap(web, ask, "ask_explain")
    await tap(web, ask, "explain", text="Why two?")
    assert await reason(web, ask) == f"{EXPLAIN} Why two?"
    assert f"“{EXPLAIN} Why two?”" in (await web.browser.get(f"/asks/{ask.id}")).text


async def test_a_sheet_that_is_out_of_date_or_too_long_changes_nothing(web: Web) -> None:
    ask = await web.desk.ask(CONFIRM, SELECT)
    assert (await tap(web, ask, "explain", text="x" * 10_001)).status_code == 422
    assert await now(web, ask) == ask
    await tap(web, ask, "choose", option=0)
    before = await now(web, ask)
    assert (await tap(web, ask, "explain", step=0, text="Why?")).status_code == 409
    assert (await tap(web, ask, "rephrase", step=0)).status_code == 409
    assert await now(web, ask) == before


async def test_where_it_is_an_answer_the_other_questions_go_on(web: Web) -> None:
    ask = await web.desk.ask(
        replace(SELECT, takes_ask_back=True), replace(TEXT, takes_ask_back=True)
    )
    await tap(web, ask, "explain", text="Which container?")
    assert (await now(web, ask)).draft.at == 1
    page = (await tap(web, ask, "text", text="feat: x")).text
    assert "asked to explain: Which container?" in page
    await tap(web, ask, "submit")
    found = (await web.script.get(f"/api/asks/{ask.id}")).json()
    assert found["outcome"]["answers"][0] == {
        "questionId": SELECT.id,
        "values": [],
        "customText": "Which container?",
        "askBack": "explain",
    }


async def test_a_single_one_that_asks_back_says_so_in_the_end(web: Web) -> None:
    ask = await web.desk.ask(replace(SELECT, takes_ask_back=True))
    await tap(web, ask, "rephrase")
    ended = await now(web, ask)
    assert ended.outcome
    assert ended.outcome.answers == (Answer(ask_back=AskBack.REPHRASE),)
    await web.desk.broker.waiting_calls.delivered(CallName(link="link", request="1"))
    page = (await web.browser.get(f"/asks/{ask.id}/card")).text
    assert "Asked back" in page
    assert "asked to rephrase" in page


async def test_the_review_of_such_a_set_has_nothing_to_ask_back_about(web: Web) -> None:
    ask = await web.desk.ask(replace(CONFIRM, takes_ask_back=True), CONFIRM)
    await tap(web, ask, "choose", option=0)
    await tap(web, ask, "choose", option=0)
    before = await now(web, ask)
    assert before.draft.view is View.REVIEW
    assert "Ask back…" not in (await web.browser.get(f"/asks/{ask.id}/card")).text
    assert (await tap(web, ask, "rephrase")).status_code == 422
    assert (await tap(web, ask, "explain")).status_code == 422
    assert await now(web, ask) == before


async def test_an_approval_is_not_asked_back_about(web: Web) -> None:
    ask = await web.desk.ask(COMMAND)
    assert (await tap(web, ask, "rephrase")).status_code == 422
    assert (await tap(web, ask, "explain", text="why")).status_code == 422
    assert await now(web, ask) == ask
