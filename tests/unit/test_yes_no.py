"""A typed yes or no: what counts as one, with which remark, and what is too doubtful to count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.forms.yes_no import NO, YES, YesNo, read_yes_no


@pytest.mark.parametrize("said", ["yes", " Yes ", "YES", "y", "yes.", "Yes!"])
def test_a_bare_yes_is_yes(said: str) -> None:
    assert read_yes_no(said) == YesNo(YES)


@pytest.mark.parametrize("said", ["no", "No", "n", "no.", "NO!"])
def test_a_bare_no_is_no(said: str) -> None:
    assert read_yes_no(said) == YesNo(NO)


@pytest.mark.parametrize(
    ("said", "option", "remark"),
    [
        ("yes, but back up first", YES, "but back up first"),
        ("Yes but back up first", YES, "but back up first"),
        ("yes but not the last one", YES, "but not the last one"),
        ("yes if the tests pass", YES, "if the tests pass"),
        ("y, go", YES, "go"),
        ("yes,go", YES, "go"),
        ("yes. Use tabs.", YES, "Use tabs."),
        ("yes! Use tabs", YES, "Use tabs"),
        ("yes: use tabs", YES, "use tabs"),
        ("yes - use tabs", YES, "use tabs"),
        ("yes—use tabs", YES, "use tabs"),
        ("yes\n\nuse tabs\nand spaces", YES, "use tabs\nand spaces"),
        ("yes please", YES, "please"),
        ("yes, please use tabs", YES, "please use tabs"),
        ("yes, but do not touch the wait loop", YES, "but do not touch the wait loop"),
        ("yes, and say no to the others", YES, "and say no to the others"),
        ("no, because it is live", NO, "because it is live"),
        ("No; ask Kim", NO, "ask Kim"),
        ("no, да", NO, "да"),
    ],
)
def test_words_after_a_clear_one_are_its_remark(said: str, option: int, remark: str) -> None:
    assert read_yes_no(said) == YesNo(option, remark)


@pytest.mark.parametrize(
    "said",
    [
        "",
        " ",
        "maybe",
        "1",
        "👍",
        "ok",
        "sure",
        "yes?",
        "yes!?",
        "yes, right?",
        "yes but why?",
        "no idea",
        "no problem",
        "no worries, go on",
        "no one",
        "no-one",
        "no-brainer",
        "yes-man",
        "y-axis",
        "y'all",
        "n/a",
        "n.b. see above",
        "no. 2",
        "No.2",
        "no: 1",
        "yes...",
        "yes… but",
        "yes,",
        "yes but",
        "yes, but",
        "yes, 👍",
        "yes, no",
        "yes, no, wait",
        "no, yes",
        "yes and no",
        "no, but yes",
        "yes, don't",
        "yes, don’t delete it",
        "yes, do not",
        "yes, never mind",
        "yes, please don't",
        "yes, please don’t touch it",
        "yes please do not",
        "yes, actually no",
        "yes, actually, stop",
        "yes, well, no",
        "Yes, I mean no.",
        "yes. On second thought, no!",
        "yes, I think not",
        "yes and then no",
        "yes, oh wait",
        "yes, hm, wait until tomorrow",
        "no, wait",
        "no, sorry, go on",
        "not yet",
        "nothing, but go on",
        "yesterday, but",
        "yes\u200b, go",
        "\u202eyes, go",
        "“yes, go”",
        "/yes, go",
        "I said yes, go",
    ],
)
def test_what_may_be_meant_otherwise_is_neither(said: str) -> None:
    assert read_yes_no(said) is None


@given(st.text())
def test_no_text_fails_and_a_remark_is_part_of_the_text(said: str) -> None:
    found = read_yes_no(said)
    assert found is None or found.remark is None or found.remark in said


@given(st.sampled_from(["yes", "no"]), st.text(min_size=1))
def test_a_question_mark_right_after_the_word_is_never_an_answer(word: str, rest: str) -> None:
    assert read_yes_no(f"{word}?{rest}") is None
