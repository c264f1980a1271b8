"""What a bot says outside of cards: lists, remarks, what agents tell, and how operations ended."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.callback_data import NEITHER, Output, Show, Tap, Use, decode
from chatbridge.channels.chat.commands import COMMANDS, help_text
from chatbridge.channels.chat.inbound import REPLY_TO_ONE, format_ended
from chatbridge.channels.chat.notices import MOST_OUTPUTS, OUTPUT_FILE_BYTES, bounded, output_file
from chatbridge.channels.matrix.render import notices as matrix
from chatbridge.channels.matrix.render.html import Words
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.model import Answer, Level, Notice, Outcome, Status
from tests.chats import MATRIX, TELEGRAM, Chat, each_chat
from tests.ended_operations import BADLY, HOSTILE, OPERATION, WELL, ended_notice, ended_notices
from tests.fakes.telegram import limits
from tests.matrix_asks import check, html_text, plain
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
    notice,
    read,
    read_plainly,
    text,
)
from tests.telegram_drawings import Drawing, draw, draw_list, draw_notice, file_of

OTHER_ID = ID.replace("0b", "1b")
FIRST = ask(text("What should the commit message say?"), project="docs-site")
SECOND = ask(text("Which colour is\u202e the <best> one of all?"), id=OTHER_ID)
RELEASE = ask(confirm("Really?"), text("Why <b>?"), title="Release\u202e 2.4", deadline=None)
OVER = replace(FIRST, status=Status.TIMED_OUT, settled_at=NOW, outcome=Outcome(at=NOW))
ENTRY = f"1. docs-site: What should the commit message say? · ends {clock_time(NOW + HOUR)}"


def said(drawing: Words) -> str:
    return MATRIX.text(drawing)


# ── which question a text is for ──────────────────────────────────────────────────────────────────


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
    assert [decode(key.data) for key in keys(drawing.rows)] == [
        Tap(ask_id=ID, question=0, action=Use(step=0)),
        Tap(ask_id=OTHER_ID, question=0, action=Use(step=0)),
        NEITHER,
    ]
    alike = draw(notices.which_one("x", [FIRST, replace(FIRST, id=OTHER_ID)]), now=NOW)
    assert [row[0][:4] for row in labels(alike.rows)] == ["1 · ", "2 · ", "Neit"]


def test_a_plain_message_is_taken_only_after_a_yes() -> None:
    drawing = draw(notices.use_it(SECOND), now=NOW)
    question = "Which colour is⟨U+202E⟩ the <best> one of all?"
    assert read_plainly(drawing.html) == f"Use this as your answer to “{question}”?"
    assert labels(drawing.rows) == [["Use it", "No"]]


def test_the_questions_that_could_be_meant_are_listed() -> None:
    drawing = draw(notices.open_asks(REPLY_TO_ONE, [FIRST, SECOND]), now=NOW)
    assert TELEGRAM.lines(drawing.html)[:2] == ["Reply to the question you mean.", ENTRY]
    assert decode(drawing.rows[0][1].data) == Tap(ask_id=OTHER_ID, question=0, action=Show())
    assert said(matrix.which_one([FIRST, RELEASE], now=NOW, reactions=False)).split("\n") == [
        "Which question is this for? Reply to the one you mean.",
        ENTRY,
        "2. shop-api: Release⟨U+202E⟩ 2.4",
    ]
    many = matrix.which_one([FIRST] * 25, now=NOW, reactions=True)
    assert said(many).endswith("\nand 5 more")
    assert many.html.count("<li>") == 20


def test_pending_lists_what_is_open() -> None:
    drawing = draw(notices.pending(listed([FIRST, RELEASE])), now=NOW)
    assert TELEGRAM.lines(drawing.html) == [
        "2 questions are open",
        ENTRY,
        "2. shop-api: Release⟨U+202E⟩ 2.4",
    ]
    assert labels(drawing.rows) == [["1", "2"]]
    assert draw(notices.pending(listed([FIRST])), now=NOW).html.startswith("1 question is open\n")
    assert draw(notices.pending(listed([])), now=NOW) == Drawing(html="Nothing is waiting.")
    long = draw(notices.pending(listed([FIRST] * 25)), now=NOW)
    assert read_plainly(long.html).endswith("\nand 5 more")
    assert len(keys(long.rows)) == 20


@each_chat
def test_history_says_how_each_ended(chat: Chat) -> None:
    answered = replace(
        FIRST,
        status=Status.ANSWERED,
        outcome=Outcome(at=NOW, answers=(Answer(values=("fix <b>",)),), by=ADA),
        delivered_at=NOW,
    )
    over = replace(SECOND, status=Status.TIMED_OUT, outcome=Outcome(at=NOW))
    rows = [a_row(answered), a_row(over)]
    lines = chat.lines(chat.write(notices.history(rows)))
    assert lines[0] == "✅ docs-site: What should the commit message say?"
    assert lines[1].startswith("Answered: fix <b> · ")
    assert lines[2].startswith("⌛ shop-api: Which colour is")
    assert lines[3].startswith("Not answered in time · ")
    nothing = chat.write(notices.history([]))
    assert chat.lines(nothing) == ["Nothing has ended yet."]


def test_who_writes_after_the_end_is_told_how_it_ended() -> None:
    late = "Reply “anyway” to leave a late answer."
    at = f"This question ended at {clock_time(NOW)}."
    assert format_ended(OVER, now=NOW, typed=True) == f"{at} {late}"
    days = format_ended(OVER, now=NOW + 30 * HOUR, typed=True)
    assert f" {clock_time(NOW)}. Reply" in days.removeprefix("This question ended at")
    cancelled = replace(OVER, status=Status.CANCELLED)
    assert format_ended(cancelled, now=NOW, typed=True) == f"Cancelled at {clock_time(NOW)}."
    used = replace(OVER, outcome=Outcome(at=NOW, answers=(Answer(values=("x",)),)))
    assert format_ended(used, now=NOW, typed=True) == f"Timed out at {clock_time(NOW)}."


# ── about the chat ────────────────────────────────────────────────────────────────────────────────


def test_help_has_eight_lines_and_names_what_there_is() -> None:
    for there in (True, False):
        lines = read(help_text("/", private=there, files=there)).text
        help_ = said(matrix.help_text(reactions=there, files=there))
        assert ("a photo" in lines, "a photo" in help_) == (there, there)
        assert lines.count("\n") == help_.count("\n") == 7
        assert ("React" in help_) is there
    commands = [name for name, _ in COMMANDS if name != "help"]
    assert all(f"/{name}" in help_text("/", private=True, files=True) for name in commands)


def test_an_unknown_chat_says_the_setting_that_would_change_that() -> None:
    shown = TELEGRAM.text(TELEGRAM.write(notices.not_here("-1001234", "telegram.chat_id")))
    assert "-1001234" in shown
    assert "telegram.chat_id" in shown


@each_chat
def test_a_remark_is_marked_as_chatbridges_own_and_escaped(chat: Chat) -> None:
    written = chat.write(notices.remark("The agent in <b>shop & co</b> …"))
    assert chat.lines(written) == ["🌉 Message from chatbridge", "The agent in <b>shop & co</b> …"]
    assert "The agent in &lt;b&gt;shop &amp; co&lt;/b&gt; …" in chat.markup(written)
    assert len(chat.text(chat.write(notices.remark("x" * 5_000)))) < 1_100


@each_chat
def test_a_gap_is_told_with_its_times(chat: Chat) -> None:
    written = chat.write(notices.unreachable(chat.name, since=NOW, now=NOW + HOUR), NOW + HOUR)
    between = f"from {clock_time(NOW)} to {clock_time(NOW + HOUR)}"
    assert chat.lines(written) == [f"{chat.name} was unreachable {between}. Shown now:"]


def test_sentences_are_escaped_and_keep_their_lines() -> None:
    drawing = matrix.said("“<p>” fits 1 a & b.\nReply 1.")
    assert drawing.html == "<p>“&lt;p&gt;” fits 1 a &amp; b.<br>Reply 1.</p>"
    assert said(drawing) == "“<p>” fits 1 a & b.\nReply 1."
    assert said(matrix.said(notices.NOTHING_WAITS)) == "Nothing is waiting."
    assert said(matrix.undecryptable()) == (
        "I could not read your last message (encryption key missing). "
        "Send it again, or answer in the web inbox."
    )


# ── what agents tell ──────────────────────────────────────────────────────────────────────────────


def test_each_level_says_what_it_is_and_who_sends_it() -> None:
    shown = notice("All 412 pass.\nCoverage: 96 %.", title="Night run")
    rest = "\nNight run\nAll 412 pass.\nCoverage: 96 %."
    for level, first in (
        (Level.INFO, "ℹ️ shop-api"),
        (Level.WARNING, "⚠️ Warning · shop-api"),
        (Level.ERROR, "❌ Error · shop-api"),
    ):
        drawing = matrix.draw_notice(replace(shown, level=level))
        assert said(drawing) == f"{first} · Claude Code{rest}"
    assert plain(drawing.html) == (
        "<p>❌ <strong>Error</strong> · shop-api · Claude Code<br><strong>Night run</strong></p>"
        "<p>All 412 pass.<br>Coverage: 96 %.</p>"
    )
    assert said(matrix.draw_notice(notice("Done."))) == "ℹ️ shop-api · Claude Code\nDone."


@pytest.mark.parametrize("fill", ["x", "&", "😀", "ש", "line\n", "\u202e"])
def test_a_long_message_is_cut_to_what_an_event_takes(fill: str) -> None:
    shown = said(matrix.draw_notice(notice(fill * (10_000 // len(fill)), title=fill * 100)))
    assert shown.endswith("… The whole message is in the web inbox.") == (fill != "x")
    assert len(shown) > 400


# ── how operations ended ──────────────────────────────────────────────────────────────────────────


def well(title: str, *, whole: bool = True) -> Notice:
    return ended_notice(replace(WELL, id=str(uuid.uuid4()), title=title, whole=whole))


def test_an_end_says_what_ended_and_how_and_shows_the_last_lines() -> None:
    drawing = draw_notice(ended_notice(WELL))
    good = ["✅ cargo build finished · shop-api", "4 min 12 s"]
    assert TELEGRAM.lines(drawing.html) == MATRIX.lines(matrix.draw_notice(ended_notice(WELL)))
    assert TELEGRAM.lines(drawing.html) == good
    assert drawing.rows == ()
    shown = ended_notice(BADLY)
    drawing = draw_notice(shown)
    assert plain(drawing.html) == (
        "❌ <b>pytest</b> failed · shop-api\nexit 1 after 4 min 12 s\n"
        "<pre>E   assert 1 == 2\n1 failed, 411 passed</pre>"
    )
    (key,) = keys(drawing.rows)
    assert (key.text, decode(key.data)) == ("Whole output", Output(operation_id=OPERATION))
    assert file_of(shown) is None, "it is sent when somebody asks for it"
    assert plain(matrix.draw_notice(shown).html) == (
        "<p>❌ <strong>pytest</strong> failed · shop-api<br>exit 1 after 4 min 12 s</p>"
        "<pre><code>E   assert 1 == 2\n1 failed, 411 passed</code></pre>"
        "<p>The whole output is in the web inbox.</p>"
    )


def test_what_a_command_printed_cannot_leave_its_box() -> None:
    drawing = draw_notice(ended_notice(HOSTILE))
    first, how, *tail = read_plainly(drawing.html).split("\n")
    assert first == "❌ </b></pre><script>1</script> ❓ ⟨U+202E⟩shop failed · shop-api"
    assert how == "</p>exit <1>⟨U+202E⟩ after 4 min 12 s"
    assert tail == ["</code></pre><b>✅ all fine</b> & ⟨U+202E⟩⟨U+0000⟩", "E   link"]
    assert [entity.type for entity in read(drawing.html).entities] == ["bold", "pre"]
    in_matrix = matrix.draw_notice(ended_notice(HOSTILE))
    assert said(in_matrix).split("\n")[:4] == [first, how, *tail]
    assert in_matrix.html.count("<pre>") == 1


def test_a_long_tail_is_cut_from_the_front() -> None:
    for fill in ("x", "😀", "&"):
        long = replace(BADLY, title="t" * 500, how="h" * 500, tail=fill * 5_000 + "the end")
        shown = read_plainly(draw_notice(ended_notice(long)).html)
        assert shown.endswith(f"{fill}the end")
        assert f"\n…{fill}" in shown


def test_several_that_ended_well_become_one_list_with_a_button_for_each_output() -> None:
    several = draw_list([well("cargo build"), well("npm ci", whole=False), well("cargo <test>")])
    assert several is not None
    assert plain(several.html) == (
        "✅ <b>3 commands finished</b> · shop-api\n\n"
        "• cargo build · 4 min 12 s\n• npm ci · 4 min 12 s\n• cargo &lt;test&gt; · 4 min 12 s"
    )
    assert labels(several.rows) == [["Output: cargo build"], ["Output: cargo <test>"]]
    alike = draw_list([well("cargo build"), well("cargo build")])
    assert alike is not None
    assert labels(alike.rows) == [["Output 1: cargo build"], ["Output 2: cargo build"]]
    assert draw_list([well(f"make {i}") for i in range(MOST_OUTPUTS)]) is not None
    assert draw_list([well(f"make {i}") for i in range(MOST_OUTPUTS + 1)]) is None


@given(st.lists(ended_notices, min_size=1, max_size=6))
def test_every_chat_takes_every_end_and_its_first_line_is_ours(sent: list[Notice]) -> None:
    drawings = [draw_notice(each) for each in sent]
    succeeded = [each for each in sent if each.operation and each.operation.succeeded]
    if len(succeeded) > 1:
        together = draw_list(succeeded)
        assert together is not None
        drawings.append(together)
    for drawing in drawings:
        first = read(drawing.html).text.split("\n")[0]
        assert first[0] in "✅❌"
        assert len(first) <= 110
        found = keys(drawing.rows)
        assert len({key.text for key in found}) == len(found)
        for key in found:
            assert len(key.text) <= 100
            assert len(key.data.encode()) <= limits.CALLBACK_DATA_BYTES
            assert isinstance(decode(key.data), Output)
    for each in sent:
        words = matrix.draw_notice(each)
        check(words)
        assert words.body[0] in "✅❌"
        assert plain(html_text(words.html)).count("<") == plain(words.body).count("<")


def test_an_output_that_is_too_large_for_a_phone_comes_with_both_ends() -> None:
    small = output_file(OPERATION, b"all of it\n")
    assert (small.name, small.content) == ("output-5e0f3a7c.txt", b"all of it\n")
    lines = b"0000000\n" + b"1234567\n" * (OUTPUT_FILE_BYTES // 8 + 998) + b"7654321\n"
    content = output_file(OPERATION, lines).content
    assert OUTPUT_FILE_BYTES - 100 < len(content) <= OUTPUT_FILE_BYTES + 100
    assert content.startswith(b"0000000\n")
    assert content.endswith(lines[-8:])
    head, said, tail = (part.strip() for part in content.split("…".encode()))
    assert len(head) + 1 + len(tail) + 1 == len(lines) - _number(said)
    assert said == f"{_number(said):,} bytes are left out here".encode()


def _number(said: bytes) -> int:
    return int(said.split()[0].replace(b",", b""))


@given(st.binary(max_size=60), st.integers(2, 50))
def test_bounding_an_output_keeps_its_beginning_and_its_end(content: bytes, most: int) -> None:
    kept = bounded(content, most)
    if len(content) <= most:
        assert kept == content
    else:
        head, _, rest = kept.partition("\n…".encode())
        assert content.startswith(head)
        assert content.endswith(rest.rpartition("…\n\n".encode())[2])
