"""What the bot says outside of cards."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.channels.matrix.render import notices
from chatbridge.channels.matrix.render.html import Words
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.model import Answer, Outcome, Status
from tests.matrix_asks import check, html_text, plain
from tests.telegram_asks import HOUR, NOW, ask, confirm, text

FIRST = ask(text("What should the commit message say?"), project="docs-site")
SECOND = ask(confirm("Really?"), text("Why <b>?"), title="Release\u202e 2.4", deadline=None)
OVER = replace(FIRST, status=Status.TIMED_OUT, settled_at=NOW, outcome=Outcome(at=NOW))


def read(drawing: Words) -> str:
    check(drawing)
    return plain(drawing.body)


def test_a_question_that_takes_a_late_answer_says_how() -> None:
    assert read(notices.ended(OVER, now=NOW)) == (
        f"This question ended at {clock_time(NOW)}. Reply “anyway” to leave a late answer."
    )
    days = read(notices.ended(OVER, now=NOW + 30 * HOUR))
    assert f" {clock_time(NOW)}. Reply" in days.removeprefix("This question ended at")


def test_a_question_that_ended_otherwise_says_how_it_ended() -> None:
    cancelled = replace(OVER, status=Status.CANCELLED)
    assert read(notices.ended(cancelled, now=NOW)) == f"Cancelled at {clock_time(NOW)}."
    used = replace(OVER, outcome=Outcome(at=NOW, answers=(Answer(values=("x",)),)))
    assert read(notices.ended(used, now=NOW)) == f"Timed out at {clock_time(NOW)}."


def test_the_questions_that_could_be_meant_are_listed() -> None:
    assert read(notices.which_one([FIRST, SECOND], now=NOW, reactions=False)) == (
        "Which question is this for? Reply to the one you mean.\n"
        f"1. docs-site: What should the commit message say? · ends {clock_time(NOW + HOUR)}\n"
        "2. shop-api: Release⟨U+202E⟩ 2.4"
    )
    many = notices.which_one([FIRST] * 25, now=NOW, reactions=True)
    assert read(many).endswith("\nand 5 more")
    assert many.html.count("<li>") == 20


def test_sentences_are_escaped_and_keep_their_lines() -> None:
    drawing = notices.said("“<p>” fits 1 a & b.\nReply 1.")
    assert drawing.html == "<p>“&lt;p&gt;” fits 1 a &amp; b.<br>Reply 1.</p>"
    assert read(drawing) == "“<p>” fits 1 a & b.\nReply 1."


def test_help_has_six_lines_and_names_reactions_only_where_there_are_some() -> None:
    for reactions in (True, False):
        said = read(notices.help_text(reactions=reactions))
        assert len(said.split("\n")) == 6
        assert ("React" in said) is reactions


def test_a_remark_is_marked_as_chatbridges_own_and_escaped() -> None:
    drawing = notices.remark("The agent in <b>shop & co</b> …")
    assert drawing.html.startswith(
        "<p>🌉 <strong>Message from chatbridge</strong><br>The agent in &lt;b&gt;"
    )
    assert len(read(notices.remark("x" * 5_000))) < 1_100


def test_a_gap_is_told_with_its_times() -> None:
    between = f"from {clock_time(NOW)} to {clock_time(NOW + HOUR)}"
    assert read(notices.unreachable(since=NOW, now=NOW + HOUR)) == (
        f"Matrix was unreachable {between}. Shown now:"
    )


def test_short_words_for_what_cannot_be_taken() -> None:
    assert read(notices.only_text()) == "Only text can be an answer here."
    assert read(notices.nothing_waits()) == "Nothing is waiting."
    assert html_text(notices.undecryptable().html) == (
        "I could not read your last message (encryption key missing). "
        "Send it again, or answer in the web inbox."
    )
