"""The parts of `make clients` that need none of the programs: its model, its scripts, its table."""

from __future__ import annotations

import json
import threading
import urllib.request
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.clients.model import Call, Model
from tests.clients.programs import PROGRAMS, limited, packages
from tests.clients.scenes import END, QUESTION, asking
from tests.clients.table import BEGIN, as_markdown, as_text, write_docs
from tests.clients.table import END as UNTIL
from tests.fakes.sample_files import PNG

Json = dict[str, Any]
PICTURE = b64encode(PNG).decode()
URL = f"data:image/png;base64,{PICTURE}"
ASK = {"name": "mcp__chatbridge__ask_user"}
TICKET = '{"pending": true, "askId": "3f9a2c00-0000-4000-8000-000000000001"}'


def script(results: Sequence[str]) -> Call | str:
    return f"told {results[-1]}" if results else Call("ask_user", {"question": "Which?"})


@pytest.fixture
def model() -> Iterator[Model]:
    with Model(script).serving() as served:
        yield served


def post(model: Model, path: str, body: Json) -> str:
    request = urllib.request.Request(model.address + path, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=20) as response:
        text: str = response.read().decode()
    return text


MESSAGES = {
    "tools": [ASK],
    "messages": [
        {"role": "user", "content": "go"},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "content": [
                        {"type": "text", "text": "blue"},
                        {"type": "image", "source": {"media_type": "image/png", "data": PICTURE}},
                    ],
                }
            ],
        },
    ],
}
RESPONSES = {
    "tools": [{"type": "namespace", "name": "mcp__chatbridge", "tools": [{"name": "ask_user"}]}],
    "input": [
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": [
                {"type": "input_text", "text": "blue"},
                {"type": "input_image", "image_url": URL},
            ],
        }
    ],
}
CHAT = {
    "tools": [{"type": "function", "function": ASK}],
    "messages": [
        {"role": "tool", "content": "blue"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": URL}}]},
    ],
}
GEMINI = {
    "tools": [{"functionDeclarations": [ASK]}],
    "contents": [
        {
            "parts": [
                {"functionResponse": {"name": "x", "response": {"output": "blue"}}},
                {"inlineData": {"mimeType": "image/png", "data": PICTURE}},
            ]
        }
    ],
}
DIALECTS = [
    ("/v1/messages", MESSAGES, "messages"),
    ("/v1/responses", RESPONSES, "input"),
    ("/v1/chat/completions", CHAT, "messages"),
    ("/v1beta/models/m:{}", GEMINI, "contents"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("path", "body", "history"), DIALECTS)
def test_it_asks_for_the_tool_that_is_offered_and_says_what_it_was_told(
    model: Model, path: str, body: Json, history: str, stream: bool
) -> None:
    path = path.format("streamGenerateContent" if stream else "generateContent")
    more = {"stream": stream, "model": "m"}
    asked = post(model, path, {**body, **more, history: []})
    assert "ask_user" in asked
    assert "Which?" in asked
    assert ("\ndata: " in f"\n{asked}") is stream
    said = post(model, path, {**body, **more})
    assert "told" in said
    assert "blue" in said
    first, last = model.requests
    assert (len(first.results), len(last.results)) == (0, 1)
    assert last.pictures() == [PNG]
    assert model.calls == [Call("ask_user", {"question": "Which?"})]


def test_a_request_without_the_tool_is_no_turn_of_the_agent(model: Model) -> None:
    said = post(model, "/v1/messages", {"messages": [{"role": "user", "content": "A title?"}]})
    assert "nothing to do" in said
    assert model.calls == []


def test_a_reply_is_held_back_until_the_scene_says_so() -> None:
    with Model(script, held=True).serving() as model:
        body = {**MESSAGES, "messages": []}
        waiting = threading.Thread(target=post, args=(model, "/v1/messages", body))
        waiting.start()
        assert model.until(lambda request: bool(request.tools), 20)
        assert model.calls == []
        assert model.turns
        model.turns.release()
        waiting.join(20)
        assert len(model.calls) == 1


def test_its_script_asks_until_it_has_an_answer_turns_tickets_in_and_ends() -> None:
    model = asking()
    first = model([])
    assert isinstance(first, Call)
    assert first.arguments["questions"][0]["question"] == QUESTION
    for ticket in (TICKET, json.dumps({"output": TICKET})):
        again = model([ticket])
        assert again == Call("wait_for_answer", {"askId": json.loads(TICKET)["askId"]})
    assert model(["Timed out"]) == first
    assert model(["Timed out", '{"answered": true}']) == f'{END} {{"answered": true}}'
    assert model(["Timed out"] * 20) == f"{END} Timed out"


def test_every_program_is_on_the_list_and_has_a_version() -> None:
    assert {it.package for it in PROGRAMS} == set(packages())
    assert all(it.version[0].isdecimal() for it in PROGRAMS)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            '"args": ["mcp"], "timeout": 100000000',
            '"args": ["mcp", "--limit", "8"], "timeout": 8000',
        ),
        (
            'args = ["mcp", "--limit", "3600"]\ntool_timeout_sec = 3600',
            'args = ["mcp", "--limit", "8"]\ntool_timeout_sec = 8',
        ),
        (
            '["/x/chatbridge", "mcp"], "timeout": 3600000',
            '["/x/chatbridge", "mcp", "--limit", "8"], "timeout": 8000',
        ),
    ],
)
def test_an_entry_gets_another_limit_in_each_of_its_forms(written: str, expected: str) -> None:
    assert limited(written, 8) == expected


FOUND: Json = {
    "date": "1 May 2027",
    "isolation": "isolated",
    "headings": ["answer", "ticket"],
    "rows": [{"program": "A", "version": "1", "era": "2026-07-28", "cells": ["✓", "✗ a | b"]}],
    "leftOut": ["B"],
}


def test_the_table_goes_between_the_marks_and_names_what_is_left_out(tmp_path: Path) -> None:
    page = tmp_path / "clients.md"
    page.write_text(f"before\n{BEGIN}old\n{UNTIL}after\n")
    for _ in range(2):
        write_docs(FOUND, page)
    text = page.read_text()
    assert text == f"before\n{BEGIN}{as_markdown(FOUND)}{UNTIL}after\n"
    assert "| A | 1 | 2026-07-28 | ✓ | ✗ a \\| b |" in text
    assert "1 May 2027" in text
    assert "left out: B." in text
    assert "left out: B." in as_text(FOUND)


def test_a_page_without_marks_is_left_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "clients.md"
    page.write_text(f"before\n{BEGIN}the rest of the page\n")
    with pytest.raises(ValueError, match="made until here"):
        write_docs(FOUND, page)
    assert page.read_text() == f"before\n{BEGIN}the rest of the page\n"
