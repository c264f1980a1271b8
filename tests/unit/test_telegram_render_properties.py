"""What holds for every message that an ask can become, whatever its agent wrote."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat import notices
from chatbridge.channels.chat.callback_data import Tap, decode, question_shown
from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.card import placeholder, toast
from chatbridge.channels.chat.document import Message, Rows
from chatbridge.channels.telegram.outbound.announcer import draw_list, draw_notice, file_of
from chatbridge.channels.telegram.render.card import (
    draw,
    draw_card,
    draw_prompt,
    draw_reminder,
    overflow,
)
from chatbridge.channels.telegram.render.html import length, plain_text
from chatbridge.core.asks import transitions as steps
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import APPROVAL_GLYPH, GLYPHS, Role
from chatbridge.core.errors import AskEnded
from chatbridge.core.forms import form
from chatbridge.core.model import GLYPHS as GLYPH_OF
from chatbridge.core.model import Ask, Draft, Notice, Option, Question, QuestionType, View
from tests.fakes.telegram import limits
from tests.rows import a_row, listed
from tests.telegram_asks import ask, card, keys, read, read_plainly
from tests.telegram_strategies import approvals, asks, long_texts, questions_asked, seens
from tests.telegram_strategies import notices as some_notices


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
    drawn = build_card(shown, channel="telegram", latest_deadline=1e9)
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
    drawn = build_card(shown, channel="telegram", latest_deadline=1e9)
    reminder = draw_reminder(drawn, seen)
    read(reminder.html)
    check_rows(reminder.rows, shown)
    read(draw_prompt(drawn, mention=None))
    read(draw_prompt(drawn, mention=(7, shown.project.name)))
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
    past = notices.history([a_row(one) for one in shown], channel="telegram")
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
    drawn = build_card(shown, channel="telegram", latest_deadline=1e9)
    events = [choice.action for choice in drawn.choices]
    events += [b.action for b in drawn.buttons if not isinstance(b.action, str)]
    events.append(form.Text(text="x" * 9_000))
    try:
        step = steps.apply_event(shown, events[number % len(events)])
    except AskEnded:
        step = form.STALE
    assert len(toast(shown, step).encode("utf-16-le")) // 2 <= limits.CALLBACK_ANSWER


# ── nothing is lost ───────────────────────────────────────────────────────────────────────────────

_words = st.text("abcdefgh  \n", min_size=1).filter(str.strip)
_much = st.builds(lambda word, times: (word + " ") * times, _words, st.integers(1, 1_500))


@st.composite
def _wordy(draw_value: st.DrawFn) -> Ask:
    """Plain words in any amount: what of them is missing can be told."""
    count = draw_value(st.sampled_from([1, 2, 12, 100]))
    options = tuple(
        Option(
            label=draw_value(_words)[:900] + f" {i}",
            description=draw_value(st.none() | _words | (_much if i < 2 else _words)),
        )
        for i in range(count)
    )
    question = Question(
        id="q", text=draw_value(_words | _much), type=QuestionType.SELECT, options=options
    )
    lines = "\n".join(f"line {i}" for i in range(draw_value(st.sampled_from([0, 5, 60, 3_000]))))
    coded = Question(id="code", text=f"{draw_value(_words)}\n\n```\n{lines}\n```")
    return ask(*draw_value(st.sampled_from([(question,), (coded,), (question, coded)])))


@given(approvals(), seens)
def test_what_can_be_allowed_is_in_the_card_or_in_a_file_to_the_letter(
    shown: Ask, seen: Seen
) -> None:
    drawn = build_card(shown, channel="telegram", latest_deadline=1e9)
    data = {key.data for key in keys(draw_card(drawn, seen).rows)}
    roles = [Role.ALLOW, Role.SESSION, Role.SESSION_NOW]
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


def _squeezed(text: str) -> str:
    return "".join(text.split()).replace("\u2068", "").replace("\u2069", "")


@given(_wordy(), st.booleans())
def test_everything_an_agent_wrote_is_in_the_card_or_beside_it(shown: Ask, private: bool) -> None:
    beside = overflow(shown)
    leaflets = [plain_text(leaflet).partition("\n")[2] for leaflet in beside.leaflets]
    files = [file.content.decode() for file in (*beside.before, *beside.after)]
    for i, question in enumerate(shown.questions):
        draft = Draft(entries=shown.draft.entries, view=View.QUESTION, at=i)
        drawing = draw_card(
            card(ask(*shown.questions, draft=draft)), Seen(private=private, viewer=None, now=0.0)
        )
        buttons = [key.text for key in keys(drawing.rows)]
        places = [plain_text(drawing.html), "".join(leaflets), *files, *buttons]
        found = [_squeezed(place) for place in places]
        written = [question.text.replace("```", "")]
        for option in question.options:
            written += [option.label, option.description or ""]
        for text in written:
            assert any(_squeezed(text) in place.replace("```", "") for place in found), text


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
    assert length(html) <= limits.TEXT
