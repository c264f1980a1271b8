"""An open card, word for word (T1 to T9, T13, T15), with its prompt, reminder and toasts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.card import placeholder, toast
from chatbridge.channels.telegram.render.card import draw_card, draw_prompt, draw_reminder
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Outcome, Status
from tests.telegram_asks import (
    ADA,
    GROUP,
    HOUR,
    NOW,
    PRIVATE,
    ask,
    buttons,
    card,
    confirm,
    labels,
    read_card,
    read_plainly,
    select,
    stepped,
    text,
    time_tag,
)

DATABASE = select(
    "Which database should the integration tests use?\n\nTwo tests need `SKIP LOCKED`.",
    "PostgreSQL in Docker (recommended) | About 9 s more",
    "Keep SQLite, mark the two tests as skipped",
)
BRANCH = select("Which branch is released?", "main", "release/2.4")
CHECKS = select("Which checks must pass?", "Unit tests", "Load test", multi=True)
NOTES = text("Anything the notes must mention?", required=False)
ENDS = f"Ends {clock_time(NOW + HOUR)}"
CHOSEN = Answer(values=("PostgreSQL in Docker (recommended)",))
RELEASE = stepped(
    ask(BRANCH, CHECKS, NOTES, title="Release 2.4"),
    form.Choose(step=0, option=1),
    form.Toggle(step=0, option=0, on=True),
)
REVIEW = stepped(RELEASE, form.Done(step=0), form.Skip(step=0))
OVER = replace(
    ask(confirm("Delete the old fixtures?")),
    status=Status.TIMED_OUT,
    outcome=Outcome(at=NOW + HOUR),
)


# ── the form ──────────────────────────────────────────────────────────────────────────────────────


def test_a_select_is_the_frame_the_question_and_its_options() -> None:
    drawing = draw_card(card(ask(DATABASE)), PRIVATE)
    assert drawing.html.replace("\u2068", "").replace("\u2069", "") == (
        "❓ <b>shop-api</b> · Claude Code\n\n"
        "<b>Which database should the integration tests use?</b>\n\n"
        "Two tests need <code>SKIP LOCKED</code>.\n\n"
        "<b>1. PostgreSQL in Docker</b> (recommended)\nAbout 9 s more\n"
        "<b>2. Keep SQLite, mark the two tests as skipped</b>\n\n"
        f"Ends {time_tag(NOW + HOUR, now=NOW)}"
    )
    assert labels(drawing.rows)[:2] == [
        ["1 · PostgreSQL in Docker"],
        ["2 · Keep SQLite, mark the two…"],
    ]


def test_the_header_shortens_names_and_adds_label_and_title() -> None:
    shown = ask(confirm("Sure?"), project="a-very-long-project-name", agent="An agent's long name")
    shown = replace(shown, title="A title of more than twenty-eight letters")
    labelled = replace(shown, project=replace(shown.project, label="laptop"))
    assert read_card(labelled).split("\n")[:2] == [
        "❓ a-very-long-proje… · An agent's lo…",
        "laptop · A title of more than…",
    ]


def test_the_question_begins_within_what_a_lock_screen_shows() -> None:
    shown = ask(confirm("Sure?"), text("Why?"), project="p" * 40, agent="a" * 40)
    shown = replace(shown, title="t" * 40, project=replace(shown.project, label="l" * 40))
    assert read_card(shown).index("Sure?") <= 80


def test_a_time_limit_that_is_not_there_is_named() -> None:
    assert read_card(ask(confirm("Sure?"), deadline=None)).endswith("\n\nNo time limit")


def test_a_multi_select_in_a_form() -> None:
    assert read_card(RELEASE) == (
        "❓ shop-api · Claude Code\nRelease 2.4 · 2 of 3\n\nWhich checks must pass?\n\n"
        f"Choose any number, then Done.\n{ENDS}"
    )


@pytest.mark.parametrize(
    ("seen", "hint"),
    [
        (PRIVATE, "Type your answer and send it."),
        (GROUP, "Reply to this message with your answer."),
    ],
    ids=["private", "group"],
)
def test_a_text_question_says_how_to_send_it(seen: Seen, hint: str) -> None:
    assert read_card(ask(text("What?")), seen).endswith(f"What?\n\n{hint}\n{ENDS}")


def test_the_prompt_names_project_and_in_a_group_the_person() -> None:
    shown = card(ask(text("What?", placeholder="x" * 70)))
    assert read_plainly(draw_prompt(shown, mention=None)) == "Your answer for shop-api:"
    assert draw_prompt(shown, mention=(7, "A<da")).startswith(
        '<a href="tg://user?id=7">\u2068A&lt;da\u2069</a>, your answer for <b>'
    )
    assert placeholder(shown) == "x" * 63 + "…"
    assert placeholder(card(ask(text("What?")))) == "Your answer"


def test_a_groups_review_says_who_changed_the_shared_draft_last() -> None:
    shared = replace(REVIEW, draft=replace(REVIEW.draft, by=ADA))
    assert f"Nothing has been sent yet.\nLast change: {ADA.name}\n" in read_card(shared, GROUP)
    assert "Last change" not in read_card(shared)


def test_the_review_has_every_answer_and_a_way_back_to_each() -> None:
    assert read_card(REVIEW) == (
        "❓ shop-api · Claude Code\nRelease 2.4 · check and send\n\n"
        "1. Which branch is released?\nrelease/2.4\n\n"
        "2. Which checks must pass?\nUnit tests\n\n"
        "3. Anything the notes must mention?\nskipped\n\n"
        f"Nothing has been sent yet.\n{ENDS}"
    )
    assert buttons(REVIEW) == [["Edit 1", "Edit 2", "Edit 3"], ["Send answers"], ["Cancel…"]]


def test_what_was_written_before_is_shown_when_it_is_edited() -> None:
    written = stepped(RELEASE, form.Done(step=0), form.Text(text="two\nlines"))
    edited = stepped(written, form.Edit(step=0, question=2))
    assert "\n\nYour answer so far: two lines\nType your answer" in read_card(edited)


def test_other_asks_for_own_words() -> None:
    shown = stepped(ask(DATABASE), form.Other(step=0))
    assert read_card(shown).endswith(f"\n\nWrite your own answer.\n{ENDS}")
    prompted = replace(PRIVATE, prompted=True)
    assert buttons(shown, prompted) == [["‹ Back to the options"]]
    assert buttons(shown)[0] == ["Write answer…"]


def test_cancelling_asks_once() -> None:
    shown = stepped(ask(DATABASE), form.AskCancel(step=0))
    assert read_card(shown) == (
        "❓ shop-api · Claude Code\n\nWhich database should the integration tests use?\n\n"
        "Cancel this question?\n"
        f"The agent is told that you will not answer. Send a reason as text, or:\n{ENDS}"
    )
    assert buttons(shown) == [
        ["Ask to explain…", "Ask to rephrase"],
        ["‹ Keep it open"],
        ["Cancel without a reason"],
    ]
    assert "Reply with a reason, or:" in read_card(shown, GROUP)
    assert "Cancel all 3 questions?" in read_card(stepped(REVIEW, form.AskCancel(step=0)))


def test_the_last_line_stands_out_when_time_runs_out() -> None:
    soon = replace(PRIVATE, now=NOW + 50 * 60)
    html = draw_card(card(ask(DATABASE)), soon).html
    assert html.endswith(f"\n\n<b>Ends {time_tag(NOW + HOUR, now=NOW)}, soon.</b>")


def test_the_reminder_quotes_the_question_and_offers_more_time() -> None:
    drawing = draw_reminder(card(ask(DATABASE)), PRIVATE)
    assert read_plainly(drawing.html) == (
        f"⏳ shop-api · ends {clock_time(NOW + HOUR)}\n\n"
        "Which database should the integration tests use?"
    )
    assert labels(drawing.rows) == [["+15 min"]]


def test_a_late_form_says_that_the_agent_has_moved_on() -> None:
    late = replace(OVER, draft=replace(OVER.draft, late=True))
    assert read_card(late) == (
        "⌛ Late answer · shop-api\n\nDelete the old fixtures?\n\n"
        "The agent has moved on. Your answer is kept for it."
    )
    assert buttons(late) == [["Yes", "No"]]


def test_an_agent_that_left_is_named_above_the_last_line() -> None:
    gone = replace(ask(DATABASE), orphaned=True)
    assert read_card(gone).endswith(
        f"\n\nThe agent is not waiting now. An answer is kept for its next call.\n{ENDS}"
    )


def test_a_declared_answer_is_shown_from_the_start() -> None:
    declared = replace(DATABASE, on_timeout=CHOSEN)
    assert read_card(ask(declared)).endswith(
        f"Used if nobody answers by {clock_time(NOW + HOUR)}: PostgreSQL in Docker\n{ENDS}"
    )


def test_a_card_that_was_posted_again_says_why() -> None:
    assert "Taps of more than a day ago were not kept. Tap again." in read_card(
        ask(DATABASE), replace(PRIVATE, again=True)
    )


# ── toasts ────────────────────────────────────────────────────────────────────────────────────────


def test_a_toast_repeats_what_was_sent() -> None:
    shown = ask(DATABASE)
    step = form.advance(shown.questions, shown.draft, form.Choose(step=0, option=0))
    assert toast(shown, step) == "Sent: PostgreSQL in Docker"
    late = replace(OVER, draft=replace(OVER.draft, late=True))
    step = form.advance(late.questions, late.draft, form.Choose(step=0, option=1))
    assert toast(late, step, kept=True) == "Kept: No"
    step = form.advance(REVIEW.questions, REVIEW.draft, form.Submit(step=REVIEW.draft.step))
    assert toast(REVIEW, step) == "Sent: 3 answers"


def test_a_toast_says_why_nothing_happened_and_nothing_for_a_move() -> None:
    shown = ask(CHECKS)
    assert toast(shown, form.STALE) == "That was an older step. Here is the current one."
    step = form.advance(shown.questions, shown.draft, form.Done(step=0))
    assert toast(shown, step) == "Pick at least one, or use Other."
    step = form.advance(shown.questions, shown.draft, form.Toggle(step=0, option=0, on=True))
    assert toast(shown, step) == ""
    assert toast(shown, form.Cancelled(reason=None)) == "Cancelled."
    assert toast(shown, form.Cancelled(reason="Please explain."), asked_back=True) == "Sent."
