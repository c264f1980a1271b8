"""Texts of the documents that take more than an answer through the API, to the letter: asking back
on the page, a time-out, the journal. With official clients in both eras, over both carriers."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.acceptance.bridge import CARRIERS, MODES, PATIENCE, text_of, told
from tests.acceptance.connections import Connections
from tests.auq_asks import BOTH, golden
from tests.fakes.page import Page

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize("mode", MODES),
    pytest.mark.parametrize("carrier", CARRIERS),
]
QUESTIONS = Path(__file__).parents[1] / "golden" / "questions"
Tap = tuple[str, dict[str, object]]

CHOOSE: Tap = ("choose", {"step": 0, "option": 1})
ASKED_BACK: dict[str, list[Tap]] = {
    "elaborate": [
        ("explain", {"step": 0}),
        ("toggle", {"step": 2, "option": 0, "on": 1}),
        ("done", {"step": 2}),
        ("submit", {"step": 3}),
    ],
    "elaborate_guided": [
        CHOOSE,
        ("explain", {"step": 1, "text": 'What does "load" mean here?'}),
        ("submit", {"step": 3}),
    ],
    "rephrase": [CHOOSE, ("rephrase", {"step": 1}), ("submit", {"step": 3})],
}


@pytest.mark.parametrize("name", ASKED_BACK)
async def test_asking_back_on_the_page_comes_back_in_the_contracts_words(
    connections: Connections, carrier: str, mode: str, name: str
) -> None:
    connection = await connections.get(carrier=carrier, mode=mode)
    asking = connection.client.call_tool("ask_user_questions", BOTH, read_timeout_seconds=PATIENCE)
    call = asyncio.ensure_future(asking)
    ask = await connection.sees(BOTH["questions"][0]["prompt"])
    page = Page(connection.home.state)
    for action, fields in ASKED_BACK[name]:
        assert await asyncio.to_thread(page.taps, ask, action, **fields) == 200
    assert text_of(await call) == golden(name, session=ask["id"])


async def test_a_set_that_nobody_answers_is_an_error_in_the_contracts_words(
    connections: Connections, carrier: str, mode: str
) -> None:
    connection = await connections.get("brief", carrier=carrier, mode=mode)
    result = await connection.client.call_tool(
        "ask_user_questions", BOTH, read_timeout_seconds=PATIENCE
    )
    text = text_of(result)
    found = re.match(r"\[Session: ([0-9a-f-]+) ", text)
    assert found
    assert text == golden("timed_out", session=found.group(1))
    assert result.is_error


async def test_the_documents_example_of_a_summary_is_told_to_the_letter(
    connections: Connections, carrier: str, mode: str
) -> None:
    connection = await connections.get("brief", carrier=carrier, mode=mode)
    document = (QUESTIONS / "summary.yaml").read_text(encoding="utf-8")
    folder = connection.project / ".chatbridge" / "questions"
    folder.mkdir(parents=True)
    entries = re.findall(r"  - (timestamp: .*\n)    (.*\n)    (.*\n)", document)
    for number, lines in enumerate(entries):
        (folder / f"2025060{number}_133045_question.yaml").write_text("".join(lines))
    result = told(await connection.client.call_tool("question_summary", {}))
    generated = re.compile(r"^# Generated: .*$", re.MULTILINE)
    assert generated.sub("", result["summary"]) == generated.sub("", document)
    assert result["count"] == len(entries) == 3
