"""Rows of buttons and the labels that fit on them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.capabilities import Seen
from chatbridge.channels.chat.document import Rows
from chatbridge.channels.chat.keyboard import (
    columns,
    fitted,
    is_picked,
    label_of,
    needs_list,
    option_keys,
    rows,
)
from chatbridge.channels.telegram.render.card import TELEGRAM
from chatbridge.core.forms import filling, form
from chatbridge.core.model import Ask
from tests.telegram_asks import NOW, ask, card, keys, labels, select, text


def drawn(shown: Ask, *, private: bool = True, now: float = NOW, prompted: bool = False) -> Rows:
    seen = Seen(private=private, now=now, prompted=prompted)
    assert TELEGRAM.buttons
    listed = needs_list(card(shown), TELEGRAM, private=private)
    return rows(card(shown), seen, TELEGRAM.buttons, listed=listed)


@pytest.mark.parametrize(
    ("label", "cut"),
    [
        ("PostgreSQL in Docker", "PostgreSQL in Docker"),
        ("2 · Keep SQLite, mark the two tests as skipped", "2 · Keep SQLite, mark the two…"),
        ("Testcontainers with a shared server", "Testcontainers with a shared…"),
        ("Short, averyveryverylongwordthatgoeson", "Short, averyveryverylongwordt…"),
        ("日本語の質問はここにありますが、とても長い", "日本語の質問はここにあります…"),
        ("x" * 30, "x" * 30),
        ("x" * 31, "x" * 29 + "…"),
    ],
)
def test_a_label_is_cut_at_a_word_if_that_keeps_enough(label: str, cut: str) -> None:
    assert fitted(label, 30) == cut


@given(st.text(min_size=1), st.sampled_from([7, 8, 12, 14, 27, 30]))
def test_no_label_is_wider_than_its_button(label: str, limit: int) -> None:
    assert columns(fitted(label, limit)) <= limit
    assert len(fitted(label, limit)) <= 3 * limit + 1


def test_wide_characters_count_twice_and_marks_not_at_all() -> None:
    assert columns("日a") == 3
    assert columns("e\u0301") == 1


def test_short_options_go_two_a_row_and_one_long_one_parts_them() -> None:
    short = ask(select("Where?", "staging", "production", "neither"))
    assert labels(drawn(short))[:3] == [["staging", "production"], ["neither"], ["Other…"]]
    longer = ask(select("Where?", "staging", "production", "neither of the two"))
    assert labels(drawn(longer))[:2] == [["staging"], ["production"]]


def test_a_group_has_less_room() -> None:
    shown = ask(select("Where?", "thirteen chars", "b"))
    assert len(drawn(shown)[0]) == 2
    assert len(drawn(shown, private=False)[0]) == 1
    assert not needs_list(card(ask(select("Q?", "x" * 30))), TELEGRAM, private=True)
    assert needs_list(card(ask(select("Q?", "x" * 30))), TELEGRAM, private=False)


def test_with_descriptions_every_button_repeats_its_number() -> None:
    shown = ask(select("Which?", "PostgreSQL (recommended) | slower", "SQLite"))
    assert labels(drawn(shown))[0] == ["1 · PostgreSQL", "2 · SQLite"]


def test_a_recommendation_stays_on_the_button_where_it_fits() -> None:
    shown = ask(select("Which?", "PostgreSQL (recommended)", "SQLite"))
    assert labels(drawn(shown))[:2] == [["PostgreSQL (recommended)"], ["SQLite"]]


@pytest.mark.parametrize(
    "given", [("a", "A"), ("Cancel…", "b"), ("Other…", "b"), ("Ask back…", "b")]
)
def test_options_that_read_alike_or_like_our_own_are_numbered(given: tuple[str, ...]) -> None:
    found = labels(drawn(ask(select("Which?", *given))))
    first = [label for row in found for label in row if label.startswith(("1 · ", "2 · "))]
    assert len(first) == 2


def test_an_option_whose_label_shows_nothing_goes_by_its_number() -> None:
    shown = card(ask(select("Which?", "\u2800", "c")))
    assert [label_of(choice) for choice in shown.choices] == ["Option 1", "c"]


def test_options_that_differ_only_in_what_is_not_seen_are_not_two_of_the_same_buttons() -> None:
    found = labels(drawn(ask(select("Which?", "v1", "v1\ufe0f", "v1 ", "\u2800"))))
    shown = [label for row in found for label in row][:4]
    assert shown == ["v1", "v1⟨U+FE0F⟩", "v1⟨1 space⟩", "⟨U+2800⟩"]


def test_rows_stand_in_the_order_of_the_thumb() -> None:
    release = (select("Branch?", "main", "release/2.4"), select("Checks?", "Unit", multi=True))
    shown = ask(replace(release[1], required=False), release[0])
    assert labels(drawn(shown, now=NOW + 3000)) == [
        ["☐ Unit"],
        ["Other…"],
        ["Skip", "Done (0)"],
        ["More time…", "Ask back…", "Cancel…"],
    ]
    moved = filling.advance(shown.questions, shown.draft, form.Skip(step=0))
    assert isinstance(moved, form.Moved)
    second = replace(shown, draft=moved.draft)
    assert labels(drawn(second)) == [
        ["main", "release/2.4"],
        ["Other…"],
        ["‹ Back"],
        ["More time…", "Ask back…", "Cancel…"],
    ]


def test_colour_is_for_what_is_picked_and_for_what_sends() -> None:
    shown = ask(select("Checks?", "Unit tests", "Load test", multi=True))
    styles = {key.text[-9:]: key.style for key in keys(drawn(shown))}
    assert set(styles.values()) == {None}
    for event in (form.Toggle(step=0, option=0, on=True), form.Text(text="smoke\ntest")):
        moved = filling.advance(shown.questions, shown.draft, event)
        assert isinstance(moved, form.Moved)
        shown = replace(shown, draft=moved.draft)
    found = {key.text: key.style for key in keys(drawn(shown))}
    assert found == {
        "☑\ufe0e Unit tests": "success",
        "☐\ufe0e Load test": None,
        "☑\ufe0e Other: smoke test": "success",
        "Done (2)": "primary",
        "More time…": None,
        "Ask back…": None,
        "Cancel…": None,
    }


def test_options_can_be_a_list_of_the_service_that_has_boxes_of_its_own() -> None:
    shown = ask(select("Checks?", "Unit tests", "Load test", multi=True))
    moved = filling.advance(shown.questions, shown.draft, form.Toggle(step=0, option=1, on=True))
    assert isinstance(moved, form.Moved)
    assert TELEGRAM.buttons
    buttons = replace(TELEGRAM.buttons, boxes=False)
    found = rows(card(replace(shown, draft=moved.draft)), Seen(now=NOW), buttons, listed=False)
    options, others = option_keys(found)
    assert [(key.text, is_picked(key)) for key in options] == [
        ("Unit tests", False),
        ("Load test", True),
    ]
    assert "Done (1)" in [key.text for row in others for key in row]
    assert sum(map(len, others)) + len(options) == sum(map(len, found))


LAST = ["More time…", "Ask back…", "Cancel…"]


def test_write_answer_goes_once_the_prompt_is_out() -> None:
    shown = ask(text("What?", required=False))
    assert labels(drawn(shown)) == [["Write answer…"], ["Skip"], LAST]
    assert labels(drawn(shown, prompted=True)) == [["Skip"], LAST]


def test_of_a_hundred_options_ninety_have_buttons() -> None:
    shown = ask(select("Which?", *(f"number {i}" for i in range(100))))
    found = keys(drawn(shown))
    assert len(found) == 94
    assert found[89].text == "90 · number 89"


def test_right_to_left_words_do_not_turn_our_number_around() -> None:
    shown = ask(select("Which?", "להשאיר SQLite | כן", "PostgreSQL"))
    found = [key.text for key in keys(drawn(shown))]
    assert found[:2] == ["1 · \u2068להשאיר SQLite\u2069", "2 · PostgreSQL"]
