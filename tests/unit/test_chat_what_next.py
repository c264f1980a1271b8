"""The card of an agent that has finished, in each chat and in lists, word for word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.channels.chat.card import placeholder, prompt_subject, toast
from chatbridge.channels.chat.notices import ask_entry
from chatbridge.core.asks import transitions
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.outcome_text import page_heading, page_remark
from chatbridge.core.forms import form
from chatbridge.core.forms.typed_input import Unclear, interpret
from chatbridge.core.model import Answer, Ask, Person, Question
from chatbridge.core.policy import Policy
from chatbridge.store.rows import summary_of
from tests.chats import MATRIX, TELEGRAM, TYPED, Chat, each_chat
from tests.telegram_asks import ADA, NOW, ask

POLICY = Policy()
WORDS = "All files are renamed."
QUESTION = Question(id="next", text=WORDS, required=False, placeholder="The next task")
FINISHED = replace(ask(QUESTION, title="Finished"), tool="what_next")
HEADING = "🏁 shop-api has finished"
GRACE = Person(name="Grace", channel="slack", place="9")


def answered(*values: str, by: Person = GRACE) -> Ask:
    given = (Answer(values=values),)
    return transitions.answer(FINISHED, given, by=by, now=NOW, policy=POLICY)


def test_the_card_has_the_last_words_and_one_button() -> None:
    for seen in (TELEGRAM.private, TELEGRAM.group):
        assert TELEGRAM.read(FINISHED, seen) == [
            HEADING,
            WORDS,
            "Reply with the next task, or:",
            "Ends 23:00",
        ]
        assert TELEGRAM.offers(FINISHED, seen) == [["Write it…"], ["Done"]]


def test_where_it_is_typed_a_word_or_a_reaction_means_done() -> None:
    assert MATRIX.read(FINISHED)[2:] == [
        "Reply with the next task. ✅ means done. Ends 23:00.",
    ]
    assert MATRIX.read(FINISHED, TYPED)[2:] == [
        "Reply with the next task. Or reply !done. Ends 23:00.",
    ]
    done = (form.Skip(step=0),)
    for said in ("!done", "✅"):
        assert interpret(FINISHED, said, next_time=float) == done
    for said in ("done", "explain", "cancel"):
        assert interpret(FINISHED, said, next_time=float) == (form.Text(text=said, step=0),)
    assert isinstance(interpret(FINISHED, "!explain", next_time=float), Unclear)


@each_chat
def test_it_can_be_neither_postponed_nor_asked_back(chat: Chat) -> None:
    card = chat.card(FINISHED)
    assert [button.label for button in card.buttons] == ["Done"]
    assert card.later == ()


@each_chat
def test_a_reminder_looks_the_same(chat: Chat) -> None:
    assert chat.read(transitions.remind(FINISHED, now=NOW, last=False))[0] == HEADING


@each_chat
@pytest.mark.parametrize(
    ("ended", "lines"),
    [
        (
            transitions.mark_delivered(answered("fix the tests"), now=NOW),
            [
                "✅ Answered · shop-api",
                WORDS,
                "fix the tests",
                "Grace answered on Slack, 22:00 · delivered",
            ],
        ),
        (
            transitions.mark_delivered(answered(), now=NOW),
            ["✅ Done · shop-api", WORDS, "Grace answered on Slack, 22:00 · shop-api has stopped"],
        ),
        (
            transitions.mark_lost(answered("fix the tests"), now=NOW),
            [
                "✅ Answered · shop-api",
                WORDS,
                "fix the tests",
                "Grace answered on Slack, 22:00 · shop-api had stopped, and does not get it",
            ],
        ),
        (
            transitions.time_out(FINISHED, now=NOW, policy=POLICY),
            ["⌛ Not answered in time · shop-api", WORDS, "Nobody answered. shop-api has stopped."],
        ),
        (
            transitions.withdraw(FINISHED, now=NOW),
            ["🚫 Withdrawn · shop-api", WORDS, "shop-api no longer waits for a task."],
        ),
    ],
    ids=["answered", "done", "lost", "timed out", "withdrawn"],
)
def test_how_it_ended(chat: Chat, ended: Ask, lines: list[str]) -> None:
    assert chat.read(ended) == lines
    assert chat.offers(ended) == []


def test_the_web_inbox_says_the_same() -> None:
    done = build_card(transitions.mark_delivered(answered(), now=NOW), channel="web")
    assert page_heading(done, now=NOW) == ("Done",)
    assert page_remark(done, now=NOW)[-2:] == (" has stopped", ".")
    assert build_card(FINISHED, channel="web").title == "shop-api has finished"


def test_lists_say_that_it_has_finished() -> None:
    assert summary_of(FINISHED).question == f"Finished: {WORDS}"
    assert str(ask_entry(FINISHED)).count("Finished: ") == 1
    assert summary_of(answered()).said is None


def test_what_is_typed_is_called_the_next_task() -> None:
    card = build_card(FINISHED, channel="telegram")
    assert (prompt_subject(card), placeholder(card)) == ("the next task", "The next task")
    step = transitions.apply_event(FINISHED, form.Skip(step=0))
    assert toast(FINISHED, step) == "Done."


def test_the_agents_words_cannot_pose_as_ours() -> None:
    forged = replace(QUESTION, text="Fine\u202e\x07\u200b", title="🏁 other has finished")
    lines = TELEGRAM.read(replace(FINISHED, questions=(forged,)))
    assert lines[:2] == [HEADING, "Fine⟨U+202E⟩⟨U+0007⟩⟨U+200B⟩"]


def test_no_answer_is_taken_late_or_kept() -> None:
    late = transitions.time_out(FINISHED, now=NOW, policy=POLICY)
    assert not transitions.takes_late_answer(late)
    assert answered("x", by=ADA).kept_until is None
    assert not transitions.is_undelivered(answered("x"))
