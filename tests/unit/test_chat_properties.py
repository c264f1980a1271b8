"""What holds for every message that an ask can become, whatever its agent wrote."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.callback_data import Tap, decode, question_shown
from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.card import placeholder, toast
from chatbridge.channels.chat.document import Message, Rows
from chatbridge.channels.chat.runs import units
from chatbridge.channels.matrix.render import notices as matrix_notices
from chatbridge.channels.matrix.render.html import Words
from chatbridge.channels.telegram.render.card import draw_prompt
from chatbridge.channels.telegram.render.html import plain_text, to_html
from chatbridge.core.asks import transitions as steps
from chatbridge.core.bounds import MAX_CHARACTERS
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import APPROVAL_GLYPH, GLYPHS, Role
from chatbridge.core.errors import AskEnded
from chatbridge.core.forms import form
from chatbridge.core.model import GLYPHS as GLYPH_OF
from chatbridge.core.model import (
    Answer,
    Ask,
    Entry,
    Notice,
    Option,
    Outcome,
    Question,
    QuestionType,
    Status,
    View,
)
from tests import matrix_drawings as matrix
from tests.chats import MATRIX
from tests.fakes.telegram import limits
from tests.matrix_asks import check, html_text, plain
from tests.matrix_asks import seens as matrix_seens
from tests.rows import a_row, listed
from tests.telegram_asks import NOW, ask, keys, later, read, read_plainly, select
from tests.telegram_drawings import (
    draw,
    draw_card,
    draw_list,
    draw_notice,
    file_of,
    overflow,
)
from tests.telegram_strategies import approvals, asks, long_texts, questions_asked, seens
from tests.telegram_strategies import notices as some_notices

SEEN, ADA, card = MATRIX.private, MATRIX.me, MATRIX.card


# ── Telegram ──────────────────────────────────────────────────────────────────────────────────────


def check_rows(rows: Rows, shown: Ask | None = None) -> None:
    found = keys(rows)
    assert len(found) <= limits.BUTTONS
    assert all(1 <= len(row) <= limits.BUTTONS_IN_A_ROW for row in rows)
    assert len({key.text for key in found}) == len(found)
    for key in found:
        assert key.text.strip()
        assert len(key.text) <= 100
        tap = decode(key.data)
        assert isinstance(tap, Tap)
        if shown:
            assert (tap.ask_id, tap.question) == (shown.id, question_shown(shown))


@given(asks(), seens)
def test_telegram_takes_every_card_and_the_first_line_is_ours(shown: Ask, seen: Seen) -> None:
    drawn = build_card(shown, channel="telegram", later=later(shown))
    drawing = draw_card(drawn, seen)
    first, second, *_ = (*read(drawing.html).text.split("\n"), "")
    assert first.startswith((APPROVAL_GLYPH, *set(GLYPHS.values())))
    assert first.startswith(drawn.glyph)
    assert len(first) <= 60
    # The next line is empty, or the one with the title, which is ours in all but its words.
    assert not second or (drawn.view and second.startswith(("\u2068", str(drawn.number), "check")))
    check_rows(drawing.rows, shown)


@given(asks(), seens)
def test_telegram_takes_every_other_message_about_an_ask(shown: Ask, seen: Seen) -> None:
    drawn = build_card(shown, channel="telegram", later=later(shown))
    read(to_html(draw_prompt(drawn, mention=None)))
    read(to_html(draw_prompt(drawn, mention=(7, shown.project.name))))
    assert 1 <= len(placeholder(drawn).encode("utf-16-le")) // 2 <= limits.PLACEHOLDER


@given(questions_asked())
def test_telegram_takes_everything_that_does_not_fit_the_card(shown: Ask) -> None:
    found = overflow(shown)
    for leaflet in found.leaflets:
        read(leaflet)
    assert len({file.name for file in (*found.before, *found.after)}) == len(
        (*found.before, *found.after)
    )
    several = len(found.leaflets) + len(found.before) > 0
    assert several == bool(found.questions)


@given(st.lists(asks(), max_size=4, unique_by=lambda shown: shown.id), long_texts)
def test_telegram_takes_every_notice(shown: list[Ask], typed: str) -> None:
    past = notices.history([a_row(one) for one in shown])
    drawings = [
        draw(notices.which_one(typed, shown), now=300.0),
        draw(notices.open_asks("Reply.", shown), now=300.0),
        draw(notices.pending(listed(shown)), now=300.0),
        draw(Message(document=past), now=300.0),
        *(draw(notices.use_it(one), now=300.0) for one in shown),
    ]
    for drawing in drawings:
        read(drawing.html)
        check_rows(drawing.rows)


@given(st.lists(some_notices, min_size=1, max_size=6))
def test_telegram_takes_every_notice_of_an_agent_and_its_first_line_is_ours(
    sent: list[Notice],
) -> None:
    for each in sent:
        first = read(draw_notice(each).html).text.split("\n")[0]
        assert first.startswith(GLYPH_OF[each.level])
        assert len(first) <= 80
        file = file_of(each)
        assert file is None or file.content
    together = draw_list(sent)
    if together is not None:
        read(together.html)


@given(asks(), st.integers(0, 10**6))
def test_a_toast_is_never_too_long(shown: Ask, number: int) -> None:
    drawn = build_card(shown, channel="telegram", later=later(shown))
    events = [choice.action for choice in drawn.choices]
    events += [b.action for b in drawn.buttons if not isinstance(b.action, str)]
    events.append(form.Text(text="x" * 9_000))
    try:
        step = steps.apply_event(shown, events[number % len(events)])
    except AskEnded:
        step = form.STALE
    assert len(toast(shown, step).encode("utf-16-le")) // 2 <= limits.CALLBACK_ANSWER


@given(approvals(), seens)
def test_what_can_be_allowed_is_in_the_card_or_in_a_file_to_the_letter(
    shown: Ask, seen: Seen
) -> None:
    drawn = build_card(shown, channel="telegram", later=later(shown))
    data = {key.data for key in keys(draw_card(drawn, seen).rows)}
    roles = [Role.ALLOW, Role.MORE, Role.MORE_NOW]
    allowing = [b.action for b in drawn.buttons if b.role in roles]
    offered = [
        tap.action for tap in map(decode, data) if isinstance(tap, Tap) and tap.action in allowing
    ]
    assert bool(offered) == (bool(allowing) and not seen.unsent)
    if not allowing:
        return
    assert drawn.subject
    beside = overflow(shown)
    files = [file.content.decode() for file in (*beside.before, *beside.after)]
    text = read(draw_card(drawn, seen).html).text
    code = drawn.subject.code
    assert not code.strip() or any(code in place for place in (text, *files))


@given(asks(), seens)
def test_a_server_that_knows_no_tags_gets_the_same_text(shown: Ask, seen: Seen) -> None:
    html = draw_card(build_card(shown, channel="telegram"), seen).html
    assert (
        plain_text(html)
        .replace("\u2068", "")
        .replace("\u2069", "")
        .rstrip()
        .startswith(read_plainly(html)[:40])
    )
    assert units(plain_text(html)) <= limits.TEXT


# ── Matrix ────────────────────────────────────────────────────────────────────────────────────────


@given(asks(), matrix_seens)
def test_every_card_fits_an_event_and_its_first_line_is_ours(shown: Ask, seen: Seen) -> None:
    drawn = build_card(shown, channel="matrix", later=later(shown))
    drawing = matrix.draw_card(drawn, seen)
    check(drawing)
    first = drawing.body.split("\n")[0]
    asides: dict[View, str | tuple[str, ...]]
    asides = {View.CANCEL: "Cancel", View.EXPLAIN: "What should the agent explain?"}
    if drawn.voice is not None:
        asides[View.HEARD] = ("Turning your voice", "You said: “", "Your voice message: ")
    if drawn.approval:
        asides[View.OTHER] = "Why should it be denied?"
    begins = asides.get(drawn.view) if drawn.view else None
    assert first.startswith(begins or drawn.glyph)
    assert len(first) <= 160 or drawn.voice is not None
    assert drawn.view or first.startswith(tuple(GLYPHS.values()))


@given(asks(), matrix_seens, st.sampled_from(View), st.integers(0, 10))
def test_every_other_message_about_an_ask_fits(shown: Ask, seen: Seen, view: View, at: int) -> None:
    drawn = build_card(shown, channel="matrix", later=later(shown))
    if drawn.view is not None:
        check(matrix.draw_root(drawn, seen))
    check(matrix.draw_past(shown, view=view, at=at))
    for page in matrix.pages_of(drawn):
        check(page)


@given(st.lists(asks(), max_size=4), long_texts)
def test_every_list_fits(shown: list[Ask], text: str) -> None:
    check(matrix_notices.which_one(shown * 8, now=300.0, reactions=True))
    check(matrix.draw_remark(text))


@given(some_notices)
def test_every_notice_fits_an_event_and_is_only_text(shown: Notice) -> None:
    drawing = matrix_notices.draw_notice(shown)
    first = drawing.body.split("\n")[0]
    assert first.startswith(GLYPH_OF[shown.level])
    assert len(first) <= 60
    if shown.message.strip():
        check(drawing)
    assert plain(html_text(drawing.html)).count("<") == plain(drawing.body).count("<")


# ── the largest there can be ──────────────────────────────────────────────────────────────────────

FILLS = ("x", "&", "<", "ש", "😀", "word ", "line\n", "para\n\n", "`a` ", "- a\n", "> ")
"""Each of them takes more room than the last one thought of."""


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("count", [1, 10, 100])
def test_the_largest_question_fits_an_event(fill: str, count: int) -> None:
    big = fill * (100_000 // len(fill))
    said = big[: MAX_CHARACTERS // count]
    names = [f"{i}{fill * 400}"[:1_000] for i in range(count)]
    options = tuple(Option(label=name, description=said) for name in names)
    question = Question(id="q", text=big, type=QuestionType.MULTI_SELECT, options=options)
    question = replace(question, on_timeout=Answer(values=(big,)))
    shown = ask(question, project=big, agent=big, title=big)
    entry = Entry(picked=tuple(range(count)), text=fill * 2_000)
    shown = replace(shown, draft=replace(shown.draft, entries=(entry,), by=ADA))
    drawn = card(shown)
    drawing = matrix.draw_card(drawn, SEEN)
    check(drawing)
    assert "The whole question is in the web inbox." in drawing.body
    assert "React with every number you want" in drawing.body
    sent = Outcome(at=NOW, answers=(Answer(values=(big,), custom_text=big),), by=ADA)
    check(matrix.draw_card(card(replace(shown, status=Status.ANSWERED, outcome=sent)), SEEN))
    check(matrix.draw_root(drawn, SEEN))
    check(matrix.draw_past(shown, view=View.QUESTION, at=0))


@pytest.mark.parametrize("fill", FILLS)
def test_the_largest_form_fits_an_event(fill: str) -> None:
    questions = [Question(id=str(i), text=f"{i}{fill * 500}"[:1_000]) for i in range(10)]
    entry = Entry(text=fill * 2_000, done=True)
    shown = ask(*questions, title=fill * 50)
    draft = replace(shown.draft, entries=(entry,) * 10, view=View.REVIEW, at=10)
    check(matrix.draw_card(card(replace(shown, draft=draft)), SEEN))
    answers = (Answer(values=(fill * 2_000,)),) * 10
    for status in (Status.ANSWERED, Status.TIMED_OUT):
        ended = replace(shown, status=status, outcome=Outcome(at=NOW, answers=answers, by=ADA))
        drawing = matrix.draw_card(card(ended), SEEN)
        check(drawing)
        assert drawing.html.count("<li>") == 10


def test_a_hundred_short_options_are_all_listed() -> None:
    shown = ask(select("Which?", *(f"Option {i} is quite a long one" for i in range(1, 101))))
    drawing = matrix.draw_card(card(shown), SEEN)
    assert all(f"\n{i} \u2068Option {i} is" in drawing.body for i in range(1, 101))


# ── nothing of an agent's is markup ───────────────────────────────────────────────────────────────

TRICK = "</p><strong>x</strong> & <br>"


def tricked() -> list[Words]:
    question = Question(
        id="q",
        text=f"{TRICK}\n\n```\n{TRICK}\n```\n\n- {TRICK}",
        type=QuestionType.MULTI_SELECT,
        options=(Option(label=TRICK, description=TRICK),),
        on_timeout=Answer(values=(TRICK,)),
    )
    shown = ask(question, project=TRICK[:18], agent=TRICK[:14], title=TRICK[:28] + "?")
    entry = Entry(picked=(0,), text=TRICK)
    shown = replace(shown, draft=replace(shown.draft, entries=(entry,)))
    by = replace(ADA, name=TRICK, channel="web")
    answered = Outcome(at=NOW, answers=(Answer(values=(TRICK,)),), by=by)
    ended = replace(shown, status=Status.ANSWERED, outcome=answered)
    gone = replace(shown, status=Status.CANCELLED, outcome=Outcome(at=NOW, reason=TRICK, by=by))
    return [
        *(matrix.draw_card(card(each), SEEN) for each in (shown, ended, gone)),
        matrix.draw_root(card(shown), SEEN),
        matrix.draw_past(shown, view=View.QUESTION, at=0),
        matrix_notices.which_one([shown], now=NOW, reactions=True),
    ]


def test_what_an_agent_wrote_is_text_in_html_as_in_the_body() -> None:
    for drawing in tricked():
        read = plain(html_text(drawing.html))
        body = plain(drawing.body)
        for mark in ("</p>", "<strong>", "<br>"):
            assert read.count(mark) == body.count(mark)
        assert body.count("</p>") > 0
