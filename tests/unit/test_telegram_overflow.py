"""What does not fit a card is sent beside it."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.channels.telegram.render.card import Overflow, draw_card, overflow
from chatbridge.core.model import Answer
from tests.telegram_asks import PRIVATE, ask, card, read_plainly, select, text

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
    card_text = read_plainly(draw_card(card(shown), PRIVATE).html)
    assert "Which one?\n\nLorem" in card_text
    assert "The whole question is above.\n\n1. this\n2. that\nor so" in card_text
    assert len(card_text) < 500


def test_one_leaflet_needs_no_number() -> None:
    shown = ask(text("Short?"), text(PARAGRAPH * 4))
    found = overflow(shown)
    (leaflet,) = found.leaflets
    assert read_plainly(leaflet).startswith("Question 2 for shop-api\n\nLorem")
    assert found.questions == [1]


def test_more_than_four_messages_are_one_file() -> None:
    shown = ask(select(PARAGRAPH * 30 + "\u202e", "a | why a", "b (recommended)"))
    found = overflow(shown)
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
    assert "Used if nobody answers by" in draw_card(card(ask(declared)), PRIVATE).html


def test_a_hundred_long_options_are_shortened_in_the_card_and_whole_before_it() -> None:
    shown = ask(select("Which?", *(f"number {i} {'x' * 60}" for i in range(100))))
    card_text = read_plainly(draw_card(card(shown), PRIVATE).html)
    assert "100. number 99 x…" in card_text
    assert "Options 91 to 100: reply with the number." in card_text
    whole = "".join(read_plainly(leaflet) for leaflet in overflow(shown).leaflets)
    assert f"100. number 99 {'x' * 60}" in whole


def test_a_long_description_folds_and_a_short_one_stays_one_line() -> None:
    shown = ask(select("Which?", f"a | {'word ' * 30}", "b | one\n2. two"))
    html = draw_card(card(shown), PRIVATE).html
    assert "<blockquote expandable>word word" in html
    assert "\none 2. two\n" in html
