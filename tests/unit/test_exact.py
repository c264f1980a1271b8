"""Text to the letter: nothing hides, nothing gets out of sight, and no two texts look the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbridge.core.exact_text import LEFT_TO_RIGHT, TAB, distinguish_labels, exact, exact_line
from chatbridge.core.text import SLICE_CHARACTERS

HOSTILE = st.text(
    st.sampled_from(
        "a;é⟨⟩U+0× 12,spaces\n\r\t\u00a0\u2003\u2800\ufffc\u3164\u200b\u200d\u202e\ufe0f\u0301"
        f"\u0327\u037e\u1100\u1161\u212a\ufdd0\U0001d159\U000e0041{TAB}"
    )
    | st.sampled_from([" ", "\n"])
    | st.characters(codec="utf-8"),
    max_size=60,
)
TURNING = st.text(f"\u05d0\u05d1\u05b0\u0628\u0661/(1a \n\u00a0{LEFT_TO_RIGHT}", max_size=20)
PADDED = st.lists(
    HOSTILE
    | TURNING
    | st.builds(
        lambda blank, times: blank * times, st.sampled_from(" \n\u2800\t"), st.integers(1, 200)
    ),
    max_size=6,
).map("".join)


def read_back(shown: str) -> str:
    """The text that was drawn: whoever reads carefully knows every character of it."""

    def number(text: str) -> int:
        return int(text.replace(",", ""))

    def said(found: re.Match[str]) -> str:
        if found["spaces"]:
            return " " * number(found["spaces"])
        if found["breaks"]:
            return "\n" * number(found["breaks"])
        if found["lines"]:
            return "\n" * (number(found["lines"]) + 1)
        return chr(int(found["code"], 16)) * number(found["times"] or "1")

    text = re.sub(
        r" ⟨(?P<inner>[\d,]+) spaces⟩ (?!\n|\Z)", lambda it: f"⟨{it['inner']} spaces⟩", shown
    )
    text = text.replace(TAB, "\t").replace(LEFT_TO_RIGHT, "")
    return re.sub(
        r"⟨(?P<spaces>[\d,]+) spaces?⟩|⟨(?P<breaks>[\d,]+) line breaks?⟩"
        r"|\n⟨(?P<lines>[\d,]+) empty lines⟩\n"
        r"|⟨U\+(?P<code>[0-9A-F]+)(?: × (?P<times>[\d,]+))?⟩",
        said,
        text,
    )


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("cd build\r\nrm -rf ./*", "cd build⟨U+000D⟩\nrm -rf ./*"),
        ("rm 1\ufe0f", "rm 1⟨U+FE0F⟩"),
        ("rm a\u00a0b", "rm a⟨U+00A0⟩b"),
        ("a\tb", "a⇥b"),
        ("ls" + "\u2800" * 2_500 + "; rm", "ls⟨U+2800 × 2,500⟩; rm"),
        ("\ufffc\U0001d159\u3164\u115f\u303f", "⟨U+FFFC⟩⟨U+1D159⟩⟨U+3164⟩⟨U+115F⟩⟨U+303F⟩"),
        ("\u202e\u200d\u2028\U000e0041\ud800", "⟨U+202E⟩⟨U+200D⟩⟨U+2028⟩⟨U+E0041⟩⟨U+D800⟩"),
        ("a\u037eb\u1fefc\u212a", "a⟨U+037E⟩b⟨U+1FEF⟩c⟨U+212A⟩"),
        ("/\u0338 \u0301 1\u20e3", "/⟨U+0338⟩ ⟨U+0301⟩ 1⟨U+20E3⟩"),
        ("e\u0301", "e⟨U+0301⟩"),
        ("ж" + "\u0316" * 10, "ж" + "\u0316" * 8 + "⟨U+0316⟩⟨U+0316⟩"),
        ("ж\u17d2 é\u0591 ж\u0301\u0591", "ж⟨U+17D2⟩ é⟨U+0591⟩ ж\u0301⟨U+0591⟩"),
        ("rm a\u17d2 b\u2d7f", "rm a⟨U+17D2⟩ b⟨U+2D7F⟩"),
        ("⟨U+00A0⟩ ⇥", "⟨U+27E8⟩U+00A0⟩ ⟨U+21E5⟩"),
        ("ls " + " " * 1_999 + "; rm -rf ~", "ls ⟨2,000 spaces⟩ ; rm -rf ~"),
        ("rm a\\ \nls  \n\n", "rm a\\⟨1 space⟩\nls⟨2 spaces⟩⟨2 line breaks⟩"),
        ("\n ls", "⟨1 line break⟩ ls"),
        ("ls" + "\n" * 61 + "rm", "ls\n⟨60 empty lines⟩\nrm"),
    ],
)
def test_what_is_not_plainly_visible_is_told(code: str, shown: str) -> None:
    assert exact(code) == shown


@pytest.mark.parametrize(
    "code",
    [
        "if x:\n\n\n" + " " * 40 + "y\n" * 50 + "z",
        "echo 'Grüße, Ünal — café №5 €' > ~/Übersicht.txt && true",
        "שלום עולם, مرحبا; 日本語 한국어 Việt क्ष ที่นี่ बातचीत",
        "בְּרֵאשִׁ֖ית",
        "🙂 → ☑ ×",
    ],
)
def test_what_is_plainly_visible_stays(code: str) -> None:
    assert exact(code).replace(LEFT_TO_RIGHT, "") == code


def test_a_long_text_is_shown_like_a_short_one() -> None:
    text = "if x:\n    run(y)\n" * 4_000 + "\u0915\u093f" * 20_000 + "z"
    assert exact(text) == text


@settings(max_examples=20)
@given(PADDED, st.integers(0, 40))
def test_wherever_a_long_text_is_cut_it_can_be_read_back(text: str, before: int) -> None:
    long = "a" * before + text * (2 * SLICE_CHARACTERS // max(len(text), 1))
    assert read_back(exact(long)) == long


@pytest.mark.parametrize("drawn", [exact, exact_line])
@given(TURNING | HOSTILE)
def test_letters_from_right_to_left_turn_nothing_around(
    drawn: Callable[[str], str], text: str
) -> None:
    """They stand between two marks with nothing else. So by the rules of Unicode all else, numbers
    and brackets too, has only text from left to right beside it, and stays where it is."""
    turning = {"R", "AL", "AN"}
    for line in drawn(text).split("\n"):
        for at, part in enumerate(line.split(LEFT_TO_RIGHT)):
            kinds = {unicodedata.bidirectional(char) for char in part}
            assert kinds <= turning | {"NSM"} if at % 2 else kinds.isdisjoint(turning)


def test_a_path_with_letters_from_right_to_left_keeps_its_order() -> None:
    assert exact_line("/p/\u05d0\u05d1/1") == "/p/\u200e\u05d0\u05d1\u200e/1"
    assert exact("1/\u0628\u064e\u0661 \u200e") == "1/\u200e\u0628\u064e\u0661\u200e ⟨U+200E⟩"


@given(PADDED)
def test_no_two_texts_look_the_same(text: str) -> None:
    assert read_back(exact(text)) == text


@given(PADDED)
def test_no_two_lines_look_the_same_and_none_is_two(text: str) -> None:
    shown = exact_line(text)
    assert read_back(shown) == text
    assert shown == " ".join(shown.split())


@given(PADDED)
def test_what_is_shown_is_visible_and_no_blank_fills_a_screen(text: str) -> None:
    shown = exact(text)
    kinds = {unicodedata.category(char)[0] for char in set(shown) - {LEFT_TO_RIGHT}} - {"Z"}
    assert kinds <= set("LMNPS") | ({"C"} if "\n" in shown else set())
    assert not re.search(r"[^\S \n]| {80}| \n|\n{11}|\A\n|\s\Z", shown)


@given(HOSTILE)
def test_what_unicode_calls_the_same_does_not_look_the_same(text: str) -> None:
    for form in ("NFC", "NFD"):
        other = unicodedata.normalize(form, text)
        assert other == text or unicodedata.normalize("NFC", exact(other)) != unicodedata.normalize(
            "NFC", exact(text)
        )


def test_labels_that_look_alike_are_told_apart_and_others_stay() -> None:
    assert distinguish_labels(["1\ufe0f", "1", "1⟨U+FE0F⟩"]) == [
        "1⟨U+FE0F⟩",
        "1",
        "1⟨U+27E8⟩U+FE0F⟩",
    ]
    assert distinguish_labels(["❤\ufe0f Love", "Yes ", "yes"]) == ["❤\ufe0f Love", "Yes", "yes"]
    assert distinguish_labels(["a b", "a\u00a0b", "a  b"]) == ["a b", "a⟨U+00A0⟩b", "a⟨2 spaces⟩b"]
    assert distinguish_labels(["é", "e\u0301"]) == ["é", "e⟨U+0301⟩"]
    assert distinguish_labels(["\u2800", "\ufffc"]) == ["⟨U+2800⟩", "⟨U+FFFC⟩"]
    assert distinguish_labels(["\u05d0/1", "1/\u05d0"]) == [
        "\u200e\u05d0\u200e/1",
        "1/\u200e\u05d0\u200e",
    ]
    assert distinguish_labels(["\u05d0", "\u05d1"]) == ["\u05d0", "\u05d1"]


@given(st.lists(HOSTILE | TURNING, max_size=4, unique=True))
def test_labels_that_differ_look_different(labels: list[str]) -> None:
    shown = distinguish_labels(labels)
    assert len({_without_blanks(label) for label in shown}) == len(labels)


def _without_blanks(label: str) -> str:
    """As people see it, who do not count blanks, hidden characters and forms of a letter."""
    seen = "".join(char for char in label if char == "⟨" or char in exact_line(char))
    return "".join(unicodedata.normalize("NFC", seen).split())


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (" src/x", "⟨1 space⟩src/x"),
        ("/p/ src/x", "/p/ src/x"),
        ("/p/x\n", "/p/x⟨U+000A⟩"),
        ("/p/x ", "/p/x⟨1 space⟩"),
        ("/p/a  b", "/p/a⟨2 spaces⟩b"),
    ],
)
def test_a_path_is_verbatim(path: str, shown: str) -> None:
    assert exact_line(path) == shown
