"""Claude Code's record of a session: what shows that somebody goes on in its window, and what the
agent said last."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from chatbridge.cli.agents.transcript import TAIL_BYTES, Prompts, last_words
from tests.unit.test_hook_transcript import EARLIER, LATER, add, result, used

Json = dict[str, Any]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "5f2a.jsonl"


def queued(text: str, *, at: str = LATER, operation: str = "enqueue") -> Json:
    return {"type": "queue-operation", "operation": operation, "timestamp": at, "content": text}


def typed(content: object, *, at: str = LATER, **more: object) -> Json:
    message = {"role": "user", "content": content}
    return {"type": "user", "message": message, "timestamp": at, **more}


def said(*texts: object, **more: object) -> Json:
    content = [{"type": "text", "text": text} for text in texts]
    return {"type": "assistant", "message": {"role": "assistant", "content": content}, **more}


@pytest.mark.parametrize("entry", [queued("go on"), typed("go on")], ids=["queued", "sent"])
def test_what_somebody_types_is_seen_once_it_is_there(path: Path, entry: Json) -> None:
    add(path, typed("before", at=EARLIER))
    prompts = Prompts({"transcript_path": str(path)})
    assert not prompts.any_new()
    add(path, entry)
    assert prompts.any_new()


@pytest.mark.parametrize(
    "entry",
    [
        queued("before", at=EARLIER),
        queued("x", operation="dequeue"),
        queued("<task-notification>\n<task-id>a</task-id>"),
        typed("<task-notification>"),
        typed("a caveat", isMeta=True),
        typed("of a subagent", isSidechain=True),
        result("a"),
        said("still talking", timestamp=LATER),
        {"type": "queue-operation", "timestamp": LATER},
        {"type": "user", "timestamp": LATER, "message": ["go on"]},
        {"type": ["user"], "timestamp": {"at": LATER}},
        b'{"type": "user", "queue-operation"\n',
        b"[" * 100_000 + b'"user"\n',
        b'\xff{"user"}\n',
    ],
    ids=lambda it: str(it)[:60],
)
def test_nothing_else_counts_as_typed(path: Path, entry: Json | bytes) -> None:
    prompts = Prompts({"transcript_path": str(path)})
    add(path, entry)
    assert not prompts.any_new()


def test_the_last_text_of_the_agent_is_found(path: Path) -> None:
    add(path, said("First."), said("Second,", "in two parts."), used("a"), result("a"))
    add(path, said("of a subagent", isSidechain=True), said(""), said(5), b'{"type": "assistant"')
    assert last_words({"transcript_path": str(path)}) == "Second,\n\nin two parts."


def test_only_the_end_of_a_long_record_is_read(path: Path) -> None:
    add(path, said("Long ago."), typed("x" * TAIL_BYTES))
    assert last_words({"transcript_path": str(path)}) == ""


@pytest.mark.parametrize("kind", ["none", "missing", "folder", "pipe", "number", "null"])
def test_what_cannot_be_read_says_nothing(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "record"
    event: Json = {"transcript_path": str(place)}
    match kind:
        case "none":
            event = {}
        case "folder":
            place.mkdir()
        case "pipe":
            os.mkfifo(place)
        case "number":
            event = {"transcript_path": 5}
        case "null":
            event = {"transcript_path": "a\0b"}
    assert last_words(event) == ""
    assert not Prompts(event).any_new()
