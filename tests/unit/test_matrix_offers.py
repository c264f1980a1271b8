"""The bot's question which ask a plain message is for, as it travels in the bot's own event."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.matrix.inbound.replies import Offer, Use, from_content, to_content

uses = st.builds(Use, st.text(), st.integers(), st.sampled_from([None, 0, 1]))
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.text(), st.lists(uses, max_size=10))
def test_what_was_offered_is_read_back(text: str, offered: list[Use]) -> None:
    made = Offer(text=text, uses=tuple(offered))
    assert from_content(to_content(made)) == made


@given(st.dictionaries(st.sampled_from(["text", "asks"]), anything))
def test_whatever_is_in_an_event_is_an_offer_or_none(inside: dict[str, object]) -> None:
    found = from_content({"chatbridge.offer": inside})
    assert found is None or all(isinstance(use.ask, str) for use in found.uses)


def test_an_option_that_is_neither_yes_nor_no_is_not_offered() -> None:
    for option in (2, -1, True, "0", [0]):
        asks = [{"ask": "a", "step": 0, "option": option}]
        assert from_content({"chatbridge.offer": {"text": "$m", "asks": asks}}) == Offer(
            text="$m", uses=()
        )


def test_one_question_is_confirmed_and_of_several_one_is_chosen_by_its_number() -> None:
    one = Offer(text="$m", uses=(Use("a", 0),))
    assert one.chosen("👍🏽") == Use("a", 0)
    assert one.chosen("1️⃣") is None
    two = Offer(text="$m", uses=(Use("a", 0), Use("b", 3)))
    assert two.chosen("2⃣") == Use("b", 3)
    assert two.chosen("3️⃣") is None
    assert two.chosen("👍") is None


def test_a_remark_is_for_a_yes_or_a_no() -> None:
    made = Offer(text="$m", uses=(Use("a", 2, 0), Use("a", 2, 1)))
    assert made.chosen("👎") == Use("a", 2, 1)
    assert made.chosen("👍") == Use("a", 2, 0)
    assert made.chosen("1️⃣") is None
