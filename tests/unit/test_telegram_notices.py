"""What the bot says outside of cards."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.callback_data import NEITHER, Show, Tap, Use, decode
from chatbridge.channels.telegram.inbound.texts import REPLY_TO_ONE
from chatbridge.channels.telegram.render import notices as telegram
from chatbridge.channels.telegram.render.card import Drawing, draw
from chatbridge.channels.telegram.render.html import write
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.cards.row import Row
from chatbridge.core.model import Answer, Outcome, Status
from tests.rows import a_row, listed
from tests.telegram_asks import (
    ADA,
    HOUR,
    ID,
    NOW,
    ask,
    confirm,
    keys,
    labels,
    read,
    read_plainly,
    text,
)

OTHER_ID = ID.replace("0b", "1b")
FIRST = ask(text("What should the commit message say?"), project="docs-site")
SECOND = ask(text("Which colour is\u202e the <best> one of all?"), id=OTHER_ID)


def ended(rows: list[Row]) -> str:
    return write(notices.history(rows, channel="telegram"), now=NOW)


def test_a_typed_text_is_offered_to_each_question_that_waits_for_one() -> None:
    drawing = draw(notices.which_one("use the <blue> one", [FIRST, SECOND]), now=NOW)
    assert read_plainly(drawing.html) == (
        "Which question is this for?\nuse the <blue> one\nYou can also reply to the card you mean."
    )
    assert labels(drawing.rows) == [
        ["docs-site: What should the…"],
        ["shop-api: Which colour…"],
        ["Neither"],
    ]
    taps = [decode(key.data) for key in keys(drawing.rows)]
    assert taps == [
        Tap(ask_id=ID, question=0, action=Use(step=0)),
        Tap(ask_id=OTHER_ID, question=0, action=Use(step=0)),
        NEITHER,
    ]


def test_questions_that_read_alike_are_numbered() -> None:
    drawing = draw(notices.which_one("x", [FIRST, replace(FIRST, id=OTHER_ID)]), now=NOW)
    assert [row[0][:4] for row in labels(drawing.rows)] == ["1 · ", "2 · ", "Neit"]


def test_a_plain_message_is_taken_only_after_a_yes() -> None:
    drawing = draw(notices.use_it(SECOND), now=NOW)
    question = "Which colour is⟨U+202E⟩ the <best> one of all?"
    assert read_plainly(drawing.html) == f"Use this as your answer to “{question}”?"
    assert labels(drawing.rows) == [["Use it", "No"]]


def test_the_question_that_is_meant_can_be_brought_down() -> None:
    drawing = draw(notices.open_asks(REPLY_TO_ONE, [FIRST, SECOND]), now=NOW)
    assert read_plainly(drawing.html).split("\n")[:3] == [
        "Reply to the question you mean.",
        "",
        f"1. docs-site: What should the commit message say? · ends {clock_time(NOW + HOUR)}",
    ]
    assert decode(drawing.rows[0][1].data) == Tap(ask_id=OTHER_ID, question=0, action=Show())


def test_pending_lists_what_is_open() -> None:
    release = ask(confirm("Really?"), text("Why?"), title="Release 2.4", deadline=None)
    drawing = draw(notices.pending(listed([FIRST, release])), now=NOW)
    lines = read_plainly(drawing.html).split("\n")
    assert lines[0] == "2 questions are open"
    assert lines[2].startswith("1. docs-site: What should the commit message say? · ends ")
    assert lines[3] == "2. shop-api: Release 2.4"
    assert labels(drawing.rows) == [["1", "2"]]
    assert draw(notices.pending(listed([FIRST])), now=NOW).html.startswith("1 question is open\n")
    assert draw(notices.pending(listed([])), now=NOW) == Drawing(html="Nothing is waiting.")


def test_a_long_list_ends_with_a_number() -> None:
    drawing = draw(notices.pending(listed([FIRST] * 25)), now=NOW)
    assert read_plainly(drawing.html).endswith("\nand 5 more")
    assert len(keys(drawing.rows)) == 20


def test_history_says_how_each_ended() -> None:
    answered = replace(
        FIRST,
        status=Status.ANSWERED,
        outcome=Outcome(at=NOW, answers=(Answer(values=("fix <b>",)),), by=ADA),
        delivered_at=NOW,
    )
    over = replace(SECOND, status=Status.TIMED_OUT, outcome=Outcome(at=NOW))
    lines = read_plainly(ended([a_row(answered), a_row(over)])).split("\n")
    assert lines[0] == "✅ docs-site: What should the commit message say?"
    assert lines[1].startswith("Answered: fix <b> · ")
    assert lines[3].startswith("⌛ shop-api: Which colour is")
    assert lines[4].startswith("Timed out · ")
    assert ended([]) == "Nothing has ended yet."


def test_help_has_six_lines_and_names_every_command() -> None:
    for private in (True, False):
        lines = read(telegram.help_text(private=private)).text.split("\n")
        assert len(lines) == 6
    assert all(
        f"/{name}" in telegram.help_text(private=True)
        for name, _ in telegram.COMMANDS
        if name != "help"
    )


def test_an_unknown_chat_says_the_setting_that_would_change_that() -> None:
    said = read(write(telegram.not_here(-1001234), now=NOW)).text
    assert "-1001234" in said
    assert "telegram.chat_id" in said


def test_a_remark_is_marked_as_chatbridges_own_and_escaped() -> None:
    said = write(notices.remark("The agent in <b>shop & co</b> …"), now=NOW)
    assert said == (
        "🌉 <b>Message from chatbridge</b>\nThe agent in &lt;b&gt;shop &amp; co&lt;/b&gt; …"
    )


def test_a_gap_is_told_with_its_times() -> None:
    said = read_plainly(
        write(notices.unreachable("Telegram", since=NOW, now=NOW + 3600), now=NOW + 3600)
    )
    between = f"from {clock_time(NOW)} to {clock_time(NOW + 3600)}"
    assert said == f"Telegram was unreachable {between}. Shown now:"
