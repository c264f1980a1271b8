"""What does not fit a card goes with it, or the card says where it is: for the chats there are, and
for any that describes itself with `Capabilities`."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat import long_questions, runs
from chatbridge.channels.chat.capabilities import (
    Buttons,
    Capabilities,
    Continuations,
    Lengths,
    Seen,
)
from chatbridge.channels.chat.card import draw_card
from chatbridge.channels.chat.keyboard import columns
from chatbridge.channels.chat.runs import Text
from chatbridge.channels.telegram.render.card import TELEGRAM as ON_TELEGRAM
from chatbridge.core.cards.build import build_card
from chatbridge.core.model import Answer, Ask, Draft, Option, Question, QuestionType, View
from tests.chats import MATRIX, TELEGRAM
from tests.telegram_asks import ask, keys, later, read_plainly, select, text
from tests.telegram_drawings import Overflow, overflow
from tests.telegram_strategies import asks, seens

PARAGRAPH = "Lorem ipsum dolor sit amet. " * 30


def test_an_ordinary_ask_has_nothing_beside_its_card() -> None:
    shown = ask(select("Which?", "a | b", "c"), text("And?"))
    assert overflow(shown) == Overflow()


def test_a_long_question_comes_before_its_card_in_numbered_parts() -> None:
    shown = ask(select("Which one?\n\n" + f"{PARAGRAPH}\n\n" * 6, "this", "that | or so"))
    found = overflow(shown)
    parts = [read_plainly(leaflet) for leaflet in found.leaflets]
    assert [part.split("\n")[0] for part in parts] == [
        "1/2 of the question for shop-api",
        "2/2 of the question for shop-api",
    ]
    assert parts[0].endswith("amet.")
    assert parts[1].endswith("1. this\n2. that\nor so")
    assert not found.before
    assert not found.after
    card_text = "\n".join(TELEGRAM.read(shown))
    assert "Which one?\nLorem" in card_text
    assert "The whole question is above.\n1. this\n2. that\nor so" in card_text
    assert len(card_text) < 500


def test_one_continuation_needs_no_number() -> None:
    found = overflow(ask(text("Short?"), text(PARAGRAPH * 4)))
    (leaflet,) = found.leaflets
    assert read_plainly(leaflet).startswith("Question 2 for shop-api\n\nLorem")
    assert found.questions == [1]


def test_more_than_four_messages_are_one_file() -> None:
    found = overflow(ask(select(PARAGRAPH * 30 + "\u202e", "a | why a", "b (recommended)")))
    assert not found.leaflets
    (file,) = found.before
    assert file.name == "question-0b2c5f1e.txt"
    content = file.content.decode()
    assert content.startswith("Lorem")
    assert content.endswith("⟨U+202E⟩\n\n1. a\nwhy a\n2. b (recommended)")


def test_long_code_follows_as_a_file() -> None:
    code = "```\n" + "\n".join(f"line {i}" for i in range(50)) + "\n```"
    found = overflow(ask(text("Short?"), text(f"Good?\n\n{code}")))
    assert not found.leaflets
    assert not found.before
    (file,) = found.after
    assert file.name == "question-0b2c5f1e-2.txt"
    assert file.content.decode() == f"Good?\n\n{code}"


def test_a_long_declared_answer_is_shown_whole_before_anybody_could_agree_to_it() -> None:
    declared = replace(text("Name?"), on_timeout=Answer(values=("word " * 100,)))
    (leaflet,) = overflow(ask(declared)).leaflets
    assert read_plainly(leaflet).endswith("Used if nobody answers:\n" + ("word " * 100).strip())
    assert any(
        line.startswith("Used if nobody answers by") for line in TELEGRAM.read(ask(declared))
    )


def test_a_hundred_long_options_are_shortened_in_the_card_and_whole_before_it() -> None:
    shown = ask(select("Which?", *(f"number {i} {'x' * 60}" for i in range(100))))
    card_text = "\n".join(TELEGRAM.read(shown))
    assert "100. number 99 x…" in card_text
    assert "Options 91 to 100: reply with the number." in card_text
    whole = "".join(read_plainly(leaflet) for leaflet in overflow(shown).leaflets)
    assert f"100. number 99 {'x' * 60}" in whole
    assert f"100 number 99 {'x' * 60}" in MATRIX.read(shown)


def test_a_long_description_has_a_frame_and_a_short_one_stays_one_line() -> None:
    shown = ask(select("Which?", f"a | {'word ' * 30}", "b | one\n2. two"))
    html = TELEGRAM.draw(TELEGRAM.card(shown), TELEGRAM.private)
    assert "<blockquote expandable>word word" in html
    assert "\none 2. two\n" in html
    html = MATRIX.draw(MATRIX.card(shown), MATRIX.private).html
    assert "<blockquote>word word" in html
    assert "<br>one 2. two</li>" in html


# ── any chat ──────────────────────────────────────────────────────────────────────────────────────

FRAME = 900
"""The longest there can be around a question, in a card that has continuations."""
_words = st.text("abcdefgh  \n", min_size=1).filter(str.strip)
_much = st.builds(lambda word, times: (word + " ") * times, _words, st.integers(1, 1_500))


def _characters(text: Text) -> str:
    return "".join(run.text for run in text)


@st.composite
def _capabilities(draw_value: st.DrawFn) -> Capabilities[Text]:
    size = draw_value(st.integers(1_500, 30_000))
    alone, beside = draw_value(st.tuples(st.integers(16, 80), st.integers(8, 40)))
    buttons = Buttons(
        most_options=draw_value(st.integers(1, 120)),
        private=(alone, beside),
        group=(alone - 3, beside - 2),
    )
    more = Continuations(
        split=runs.split,
        size=size,
        most=draw_value(st.integers(1, 6)),
        options=draw_value(st.integers(200, 2_000)),
    )
    continued = draw_value(st.booleans())
    lengths = (Lengths(question=300, label=100, description=100), Lengths(question=200, label=12))
    last = Lengths(question=200, label=12, description=0, options=20, scale=4)
    return Capabilities(
        channel="any",
        write=runs.write,
        size=runs.width,
        card=size if continued else size + 8_000,
        lengths=(*lengths, last),
        approval_question=200,
        path=160,
        code=size // 2,
        ended_code=600,
        page=size,
        output=size // 2,
        buttons=draw_value(st.sampled_from([None, buttons])),
        continuations=more if continued else None,
        threads=draw_value(st.booleans()),
    )


@given(_capabilities(), asks(), seens)
def test_every_card_keeps_to_what_its_chat_takes(
    chat: Capabilities[Text], shown: Ask, seen: Seen
) -> None:
    card = build_card(shown, channel="any", later=later(shown))
    written, rows = draw_card(card, seen, chat)
    if not card.approval and card.view is not None:
        assert chat.size(written) <= chat.card + FRAME
    if chat.buttons is None:
        assert rows == ()
        return
    options = {choice.action for choice in card.choices[: chat.buttons.most_options]}
    assert len(keys(rows)) <= len(options) + len(card.buttons) + len(card.lines) + 1
    alone, _ = chat.buttons.private if seen.private else chat.buttons.group
    for row, _ in zip(rows, options, strict=False):
        assert all(columns(key.text) <= alone for key in row)
    for part in long_questions.overflow(shown, chat).leaflets:
        assert chat.continuations
        assert chat.size(part) <= chat.continuations.size + 100


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


def _squeezed(text: str) -> str:
    return "".join(text.split()).replace("\u2068", "").replace("\u2069", "").replace("```", "")


@given(st.just(ON_TELEGRAM) | _capabilities(), _wordy(), st.booleans())
def test_everything_an_agent_wrote_is_in_the_card_or_beside_it_or_the_card_says_where(
    chat: Capabilities[Text], shown: Ask, private: bool
) -> None:
    beside = long_questions.overflow(shown, chat)
    leaflets = [_characters(leaflet).partition("\n")[2] for leaflet in beside.leaflets]
    files = [file.content.decode() for file in (*beside.before, *beside.after)]
    for i, question in enumerate(shown.questions):
        draft = Draft(entries=shown.draft.entries, view=View.QUESTION, at=i)
        card = build_card(ask(*shown.questions, draft=draft), channel=chat.channel)
        drawn, rows = draw_card(card, Seen(private=private, now=0.0), chat)
        buttons = [key.text for key in keys(rows)]
        places = [_characters(drawn), "".join(leaflets), *files, *buttons]
        found = [_squeezed(place) for place in places]
        written = [question.text]
        for option in question.options if chat.continuations else ():
            written += [option.label, option.description or ""]
        for part in written:
            there = any(_squeezed(part) in place for place in found)
            assert there or _squeezed(long_questions.IN_THE_INBOX) in found[0], part
