"""The bot's question which ask a plain message is for, as it travels in the bot's own event."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.matrix.inbound.replies import Offer, from_content, to_content

asks = st.lists(st.tuples(st.text(), st.integers()), max_size=10).map(tuple)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.text(), asks)
def test_what_was_offered_is_read_back(text: str, offered: tuple[tuple[str, int], ...]) -> None:
    made = Offer(text=text, asks=offered)
    assert from_content(to_content(made)) == made


@given(st.dictionaries(st.sampled_from(["text", "asks"]), anything))
def test_whatever_is_in_an_event_is_an_offer_or_none(inside: dict[str, object]) -> None:
    found = from_content({"chatbridge.offer": inside})
    assert found is None or all(isinstance(ask, str) for ask, _ in found.asks)


def test_one_question_is_confirmed_and_of_several_one_is_chosen_by_its_number() -> None:
    one = Offer(text="$m", asks=(("a", 0),))
    assert one.chosen("👍🏽") == ("a", 0)
    assert one.chosen("1️⃣") is None
    two = Offer(text="$m", asks=(("a", 0), ("b", 3)))
    assert two.chosen("2⃣") == ("b", 3)
    assert two.chosen("3️⃣") is None
    assert two.chosen("👍") is None
