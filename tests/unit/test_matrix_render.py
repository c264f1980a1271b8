"""Each screen of a card in Matrix, word for word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.matrix.render.card import draw_card, draw_past, draw_reminder, draw_root
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.forms import form
from chatbridge.core.model import Answer, Ask, Outcome, Status, View
from tests.matrix_asks import ADA, SEEN, SHARED, TYPED, card, check, go, html_text, plain
from tests.telegram_asks import HOUR, NOW, ask, confirm, select, text

DATABASE = select(
    "Which database should the integration tests use?",
    "PostgreSQL in Docker (recommended) | One container for each run, about 9 s more",
    "Keep SQLite, mark the two tests as skipped",
    "Testcontainers with a shared server",
)
BRANCH = select("Which branch is released?", "main", "release/2.4")
CHECKS = select("Which checks must pass?", "Unit tests", "Load test", multi=True)
NOTES = text("Anything the notes must mention?", required=False)
AT = clock_time(NOW + HOUR)
ENDS = f"Ends {AT}."
RELEASE = ask(BRANCH, CHECKS, NOTES, title="Release 2.4")
SECOND = go(RELEASE, form.Choose(step=0, option=1))
PICKED = go(SECOND, form.Toggle(step=0, option=0, on=True))
THIRD = go(PICKED, form.Done(step=0))
REVIEW = go(THIRD, form.Skip(step=0))
LATE = replace(
    ask(confirm("Delete the old fixtures?")), status=Status.TIMED_OUT, outcome=Outcome(at=NOW)
)
LATE = replace(LATE, draft=replace(LATE.draft, late=True))


def body(shown: Ask, seen: Seen = SEEN) -> str:
    drawing = draw_card(card(shown), seen)
    check(drawing)
    return plain(drawing.body)


def html(shown: Ask, seen: Seen = SEEN) -> str:
    return plain(draw_card(card(shown), seen).html)


def last(shown: Ask, seen: Seen = SEEN) -> str:
    return body(shown, seen).split("\n")[-1]


# ── the screens ───────────────────────────────────────────────────────────────────────────────────


def test_a_select_is_the_header_the_question_its_options_and_what_to_do() -> None:
    assert body(ask(DATABASE)) == (
        "❓ shop-api · Claude Code\n"
        "Which database should the integration tests use?\n"
        "1 PostgreSQL in Docker (recommended): One container for each run, about 9 s more\n"
        "2 Keep SQLite, mark the two tests as skipped\n"
        "3 Testcontainers with a shared server\n"
        f"React with a number, or reply with a number or your own words. {ENDS}"
    )
    assert html(ask(DATABASE)) == (
        "<p>❓ <strong>shop-api</strong> · Claude Code</p>"
        "<p><strong>Which database should the integration tests use?</strong></p>"
        "<ol><li><strong>PostgreSQL in Docker</strong> (recommended)"
        "<br>One container for each run, about 9 s more</li>"
        "<li><strong>Keep SQLite, mark the two tests as skipped</strong></li>"
        "<li><strong>Testcontainers with a shared server</strong></li></ol>"
        f"<p>React with a number, or reply with a number or your own words. {ENDS}</p>"
    )


def test_names_and_labels_are_kept_apart_from_our_words() -> None:
    drawing = draw_card(card(ask(DATABASE, title="Speed")), SEEN)
    for words in ("shop-api", "Claude Code", "Speed", "PostgreSQL in Docker"):
        assert f"\u2068{words}\u2069" in drawing.body
        assert f"\u2068{words}\u2069" in drawing.html


def test_a_question_of_several_paragraphs_stands_apart_in_the_body() -> None:
    shown = ask(replace(BRANCH, text="Which?\n\nThere are `two`."))
    assert "Claude Code\nWhich?\n\nThere are two.\n\n1 main\n2 release" in body(shown)


@pytest.mark.parametrize(
    ("shown", "hint", "typed"),
    [
        (
            ask(DATABASE),
            "React with a number, or reply with a number or your own words.",
            "Reply with a number or your own words. Or reply cancel.",
        ),
        (
            SECOND,
            "React with every number you want, then ✅. Or reply 1,2.",
            "Reply with the numbers, for example 1,2. Or reply back or cancel.",
        ),
        (ask(confirm("Sure?")), "👍 yes, 👎 no.", "Reply yes or no. Or reply cancel."),
        (
            THIRD,
            "Reply in this thread.",
            "Reply in this thread. Or reply !skip, !back or !cancel.",
        ),
        (
            REVIEW,
            "✅ sends. To change one, reply with its number.",
            "Reply send to send, or with a number to change one. Or reply back or cancel.",
        ),
        (
            go(SECOND, form.Other(step=0)),
            "Reply with your own words. ↩️ shows the options.",
            "Reply with your own words. Or reply back.",
        ),
    ],
    ids=["select", "multi-select", "confirm", "text", "review", "other"],
)
def test_each_screen_says_what_to_do(shown: Ask, hint: str, typed: str) -> None:
    assert last(shown) == f"{hint} {ENDS}"
    assert last(shown, TYPED) == f"{typed} {ENDS}"


def test_done_is_offered_as_a_word_once_something_is_chosen() -> None:
    assert "Or reply done, back or cancel." in last(PICKED, TYPED)


def test_a_word_that_is_an_option_too_needs_its_mark() -> None:
    shown = ask(select("Which?", "Cancel", "other"))
    assert "Or reply !cancel." in last(shown, TYPED)


def test_cancelling_asks_once_in_one_line() -> None:
    shown = go(ask(DATABASE), form.AskCancel(step=0))
    assert body(shown) == (
        "Cancel this question? Reply with a reason, or ✅ without one. ↩️ keeps it open. "
        "Reply “explain”, or “rephrase”, to ask back instead."
    )
    assert body(shown, TYPED) == (
        "Cancel this question? Reply with a reason, or cancel to give none. "
        "Reply back to keep it open. Reply “explain”, or “rephrase”, to ask back instead."
    )
    assert body(go(RELEASE, form.AskCancel(step=0))).startswith("Cancel all 3 questions? ")
    only_one = ask(replace(BRANCH, takes_ask_back=True), CHECKS)
    other = go(only_one, form.Choose(step=0, option=0), form.AskCancel(step=0))
    assert "explain" not in body(other)


def test_what_should_be_explained_is_asked_in_one_line() -> None:
    shown = go(ask(DATABASE), form.AskCancel(step=0), form.AskExplain(step=0))
    assert body(shown) == (
        "What should be explained? Reply with it, or ✅ to just ask for more. ↩️ goes back."
    )
    assert body(shown, TYPED) == (
        "What should be explained? Reply with it, or explain to just ask for more. "
        "Reply back to go back."
    )


def test_a_screen_on_which_something_was_asked_back_says_so() -> None:
    first = ask(replace(BRANCH, takes_ask_back=True), CHECKS)
    asked = go(first, form.AskCancel(step=0), form.Rephrase(step=0))
    assert draw_past(asked, view=View.CANCEL, at=0).body == "Asked back."
    assert draw_past(first, view=View.EXPLAIN, at=0).body == "Kept open."
    assert plain(draw_past(asked, view=View.QUESTION, at=0).body) == (
        "1. Which branch is released?\nasked to rephrase"
    )


def test_a_step_names_title_and_number_and_the_review_lists_the_answers() -> None:
    assert body(SECOND).startswith("❓ shop-api · Claude Code\nRelease 2.4 · 2 of 3\nWhich checks")
    assert body(REVIEW) == (
        "❓ shop-api · Claude Code\nRelease 2.4 · check and send\n"
        "1. Which branch is released?\nrelease/2.4\n"
        "2. Which checks must pass?\nUnit tests\n"
        "3. Anything the notes must mention?\nskipped\n"
        f"✅ sends. To change one, reply with its number. {ENDS}"
    )
    assert "<li>Which branch is released?<br><strong>release/2.4</strong></li>" in html(REVIEW)


def test_a_shared_rooms_review_says_who_changed_it_last() -> None:
    shared = replace(REVIEW, draft=replace(REVIEW.draft, by=ADA))
    assert "\nLast change: Ada\n" in body(shared, SHARED)
    assert "Last change" not in body(shared)


def test_the_header_shortens_names() -> None:
    shown = ask(confirm("Sure?"), text("Why?"), project="p" * 40, agent="a" * 40, title="t" * 40)
    shown = replace(shown, project=replace(shown.project, label="l" * 40))
    assert body(shown).index("Sure?") <= 80


# ── what is chosen ────────────────────────────────────────────────────────────────────────────────


def test_what_reactions_show_is_not_said_again() -> None:
    assert "so far" not in body(PICKED, replace(SEEN, reacted=frozenset({0})))
    assert "so far" not in body(SECOND)


CHANGE = "To change that, reply with all the numbers you want."


def test_what_was_chosen_elsewhere_is_said() -> None:
    assert f"\nChosen so far: 1 Unit tests. {CHANGE}\n" in body(PICKED)
    both = go(PICKED, form.Toggle(step=0, option=1, on=True), form.Text(text="and\nlint"))
    reacted = replace(SEEN, reacted=frozenset({0, 1}))
    chosen = "1 Unit tests, 2 Load test, Other: and lint"
    assert f"\nChosen so far: {chosen}. {CHANGE}\n" in body(both, reacted)
    assert "\nChosen so far: nothing.\n" in body(SECOND, replace(SEEN, reacted=frozenset({1})))


def test_an_answer_that_is_edited_is_shown() -> None:
    written = go(go(THIRD, form.Text(text="two\nlines")), form.Edit(step=0, question=2))
    assert "\nYour answer so far: two lines\nReply in this thread." in body(written)
    assert "\nYour answer so far: release/2.4\n" in body(go(REVIEW, form.Edit(step=0, question=0)))


def test_options_after_the_tenth_are_listed_and_replied_to() -> None:
    shown = ask(select("Which?", *(f"option {i}" for i in range(1, 13))))
    assert "\n12 option 12\nOptions 11 to 12: reply with the number.\n" in body(shown)
    assert "Options 11" not in body(shown, TYPED)
    eleven = ask(select("Which?", *(f"option {i}" for i in range(1, 12))))
    assert "\nOption 11: reply with the number.\n" in body(eleven)
    several = ask(select("Which?", *(f"option {i}" for i in range(1, 13)), multi=True))
    hint = "Options 11 to 12: reply with all the numbers you want, for example 1,12."
    assert f"\n{hint}\n" in body(several)


# ── time ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_time_limit_that_is_not_there_is_named() -> None:
    assert last(ask(confirm("Sure?"), deadline=None)) == "👍 yes, 👎 no. No time limit."


def test_when_time_runs_out_more_is_offered() -> None:
    soon = replace(SEEN, now=NOW + 50 * 60)
    assert last(ask(DATABASE), soon).endswith(f" Ends {AT}, soon. Reply +15 for more time.")
    assert f"<strong>Ends {AT}, soon.</strong>" in html(ask(DATABASE), soon)


@pytest.mark.parametrize(("away", "words"), [(30, 2), (200, 2), (10, 1)])
def test_a_far_end_names_its_day(away: int, words: int) -> None:
    ends = last(ask(confirm("Sure?"), deadline=NOW + away * HOUR)).partition("Ends ")[2]
    assert len(ends.split()) == words


def test_an_agent_that_left_and_a_declared_answer_stand_above_the_last_line() -> None:
    declared = replace(DATABASE, on_timeout=Answer(values=("PostgreSQL in Docker (recommended)",)))
    lines = body(replace(ask(declared), orphaned=True)).split("\n")
    assert lines[-3:-1] == [
        f"Used if nobody answers by {AT}: PostgreSQL in Docker",
        "The agent is not waiting now. An answer is kept for its next call.",
    ]


def test_a_late_form_says_that_the_agent_has_moved_on() -> None:
    assert body(LATE) == (
        "⌛ Late answer · shop-api\nDelete the old fixtures?\n"
        "👍 yes, 👎 no. The agent has moved on. Your answer is kept for it."
    )


# ── beside the screen ─────────────────────────────────────────────────────────────────────────────


def root(shown: Ask) -> str:
    drawing = draw_root(card(shown), SEEN)
    check(drawing)
    return plain(drawing.body)


def test_the_root_says_how_far_it_is_and_where_it_goes_on() -> None:
    assert root(THIRD) == (
        f"❓ shop-api · Claude Code\nRelease 2.4\n2 of 3 answered. Go on in the thread. {ENDS}"
    )
    assert "\n3 questions\n3 of 3 answered. " in root(replace(REVIEW, title=None))
    cancel = go(ask(DATABASE), form.AskCancel(step=0))
    assert root(cancel).endswith(f"tests use?\nGo on in the thread. {ENDS}")
    assert root(go(REVIEW, form.AskCancel(step=0))).startswith("❓ shop-api · Claude Code\nRelease")


def past(shown: Ask, view: View, at: int = 0) -> str:
    drawing = draw_past(shown, view=view, at=at)
    check(drawing)
    return plain(drawing.body)


def test_a_step_that_is_over_is_its_question_and_what_was_answered() -> None:
    assert past(SECOND, View.QUESTION) == "1. Which branch is released?\nrelease/2.4"
    assert past(SECOND, View.QUESTION, 1) == "2. Which checks must pass?"
    assert past(PICKED, View.OTHER, 1) == "2. Which checks must pass?\nUnit tests"
    assert past(REVIEW, View.QUESTION, 2) == "3. Anything the notes must mention?\nskipped"
    assert past(ask(confirm("Sure?")), View.QUESTION) == "Sure?"


def test_a_step_shows_the_answer_that_was_sent_in_the_end() -> None:
    sent = (Answer(values=("main",)), Answer(values=("Load test",)), Answer(custom_text="x"))
    over = replace(REVIEW, status=Status.ANSWERED, outcome=Outcome(at=NOW, answers=sent))
    assert past(over, View.QUESTION) == "1. Which branch is released?\nmain"
    assert past(over, View.REVIEW, 3) == "Checked and sent."
    assert past(over, View.CANCEL) == "Not cancelled."


def test_review_and_cancel_screens_that_are_over_are_one_line() -> None:
    assert past(REVIEW, View.REVIEW, 3) == "Not sent yet. It goes on below."
    assert past(REVIEW, View.CANCEL, 3) == "Kept open."
    gone = replace(REVIEW, status=Status.CANCELLED, outcome=Outcome(at=NOW))
    assert (past(gone, View.REVIEW, 3), past(gone, View.CANCEL)) == ("Not sent.", "Cancelled.")
    assert past(LATE, View.REVIEW, 1) == "Not sent yet. It goes on below."


def test_the_reminder_quotes_the_question_and_offers_more_time() -> None:
    drawing = draw_reminder(card(ask(DATABASE)), SEEN)
    check(drawing)
    assert plain(drawing.body) == (
        f"⏳ shop-api · ends {AT}\nWhich database should the integration tests use?\n"
        "Reply +15 for more time."
    )
    assert "Release 2.4" not in html_text(drawing.html)
