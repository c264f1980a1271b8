"""How an ended ask reads in a chat, word for word: what came of it, and what is left to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.channels.web.sessions import BY_TOKEN, IN_A_BROWSER
from chatbridge.core.cards.outcome_text import WINDOW
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.model import Answer, Ask, Outcome, Person, Status
from tests.chats import MATRIX, TELEGRAM, Chat, each_chat
from tests.telegram_asks import HOUR, NOW, ask, confirm, select, text

DATABASE = select(
    "Which database should the tests use?\n\nTwo need `SKIP LOCKED`.",
    "PostgreSQL in Docker (recommended)",
    "SQLite",
)
CHOSEN = Answer(values=("PostgreSQL in Docker (recommended)",))
NOTES = text("Anything to mention?", required=False)
AT, END = clock_time(NOW + 60), clock_time(NOW + HOUR)


def ended(
    shown: Ask, status: Status, *answers: Answer, by: Person | None, reason: str | None = None
) -> Ask:
    outcome = Outcome(at=NOW + 60, answers=answers, by=by, reason=reason)
    return replace(shown, status=status, outcome=outcome, delivered_at=NOW + 61)


OVER = replace(
    ask(confirm("Delete the old fixtures?")),
    status=Status.TIMED_OUT,
    outcome=Outcome(at=NOW + HOUR),
)


@each_chat
def test_an_answer_given_here(chat: Chat) -> None:
    answered = ended(ask(DATABASE), Status.ANSWERED, CHOSEN, by=chat.me)
    assert chat.read(answered) == [
        "✅ Answered · shop-api",
        "Which database should the tests use?",
        "PostgreSQL in Docker",
        f"You answered here, {AT} · delivered",
    ]
    assert chat.offers(answered) == []
    assert chat.read(replace(answered, delivered_at=None))[-1].endswith(f"{AT} · on its way")
    first = {
        TELEGRAM: "✅ <b>Answered</b> · shop-api\n\nWhich database should the tests use?\n<b>Post",
        MATRIX: "<p>✅ <strong>Answered</strong> · shop-api</p><p>Which database should the tests "
        "use?<br><strong>PostgreSQL in Docker</strong></p><p>You answered here",
    }
    assert chat.markup(chat.draw(chat.card(answered), chat.private)).startswith(first[chat])


@each_chat
@pytest.mark.parametrize(
    ("by", "private", "who"),
    [
        (None, False, "Ada answered"),
        (Person(name="Ada", channel="", place="8"), True, "Ada answered"),
        (Person(name="Ada", channel="ntfy"), True, "Ada answered on ntfy"),
        (IN_A_BROWSER, True, "Answered in the web inbox"),
        (BY_TOKEN, False, "Answered in a browser logged in with the token"),
        (WINDOW, False, "Answered in the agent's own window"),
        (Person(name="Ada", channel="terminal"), False, "Ada answered in the terminal"),
    ],
)
def test_an_answer_says_who_gave_it_and_where(
    chat: Chat, by: Person | None, private: bool, who: str
) -> None:
    """Without a channel it is this one, which is not named."""
    by = chat.me if by is None else replace(by, channel=by.channel or chat.me.channel)
    seen = chat.private if private else chat.group
    lines = chat.read(ended(ask(DATABASE), Status.ANSWERED, CHOSEN, by=by), seen)
    assert lines[0] == "✅ Answered · shop-api"
    assert lines[-1] == f"{who}, {AT} · delivered"


@each_chat
def test_several_answers_stand_under_their_questions(chat: Chat) -> None:
    shown = ask(DATABASE, NOTES, title="Release")
    answered = ended(shown, Status.ANSWERED, CHOSEN, Answer(), by=chat.me)
    asked = ["1. Which database should the tests use?", "PostgreSQL in Docker"]
    assert chat.read(answered)[1:-1] == ["Release", *asked, "2. Anything to mention?", "skipped"]
    gone = ended(shown, Status.CANCELLED, by=chat.me)
    assert chat.read(gone)[2:-1] == [asked[0], "2. Anything to mention?"]


def test_many_answers_are_folded() -> None:
    few = ended(ask(DATABASE, NOTES), Status.ANSWERED, CHOSEN, Answer(), by=None)
    many = ended(ask(*[DATABASE] * 4), Status.ANSWERED, *[CHOSEN] * 4, by=None)
    drawn = [TELEGRAM.draw(TELEGRAM.card(shown), TELEGRAM.private) for shown in (few, many)]
    assert ["<blockquote expandable>1. Which" in html for html in drawn] == [False, True]


@each_chat
def test_a_cancelled_question_has_its_reason(chat: Chat) -> None:
    shown = ended(ask(DATABASE), Status.CANCELLED, by=chat.me, reason="not\nnow")
    assert chat.read(shown)[0] == "🚫 Cancelled · shop-api"
    assert chat.read(shown)[2:] == ["The agent was told: “not now”", f"You cancelled it here, {AT}"]
    unheard = replace(shown, delivered_at=None, orphaned_since=NOW)
    assert chat.read(unheard)[2:] == [
        "Reason: not now",
        f"You cancelled it here, {AT} · no agent was waiting",
    ]
    silent = ended(ask(DATABASE), Status.CANCELLED, by=chat.me)
    assert chat.read(silent)[-1] == f"You cancelled it here, {AT} · the agent was told"


@each_chat
def test_a_timed_out_question_can_be_answered_anyway(chat: Chat) -> None:
    how = {TELEGRAM: [], MATRIX: ["Answer anyway: reply “anyway”."]}[chat]
    end = f"Ended {END}."
    question = ["⌛ Not answered in time · shop-api", "Delete the old fixtures?"]
    assert chat.read(OVER) == [*question, f"{end} The agent was told that nobody answered.", *how]
    assert chat.offers(OVER) == ([["Answer anyway"]] if chat is TELEGRAM else [])
    unheard = replace(OVER, orphaned_since=NOW)
    assert chat.read(unheard)[2] == f"{end} No agent was waiting."


@each_chat
def test_a_declared_answer_that_was_used_is_the_end_of_it(chat: Chat) -> None:
    used = replace(CHOSEN, decided_by="timeout")
    shown = ended(ask(DATABASE), Status.TIMED_OUT, used, by=None)
    assert chat.read(shown)[2:] == [
        f"Nobody answered by {END}. Used, as agreed beforehand: PostgreSQL in Docker"
    ]
    assert chat.offers(shown) == []


@each_chat
def test_a_late_answer_is_kept_until_it_is_discarded_or_handed_over(chat: Chat) -> None:
    late = Outcome(at=NOW + 60, answers=(Answer(values=("yes",)),), by=chat.me)
    kept = replace(OVER, late=late, kept=True, kept_until=NOW + 10 * HOUR)
    until = f"kept until {clock_time(NOW + 10 * HOUR)}."
    how = {TELEGRAM: [], MATRIX: ["To discard it, reply “discard”."]}[chat]
    said = [f"The agent had stopped waiting. Your answer is {until}", *how]
    question = ["✅ Answered · shop-api", "Delete the old fixtures?", "Yes"]
    assert chat.read(kept) == [*question, *said]
    assert chat.read(kept, chat.group) == [
        *question,
        f"Ada answered, {AT}",
        said[0].replace("Your", "The"),
        *how,
    ]
    forgotten = replace(chat.private, now=NOW + 11 * HOUR)
    assert chat.read(kept, forgotten)[-1] == f"Your answer was {until} The agent did not ask again."
    if chat is TELEGRAM:
        assert [chat.offers(kept), chat.offers(kept, forgotten)] == [[["Discard"]], []]
    handed = chat.read(replace(kept, delivered_at=NOW + 70))[-1]
    assert handed == f"You answered here, {AT} · delivered {clock_time(NOW + 70)}"
    discarded = chat.read(replace(kept, discarded=True))
    assert discarded[0] == "🚫 Discarded · shop-api"
    assert discarded[-1].endswith(" · the agent does not get it")


@each_chat
def test_a_withdrawn_question_needs_no_answer(chat: Chat) -> None:
    shown = chat.read(ended(ask(DATABASE), Status.WITHDRAWN, by=None))
    assert [shown[0], shown[-1]] == [
        "🚫 Withdrawn · shop-api",
        "The agent no longer needs an answer.",
    ]
