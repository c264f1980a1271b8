"""What a line of the audit trail says, and what it leaves out."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings

from chatbridge.core.audit import MAX_CHARACTERS, Auditor, Entry
from chatbridge.core.model import (
    Answer,
    Ask,
    AskBack,
    Attachment,
    AttachmentKind,
    Option,
    Outcome,
    Person,
    Question,
    QuestionType,
    Status,
    Subject,
)
from chatbridge.redaction import HIDDEN, SECRETS, Secrets, masked
from tests.contract.asks import an_ask, any_ask

ADA = Person(name="Ada", channel="telegram", place="-100", id="42")
PORT = Question(
    id="port",
    text="Which port?",
    type=QuestionType.SELECT,
    options=(Option(label="8080"), Option(label="9090")),
)
KEY = "hunter2-hunter2"
FILE = Attachment(digest="d", name="salaries.pdf", type="application/pdf", size=9)


def answered(question: Question, answer: Answer, *, auditor: Auditor = Auditor()) -> Any:  # noqa: B008 - frozen
    ask = an_ask(questions=(question,))
    outcome = Outcome(at=1.0, answers=(answer,), by=ADA)
    (entry,) = auditor.changed(ask, replace(ask, status=Status.ANSWERED, outcome=outcome))
    assert entry.by == ADA
    assert entry.surface == "telegram:-100"
    return entry.what["answers"][0]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(values=("9090",)), {"picked": ["9090"]}),
        (Answer(custom_text=KEY), {"text": len(KEY)}),
        (Answer(values=("8080",), custom_text=KEY), {"picked": ["8080"], "text": len(KEY)}),
        (Answer(values=(KEY,)), {"text": len(KEY)}),  # no option of it
        (Answer(attachments=(FILE,)), {"files": ["file"]}),
        (Answer(custom_text=KEY, ask_back=AskBack.EXPLAIN), {"text": 15, "asked": "explain"}),
        (Answer(), {}),
    ],
)
def test_an_answer_says_what_was_picked_and_only_how_much_was_typed(
    answer: Answer, said: dict[str, Any]
) -> None:
    assert answered(PORT, answer) == said


def test_the_answer_to_a_question_for_text_is_typed() -> None:
    question = Question(id="q", text="Which password?")
    for answer in (Answer(values=(KEY,)), Answer(custom_text=KEY)):
        assert answered(question, answer) == {"text": len(KEY)}
        assert answered(question, answer, auditor=Auditor(texts=True)) == {"text": KEY}


@pytest.mark.parametrize("status", [Status.CANCELLED, Status.ANSWERED])
def test_a_reason_is_typed_too(status: Status) -> None:
    approval = Question(
        id="approval", text="Run?", type=QuestionType.APPROVAL, subject=Subject(code="ls")
    )
    ask = an_ask(questions=(approval,))
    denied = (Answer(values=("deny",), custom_text=KEY),) if status is Status.ANSWERED else ()
    outcome = Outcome(at=1.0, answers=denied, reason=None if denied else KEY, by=ADA)
    (entry,) = Auditor().changed(ask, replace(ask, status=status, outcome=outcome))
    assert entry.what["reason"] == len(KEY)
    assert KEY not in json.dumps(dict(entry.what))


def opened(ask: Ask, **auditor: Any) -> Entry:
    return Auditor(**auditor).opened(ask)


@settings(max_examples=10, deadline=None)
@given(before=any_ask(), after=any_ask())
def test_any_ask_can_be_written_down(before: Ask, after: Ask) -> None:
    assume(before.questions and after.questions)
    for texts in (False, True):
        for entry in (opened(before), *Auditor(texts=texts).changed(before, after)):
            assert json.loads(json.dumps(dict(entry.what))) == entry.what


def test_texts_of_agents_are_one_visible_line_and_short() -> None:
    entry = opened(an_ask(title="Line\n\x1b[31mtwo " + "x" * 500))
    about = entry.what["about"]
    assert about.startswith("Line ⟨U+001B⟩[31mtwo xxx")
    assert len(about) == MAX_CHARACTERS


def test_a_file_is_named_by_its_kind_alone() -> None:
    picture = replace(FILE, kind=AttachmentKind.PICTURE, caption=KEY)
    what = opened(an_ask(attachments=(picture, FILE))).what
    assert what["files"] == ["picture", "file"]
    assert "salaries" not in json.dumps(dict(what))


def test_a_known_secret_is_in_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Secrets()
    known.add("correct horse battery")
    monkeypatch.setattr(SECRETS, "_parts", known._parts)
    what = opened(an_ask(title="Use correct horse battery?"), clean=masked).what
    assert what["about"] == f"Use {HIDDEN}?"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "curl -H 'Authorization: Bearer abc.def.ghi'",
            f"curl -H 'Authorization: Bearer {HIDDEN}'",
        ),
        ("mysql --password hunter2 shop", f"mysql --password {HIDDEN} shop"),
        ("DB_PASSWORD=hunter2 make", f"DB_PASSWORD={HIDDEN} make"),
        ("psql postgres://ada:hunter2@db/shop", f"psql postgres://ada:{HIDDEN}@db/shop"),
        ('{"api_key": "abcd1234"}', f'{{"api_key": "{HIDDEN}"}}'),
        ("gh auth ghp_0123456789abcdefghij", f"gh auth {HIDDEN}"),
        ("use aB3" + "kQ7w" * 10, f"use {HIDDEN}"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, left: str) -> None:
    assert masked(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "Which token should the release use?",
        "git checkout 3f9a2c0e5d7b8a9c1e2f3a4b5c6d7e8f90123456",
        "Rotate the secret or keep it?",
        "rm -rf /src/Shop/build/Release2/a-rather-long-path-of-a-file-01",
        "https://example.org:8443/shop@2",
    ],
)
def test_what_an_auditor_needs_stays(text: str) -> None:
    assert masked(text) == text


def test_a_hostile_text_takes_no_time() -> None:
    for part in ("a-", "token", "password -", "x://", "bearer ", "-----BEGIN "):
        assert len(masked(part * 2_000)) > 0
