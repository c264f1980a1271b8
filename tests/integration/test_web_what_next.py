"""An agent that has finished, in the inbox: its last words, a field for the next task, and Done."""

from __future__ import annotations

from chatbridge.core.model import WHAT_NEXT, Ask, Question, Status
from tests.fakes.web import MARK, Web

WORDS = "All files are renamed. <b>Really</b>"
QUESTION = Question(id="next", text=WORDS, required=False, placeholder="The next task")


async def finished(web: Web) -> Ask:
    return await web.desk.ask(QUESTION, title="Finished", tool=WHAT_NEXT)


async def test_the_page_has_the_words_a_field_and_done_and_nothing_else(web: Web) -> None:
    ask = await finished(web)
    page = (await web.browser.get(f"/asks/{ask.id}")).text
    for words in (f"{ask.project.name} has finished", "All files are renamed. &lt;b&gt;", "Done"):
        assert words in page
    assert 'placeholder="The next task"' in page
    for words in ("Skip<", "Cancel question…", "Ask back…", "More time…"):
        assert words not in page
    rows = (await web.browser.get("/?all")).text
    assert "Finished: All files are renamed." in rows


async def test_done_ends_it(web: Web) -> None:
    ask = await finished(web)
    data = {"do": "skip", "step": "0"}
    page = await web.browser.post(f"/asks/{ask.id}/form", data=data, headers=MARK)
    assert (await web.desk.inbox.ask(ask.id)).status is Status.ANSWERED
    assert ">Done</h1>" in page.text.replace("\n", "")
    history = (await web.browser.get("/history")).text
    assert ">Done</span>" in "".join(history.split())
    assert "Skipped" not in page.text + history


async def test_a_script_with_the_token_cannot_give_the_next_task(web: Web) -> None:
    ask = await finished(web)
    answers = [{"questionId": "next", "values": ["rm -rf /"]}]
    refused = await web.script.post(f"/api/asks/{ask.id}/answer", json={"answers": answers})
    assert refused.status_code == 403
    assert "chatbridge tell" in refused.text
    assert (await web.desk.inbox.ask(ask.id)).open
