"""Claude Code's record of a session: what shows that a question was settled in its own window."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from chatbridge.cli.agents.transcript import TAIL_BYTES, Transcript

Json = dict[str, Any]
LIST: Json = {"command": "ls -l"}
LATER = "2999-01-01T00:00:00.000Z"
EARLIER = "2001-01-01T00:00:00.000Z"


def used(use: str, given: Json = LIST, tool: str = "Bash") -> Json:
    block = {"type": "tool_use", "id": use, "name": tool, "input": given}
    return {"type": "assistant", "message": {"role": "assistant", "content": [block]}}


def result(use: str, timestamp: str = LATER) -> Json:
    block = {"type": "tool_result", "tool_use_id": use, "content": "done"}
    message = {"role": "user", "content": [block]}
    return {"type": "user", "message": message, "timestamp": timestamp}


def add(path: Path, *entries: Json | bytes) -> None:
    with path.open("ab") as file:
        for it in entries:
            file.write(it if isinstance(it, bytes) else json.dumps(it).encode() + b"\n")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "5f2a.jsonl"


@pytest.fixture
def transcript(path: Path) -> Transcript:
    return Transcript({"transcript_path": str(path), "tool_name": "Bash", "tool_input": LIST})


def test_it_is_settled_once_the_use_has_a_result(path: Path, transcript: Transcript) -> None:
    assert not transcript.settled()
    add(path, used("a"))
    assert not transcript.settled()
    add(path, {"type": "mode"}, result("a"))
    assert transcript.settled()


def test_a_result_of_another_use_settles_nothing(path: Path, transcript: Transcript) -> None:
    add(path, used("b", {"command": "rm"}), used("c", LIST, "Other"), result("b"), result("c"))
    assert not transcript.settled()
    add(path, used("a"), result("d"))
    assert not transcript.settled()


def test_the_same_command_of_before_settles_nothing(path: Path, transcript: Transcript) -> None:
    add(path, used("old"), result("old", EARLIER))
    assert not transcript.settled()
    add(path, used("a"))
    assert not transcript.settled()
    add(path, result("a"))
    assert transcript.settled()


def test_what_the_model_was_sent_is_no_result(path: Path, transcript: Transcript) -> None:
    add(path, used("a"), {**result("a"), "type": "api-request-blob"})
    assert not transcript.settled()
    add(path, result("a"))
    assert transcript.settled()


def test_of_two_at_once_both_have_to_be_settled(path: Path, transcript: Transcript) -> None:
    add(path, used("a"), used("b"), result("a"))
    assert not transcript.settled()
    add(path, result("b"))
    assert transcript.settled()


def test_a_result_of_now_counts(path: Path, transcript: Transcript) -> None:
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    add(path, used("a"), result("a", now))
    assert transcript.settled()


def test_half_a_line_is_read_when_it_is_whole(path: Path, transcript: Transcript) -> None:
    whole = json.dumps(result("a")).encode() + b"\n"
    add(path, used("a"), whole[:40])
    assert not transcript.settled()
    add(path, whole[40:])
    assert transcript.settled()


def test_only_the_end_of_a_long_record_is_read(path: Path, transcript: Transcript) -> None:
    add(path, used("lost"), b" " * TAIL_BYTES + b"\n", used("a"))
    assert not transcript.settled()
    add(path, result("a"))
    assert transcript.settled()


def test_a_line_that_is_longer_than_all_that_is_read_at_once_is_passed_over(
    path: Path, transcript: Transcript
) -> None:
    add(path, used("a"))
    assert not transcript.settled()
    add(path, b'{"tool_":"' + b"x" * 2 * TAIL_BYTES + b'"}\n', result("a"))
    assert any(transcript.settled() for _ in range(4))


def test_what_is_no_record_settles_nothing_and_the_rest_is_read(
    path: Path, transcript: Transcript
) -> None:
    add(path, b'{"tool_use\n', b'{"tool_": []}\n', b'"tool_use"\n', b"\xff\n", b'{"tool_":' * 9999)
    add(
        path,
        b"\n",
        {**result("a"), "message": {"content": 1}},
        {"type": "user", "message": ["tool_"]},
    )
    assert not transcript.settled()
    add(path, used("a"), result("a"))
    assert transcript.settled()


@pytest.mark.parametrize("given", [None, 7, "", "/", "/no/such/file", "a\0b"])
def test_no_record_settles_nothing(given: object) -> None:
    event = {"transcript_path": given, "tool_name": "Bash", "tool_input": LIST}
    assert not Transcript(event).settled()


def test_a_pipe_does_not_stop_the_hook(path: Path, transcript: Transcript) -> None:
    os.mkfifo(path)
    assert not transcript.settled()
