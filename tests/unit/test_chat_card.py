"""Each screen of an open card in a chat, word for word, and the messages that go with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbridge.channels.chat.card import placeholder, toast
from chatbridge.channels.telegram.render.card import draw_prompt
from chatbridge.channels.telegram.render.html import to_html
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.forms import filling, form
from chatbridge.core.model import Answer, Ask, Attention, Outcome, Priority, Status, View
from tests.chats import MATRIX, TELEGRAM, TYPED, Chat, each_chat
from tests.matrix_asks import plain
from tests.matrix_drawings import draw_continued, draw_past, draw_root
from tests.telegram_asks import (
    HOUR,
    NOW,
    approval,
    ask,
    confirm,
    read_plainly,
    select,
    stepped,
    text,
    time_tag,
)

DATABASE = select(
    "Which database should the integration tests use?",
    "PostgreSQL in Docker (recommended) | About 9 s more",
    "Keep SQLite, mark the two tests as skipped",
)
QUESTION = DATABASE.text
BRANCH = select("Which branch is released?", "main", "release/2.4")
CHECKS = select("Which checks must pass?", "Unit tests", "Load test", multi=True)
NOTES = text("Anything the notes must mention?", required=False)
AT = clock_time(NOW + HOUR)
ENDS = f"Ends {AT}."
MORE_TIME = "Reply “later” for more time."
FIRST_LINE = "❓ shop-api · Claude Code"
RELEASE = ask(BRANCH, CHECKS, NOTES, title="Release 2.4")
SECOND = stepped(RELEASE, form.Choose(step=0, option=1))
PICKED = stepped(SECOND, form.Toggle(step=0, option=0, on=True))
THIRD = stepped(PICKED, form.Done(step=0))
REVIEW = stepped(THIRD, form.Skip(step=0))
CANCEL = stepped(ask(DATABASE), form.AskCancel(step=0))
EXPLAIN = stepped(ask(DATABASE), form.AskExplain(step=0))
OTHER = stepped(SECOND, form.Other(step=0))
OVER = replace(
    ask(confirm("Delete the old fixtures?")), status=Status.TIMED_OUT, outcome=Outcome(at=NOW)
)
LATE = replace(OVER, draft=replace(OVER.draft, late=True))
TWELVE = [f"option {i}" for i in range(1, 13)]


# ── the screens ───────────────────────────────────────────────────────────────────────────────────


@each_chat
def test_a_select_is_the_heading_the_question_its_options_and_what_to_do(chat: Chat) -> None:
    assert (
        chat.markup(chat.draw(chat.card(ask(DATABASE)), chat.private))
        == {
            TELEGRAM: "❓ <b>shop-api</b> · Claude Code\n\n"
            f"<b>{QUESTION}</b>\n\n<b>1. PostgreSQL in Docker</b> (recommended)\nAbout 9 s more\n"
            "<b>2. Keep SQLite, mark the two tests as skipped</b>\n\n"
            f"Ends {time_tag(NOW + HOUR, now=NOW)}",
            MATRIX: "<p>❓ <strong>shop-api</strong> · Claude Code</p>"
            f"<p><strong>{QUESTION}</strong></p>"
            "<ol><li><strong>PostgreSQL in Docker</strong> (recommended)<br>About 9 s more</li>"
            "<li><strong>Keep SQLite, mark the two tests as skipped</strong></li></ol>"
            "<p>React with a number, or reply with a number or your own words. "
            f"❔ asks back. {ENDS} {MORE_TIME}</p>",
        }[chat]
    )
    assert (
        chat.read(ask(DATABASE))[:3]
        == {
            TELEGRAM: [FIRST_LINE, QUESTION, "1. PostgreSQL in Docker (recommended)"],
            MATRIX: [FIRST_LINE, QUESTION, "1 PostgreSQL in Docker (recommended): About 9 s more"],
        }[chat]
    )


def test_names_and_labels_are_kept_apart_from_our_words() -> None:
    drawing = MATRIX.draw(MATRIX.card(ask(DATABASE, title="Speed")), MATRIX.private)
    for words in ("shop-api", "Claude Code", "Speed", "PostgreSQL in Docker"):
        assert f"\u2068{words}\u2069" in drawing.body
        assert f"\u2068{words}\u2069" in drawing.html


def test_a_question_of_several_paragraphs_stands_apart() -> None:
    shown = ask(replace(BRANCH, text="Which?\n\nThere are `two`."))
    body = MATRIX.text(MATRIX.draw(MATRIX.card(shown), MATRIX.private))
    assert "Claude Code\nWhich?\n\nThere are two.\n\n1 main\n2 release" in body


@each_chat
def test_an_urgent_question_says_so_in_the_headings_second_line(chat: Chat) -> None:
    urgent = replace(RELEASE, attention=Attention(priority=Priority.URGENT))
    assert chat.read(urgent)[:2] == [FIRST_LINE, "urgent · Release 2.4 · 1 of 3"]


@each_chat
def test_the_heading_shortens_names_and_leaves_the_lock_screen_to_the_question(chat: Chat) -> None:
    shown = ask(confirm("Sure?"), project="a-very-long-project-name", agent="An agent's long name")
    shown = replace(shown, title="A title of more than twenty-eight letters")
    labelled = replace(shown, project=replace(shown.project, label="laptop"))
    assert chat.read(labelled)[:2] == [
        "❓ a-very-long-proje… · An agent's lo…",
        "laptop · A title of more than…",
    ]
    shown = ask(confirm("Sure?"), text("Why?"), project="p" * 40, agent="a" * 40, title="t" * 40)
    shown = replace(shown, project=replace(shown.project, label="l" * 40))
    assert chat.text(chat.draw(chat.card(shown), chat.private)).index("Sure?") <= 80


@pytest.mark.parametrize(
    ("shown", "private", "group", "reactions", "typed"),
    [
        (
            ask(DATABASE),
            "",
            "",
            "React with a number, or reply with a number or your own words.",
            "Reply with a number or your own words. Or reply explain or cancel.",
        ),
        (
            SECOND,
            "Choose one or more, then Done.",
            "Choose one or more, then Done.",
            "React with every number you want, then ✅. Or reply 1,2.",
            "Reply with the numbers, for example 1,2. Or reply back, explain or cancel.",
        ),
        (
            ask(confirm("Sure?")),
            "",
            "",
            "👍 yes, 👎 no.",
            "Reply yes or no. Or reply explain or cancel.",
        ),
        (
            THIRD,
            "Type your answer and send it.",
            "Reply to this message with your answer.",
            "Reply in this thread.",
            "Reply in this thread. Or reply !skip, !back, !explain or !cancel.",
        ),
        (
            REVIEW,
            "Nothing has been sent yet.",
            "Nothing has been sent yet.",
            "✅ sends. To change one, reply with its number.",
            "Reply send to send, or with a number to change one. Or reply back, explain or cancel.",
        ),
        (
            OTHER,
            "Write your own answer.",
            "Reply with your own answer.",
            "Reply with your own words. ↩️ shows the options.",
            "Reply with your own words. Or reply back.",
        ),
    ],
    ids=["select", "multi-select", "confirm", "text", "review", "other"],
)
def test_each_screen_says_what_to_do(
    shown: Ask, private: str, group: str, reactions: str, typed: str
) -> None:
    for seen, hint in ((TELEGRAM.private, private), (TELEGRAM.group, group)):
        said = TELEGRAM.read(shown, seen)
        assert said[-1] == f"Ends {AT}"
        assert not hint or said[-2] == hint
    asks_back = "" if shown is OTHER else " ❔ asks back."
    more = "" if shown is OTHER else f" {MORE_TIME}"
    if shown is THIRD:  # any word could be an answer
        more = more.replace("later", "!later")
    assert MATRIX.read(shown)[-1] == f"{reactions}{asks_back} {ENDS}{more}"
    assert MATRIX.read(shown, TYPED)[-1] == f"{typed} {ENDS}{more}"


def test_words_stand_for_buttons_where_they_apply_and_can_be_nothing_else() -> None:
    assert "Or reply done, back, explain or cancel." in MATRIX.read(PICKED, TYPED)[-1]
    shown = ask(select("Which?", "Cancel", "other"))
    assert "Or reply explain or !cancel." in MATRIX.read(shown, TYPED)[-1]


@each_chat
def test_a_step_names_title_and_number_and_the_review_lists_the_answers(chat: Chat) -> None:
    assert chat.read(SECOND)[:3] == [FIRST_LINE, "Release 2.4 · 2 of 3", "Which checks must pass?"]
    assert chat.read(REVIEW)[:8] == [
        FIRST_LINE,
        "Release 2.4 · check and send",
        "1. Which branch is released?",
        "release/2.4",
        "2. Which checks must pass?",
        "Unit tests",
        "3. Anything the notes must mention?",
        "skipped",
    ]
    shared = replace(REVIEW, draft=replace(REVIEW.draft, by=chat.me))
    assert "Last change: Ada" in chat.read(shared, chat.group)
    assert "Last change: Ada" not in chat.read(shared)


def test_a_review_has_a_way_back_to_each_answer() -> None:
    assert TELEGRAM.offers(REVIEW) == [
        ["Edit 1", "Edit 2", "Edit 3"],
        ["Send answers"],
        ["More time…", "Ask back…", "Cancel…"],
    ]


def test_own_words_have_a_way_back() -> None:
    prompted = replace(TELEGRAM.private, prompted=True)
    assert TELEGRAM.offers(OTHER, prompted) == [["‹ Back to the options"]]
    assert TELEGRAM.offers(OTHER)[0] == ["Write answer…"]


def test_cancelling_asks_once() -> None:
    assert TELEGRAM.read(CANCEL) == [
        FIRST_LINE,
        QUESTION,
        "Cancel this question?",
        "The agent is told that you will not answer. Send a reason as text, or:",
        f"Ends {AT}",
    ]
    assert TELEGRAM.offers(CANCEL) == [
        ["‹ Keep it open"],
        ["Cancel without a reason"],
    ]
    assert TELEGRAM.read(CANCEL, TELEGRAM.group)[3].endswith("Reply with a reason, or:")
    assert MATRIX.read(CANCEL) == [
        "Cancel this question? Reply with a reason, or ✅ without one. ↩️ keeps it open."
    ]
    assert MATRIX.read(CANCEL, TYPED) == [
        "Cancel this question? Reply with a reason, or cancel to give none. "
        "Reply back to keep it open."
    ]
    for chat in (TELEGRAM, MATRIX):
        all_of_it = "\n".join(chat.read(stepped(REVIEW, form.AskCancel(step=0))))
        assert "Cancel all 3 questions?" in all_of_it


def test_asking_back_stands_beside_cancel_where_it_can_be_done() -> None:
    assert TELEGRAM.offers(ask(DATABASE))[-1] == ["More time…", "Ask back…", "Cancel…"]
    assert "❔ asks back." in MATRIX.read(ask(DATABASE))[-1]
    assert "explain or cancel." in MATRIX.read(ask(DATABASE), TYPED)[-1]
    only_one = ask(replace(BRANCH, takes_ask_back=True), CHECKS)
    other = stepped(only_one, form.Choose(step=0, option=0))
    assert TELEGRAM.offers(other)[-1] == ["More time…", "Cancel…"]
    assert "asks back" not in MATRIX.read(other)[-1]


def test_asking_back_asks_what_first() -> None:
    asked = "What should the agent explain?"
    assert TELEGRAM.read(EXPLAIN)[1:] == [QUESTION, asked, "Send it as text, or:", f"Ends {AT}"]
    assert "Reply with it, or:" in TELEGRAM.read(EXPLAIN, TELEGRAM.group)
    prompted = replace(TELEGRAM.private, prompted=True)
    offers = [["Explain this", "Ask it differently"], ["‹ Back"]]
    assert TELEGRAM.offers(EXPLAIN, prompted) == offers
    assert TELEGRAM.offers(EXPLAIN) == [["Write it…"], *offers]
    assert MATRIX.read(EXPLAIN) == [
        f"{asked} Reply with it, or ✅ for all of it. 🔁 has it asked differently, ↩️ goes back."
    ]
    assert MATRIX.read(EXPLAIN, TYPED) == [
        f"{asked} Reply with it, explain for all of it, or rephrase to be asked differently. "
        "Reply back to go back."
    ]


@each_chat
def test_a_question_that_takes_it_shows_what_was_asked_back(chat: Chat) -> None:
    shown = stepped(
        ask(*(replace(each, takes_ask_back=True) for each in (BRANCH, CHECKS))),
        form.AskExplain(step=0),
        form.Text(text="Which one is <stable>?"),
        form.AskExplain(step=0),
        form.Rephrase(step=0),
    )
    sent = filling.advance(shown.questions, shown.draft, form.Submit(step=shown.draft.step))
    assert isinstance(sent, form.Answered)
    outcome = Outcome(at=NOW + 60, answers=sent.answers, by=chat.me)
    over = replace(shown, status=Status.ANSWERED, outcome=outcome)
    for lines in (chat.read(shown)[2:], chat.read(over)[1:]):
        assert lines[1] == "asked to explain: Which one is <stable>?"
        assert lines[3] == "asked to rephrase"


# ── what is chosen ────────────────────────────────────────────────────────────────────────────────


def test_what_reactions_show_is_not_said_again_and_what_was_chosen_elsewhere_is() -> None:
    change = "To change that, reply with all the numbers you want."
    reacted = replace(MATRIX.private, reacted=frozenset({0}))
    assert not any(
        "so far" in line for line in (*MATRIX.read(PICKED, reacted), *MATRIX.read(SECOND))
    )
    assert f"Chosen so far: 1 Unit tests. {change}" in MATRIX.read(PICKED)
    both = stepped(PICKED, form.Toggle(step=0, option=1, on=True), form.Text(text="and\nlint"))
    chosen = "1 Unit tests, 2 Load test, Other: and lint"
    reacted = replace(MATRIX.private, reacted=frozenset({0, 1}))
    assert f"Chosen so far: {chosen}. {change}" in MATRIX.read(both, reacted)
    reacted = replace(MATRIX.private, reacted=frozenset({1}))
    assert "Chosen so far: nothing." in MATRIX.read(SECOND, reacted)


@each_chat
def test_an_answer_that_is_edited_is_shown(chat: Chat) -> None:
    written = stepped(THIRD, form.Text(text="two\nlines"), form.Edit(step=0, question=2))
    assert "Your answer so far: two lines" in chat.read(written)
    if chat is MATRIX:
        branch = stepped(REVIEW, form.Edit(step=0, question=0))
        assert "Your answer so far: release/2.4" in chat.read(branch)


def test_options_without_a_reaction_are_listed_and_replied_to() -> None:
    shown = MATRIX.read(ask(select("Which?", *TWELVE)))
    assert "Options 11 to 12: reply with the number." in shown
    assert "12 option 12" in shown
    typed = MATRIX.read(ask(select("Which?", *TWELVE)), TYPED)
    assert not any(line.startswith("Options 11") for line in typed)
    eleven = MATRIX.read(ask(select("Which?", *TWELVE[:11])))
    assert "Option 11: reply with the number." in eleven
    several = MATRIX.read(ask(select("Which?", *TWELVE, multi=True)))
    hint = "Options 11 to 12: reply with all the numbers you want, for example 1,12."
    assert hint in several


def test_more_time_has_a_screen_of_its_own() -> None:
    later = stepped(ask(DATABASE), form.AskLater(step=0))
    until = clock_time(NOW + 4 * HOUR)
    assert TELEGRAM.read(later) == [
        FIRST_LINE,
        QUESTION,
        "How much more time?",
        "A snoozed question goes out of the way, and comes back as a new message.",
        f"Ends {AT}",
    ]
    assert TELEGRAM.offers(later) == [
        ["+15 min"],
        ["+1 h"],
        [f"Until {until}"],
        ["Snooze 1 h"],
        [f"Snooze until {until}"],
        ["‹ Back"],
    ]
    first, *listed = MATRIX.read(later)
    assert first == (
        "How much more time? React or reply with a number, or with words such as +45min, "
        "snooze 2h or snooze until 08:00. ↩️ goes back. "
        "A snoozed question goes out of the way, and comes back as a new message."
    )
    assert listed[0] == "1 +15 min"
    assert listed[-1] == f"5 Snooze until {until}"
    assert MATRIX.offers(later) == [["1️⃣", "2️⃣", "3️⃣", "4️⃣", "5️⃣", "↩️"]]
    assert MATRIX.read(later, TYPED)[0].startswith("How much more time? Reply with a number,")
    for other in (ask(confirm("Sure?")), PICKED):  # whatever is asked, these are plain choices
        aside = stepped(other, form.AskLater(step=0))
        assert TELEGRAM.offers(aside)[0] == ["+15 min"]
        assert MATRIX.offers(aside)[0][:2] == ["1️⃣", "2️⃣"]
        assert "1 +15 min" in MATRIX.read(aside)


@each_chat
def test_a_snoozed_card_is_a_line_and_what_it_was_about(chat: Chat) -> None:
    for shown, about in ((ask(DATABASE), QUESTION), (SECOND, "Release 2.4"), (REVIEW, "Release")):
        snoozed = replace(shown, attention=Attention(snoozed_until=NOW + 2 * HOUR))
        first, second, *rest = chat.read(snoozed)
        assert first == f"💤 Snoozed until {clock_time(NOW + 2 * HOUR)}. It comes back then."
        assert second.startswith(f"shop-api: {about}")
        assert rest == {TELEGRAM: [], MATRIX: ["Reply show to see it now."]}[chat]
    assert TELEGRAM.offers(snoozed) == [["Show now"]]
    command = replace(ask(approval("make\ntest")), attention=Attention(snoozed_until=NOW + HOUR))
    assert chat.read(command)[1] == "shop-api: Run this command? make test"


def test_what_is_left_of_a_card_keeps_the_glyph_of_its_kind() -> None:
    for shown, glyph in ((ask(DATABASE), "❓"), (ask(approval()), "🔐")):
        left = draw_continued(MATRIX.card(shown))
        assert plain(left.body) == f"{glyph} shop-api · continued below"


# ── time ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_last_line_says_when_it_ends_and_stands_out_when_that_is_soon() -> None:
    forever = ask(confirm("Sure?"), deadline=None)
    assert TELEGRAM.read(forever)[-1] == "No time limit"
    assert (
        MATRIX.read(forever)[-1]
        == "👍 yes, 👎 no. ❔ asks back. No time limit. Reply “later” to snooze it."
    )
    html = TELEGRAM.draw(TELEGRAM.card(ask(DATABASE)), TELEGRAM.soon)
    assert html.endswith(f"\n\n<b>Ends {time_tag(NOW + HOUR, now=NOW)}, soon.</b>")
    last = MATRIX.read(ask(DATABASE), MATRIX.soon)[-1]
    assert last.endswith(f" Ends {AT}, soon. {MORE_TIME}")
    html = MATRIX.markup(MATRIX.draw(MATRIX.card(ask(DATABASE)), MATRIX.soon))
    assert f"<strong>Ends {AT}, soon.</strong>" in html


@pytest.mark.parametrize(("away", "words"), [(30, 2), (200, 2), (10, 1)])
def test_a_far_end_names_its_day(away: int, words: int) -> None:
    shown = ask(confirm("Sure?"), deadline=NOW + away * HOUR)
    ends = MATRIX.read(shown)[-1].partition("Ends ")[2].partition(" Reply")[0]
    assert len(ends.split()) == words


@each_chat
def test_an_agent_that_left_and_a_declared_answer_stand_above_the_last_line(chat: Chat) -> None:
    declared = replace(DATABASE, on_timeout=Answer(values=("PostgreSQL in Docker (recommended)",)))
    assert chat.read(replace(ask(declared), orphaned=True))[-3:-1] == [
        f"Used if nobody answers by {AT}: PostgreSQL in Docker",
        "The agent is not waiting now. An answer is kept for its next call.",
    ]


@each_chat
def test_a_late_form_says_that_the_agent_has_moved_on(chat: Chat) -> None:
    moved = "The agent has moved on. Your answer is kept for it."
    last = {TELEGRAM: moved, MATRIX: f"👍 yes, 👎 no. {moved}"}[chat]
    assert chat.read(LATE) == ["⌛ Late answer · shop-api", "Delete the old fixtures?", last]


def test_a_card_that_was_posted_again_says_why() -> None:
    again = TELEGRAM.read(ask(DATABASE), replace(TELEGRAM.private, again=True))
    assert "Taps of more than a day ago were not kept. Tap again." in again


# ── beside the card ───────────────────────────────────────────────────────────────────────────────


@each_chat
def test_a_reminder_is_the_card_and_says_since_when_it_is_open(chat: Chat) -> None:
    shown = ask(DATABASE)
    reminded = replace(shown, attention=Attention(reminded_at=NOW))
    since = clock_time(shown.created_at)
    before, after = chat.read(shown), chat.read(reminded)
    assert after == [f"⏳ shop-api · still open since {since}", *before[1:]]
    begun = replace(reminded, attention=Attention(reminded_at=NOW, touched_at=NOW))
    assert chat.read(begun) == before, "whoever has begun needs no reminder"


def test_the_prompt_names_project_and_in_a_group_the_person() -> None:
    shown = TELEGRAM.card(ask(text("What?", placeholder="x" * 70)))
    assert read_plainly(to_html(draw_prompt(shown, mention=None))) == "Your answer for shop-api:"
    assert to_html(draw_prompt(shown, mention=(7, "A<da"))).startswith(
        '<a href="tg://user?id=7">\u2068A&lt;da\u2069</a>, your answer for <b>'
    )
    assert placeholder(shown) == "x" * 63 + "…"
    assert placeholder(TELEGRAM.card(ask(text("What?")))) == "Your answer"
    explain = TELEGRAM.card(EXPLAIN)
    assert (
        read_plainly(to_html(draw_prompt(explain, mention=None)))
        == "What to explain, for shop-api:"
    )
    assert placeholder(explain) == "What should the agent explain?"


def root(shown: Ask) -> list[str]:
    return MATRIX.lines(draw_root(MATRIX.card(shown), MATRIX.private))


def test_the_root_says_how_far_it_is_and_where_it_goes_on() -> None:
    on = f"Go on in the thread. {ENDS}"
    assert root(THIRD) == [FIRST_LINE, "Release 2.4", f"2 of 3 answered. {on}"]
    assert root(replace(REVIEW, title=None))[1:] == ["3 questions", f"3 of 3 answered. {on}"]
    assert root(CANCEL) == [FIRST_LINE, QUESTION, on]
    assert root(stepped(REVIEW, form.AskCancel(step=0)))[1] == "Release 2.4"


def past(shown: Ask, view: View, at: int = 0) -> list[str]:
    return MATRIX.lines(draw_past(shown, view=view, at=at))


def test_a_step_that_is_over_is_its_question_and_what_was_answered() -> None:
    branch, checks = "1. Which branch is released?", "2. Which checks must pass?"
    assert past(SECOND, View.QUESTION) == [branch, "release/2.4"]
    assert past(SECOND, View.QUESTION, 1) == [checks]
    assert past(PICKED, View.OTHER, 1) == [checks, "Unit tests"]
    assert past(REVIEW, View.QUESTION, 2) == ["3. Anything the notes must mention?", "skipped"]
    assert past(ask(confirm("Sure?")), View.QUESTION) == ["Sure?"]
    sent = (Answer(values=("main",)), Answer(values=("Load test",)), Answer(custom_text="x"))
    over = replace(REVIEW, status=Status.ANSWERED, outcome=Outcome(at=NOW, answers=sent))
    assert past(over, View.QUESTION) == [branch, "main"]
    assert past(over, View.REVIEW, 3) == ["Checked and sent."]
    assert past(over, View.CANCEL) == ["Not cancelled."]


def test_other_screens_that_are_over_are_one_line() -> None:
    assert past(REVIEW, View.REVIEW, 3) == ["Not sent yet. It goes on below."]
    assert past(REVIEW, View.CANCEL, 3) == ["Kept open."]
    gone = replace(REVIEW, status=Status.CANCELLED, outcome=Outcome(at=NOW))
    assert past(gone, View.REVIEW, 3) + past(gone, View.CANCEL) == ["Not sent.", "Cancelled."]
    assert past(LATE, View.REVIEW, 1) == ["Not sent yet. It goes on below."]
    first = ask(replace(BRANCH, takes_ask_back=True), CHECKS)
    asked = stepped(first, form.AskExplain(step=0), form.Rephrase(step=0))
    assert past(asked, View.EXPLAIN) == ["Asked back."]
    assert past(first, View.EXPLAIN) == ["Not asked back."]
    assert past(asked, View.QUESTION)[1] == "asked to rephrase"


# ── toasts ────────────────────────────────────────────────────────────────────────────────────────


def test_a_toast_repeats_what_was_sent() -> None:
    shown = ask(DATABASE)
    step = filling.advance(shown.questions, shown.draft, form.Choose(step=0, option=0))
    assert toast(shown, step) == "Sent: PostgreSQL in Docker"
    step = filling.advance(LATE.questions, LATE.draft, form.Choose(step=0, option=1))
    assert toast(LATE, step, kept=True) == "Kept: No"
    step = filling.advance(REVIEW.questions, REVIEW.draft, form.Submit(step=REVIEW.draft.step))
    assert toast(REVIEW, step) == "Sent: 3 answers"


def test_a_toast_says_why_nothing_happened_and_nothing_for_a_move() -> None:
    shown = ask(CHECKS)
    assert toast(shown, form.STALE) == "That was an older step. Here is the current one."
    step = filling.advance(shown.questions, shown.draft, form.Done(step=0))
    assert toast(shown, step) == "Pick at least one, or use Other."
    step = filling.advance(shown.questions, shown.draft, form.Toggle(step=0, option=0, on=True))
    assert toast(shown, step) == ""
    assert toast(shown, form.Cancelled(reason=None)) == "Cancelled."
    assert toast(shown, form.Cancelled(reason="Please explain."), asked_back=True) == "Sent."
