"""Grams: no text with a term in it is left out, whatever the term is made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.store.grams import (
    MOST_GRAMS,
    MOST_TEXTS,
    beginning_of,
    grams_of,
    index_of,
    mask_of,
    places_in,
)

FEW = "aAbB iIİıßsSäÄa\u0308é\u0301.\n\0\ufffd🎉👩\u200d👧\U0010ffff%_'\""
"""So few that they meet again."""
TEXTS = st.lists(st.text(FEW, max_size=12) | st.text(max_size=12), min_size=1, max_size=30)


def found(texts: Sequence[str], term: str) -> set[int]:
    """Where the grams say that it may be."""
    stored = dict(index_of(texts))
    if grams := grams_of(term):
        masks = [mask_of(stored.get(gram, b"")) for gram in grams]
        return set(places_in(reduce(and_, masks)))
    first, last = beginning_of(term)
    masks = [mask_of(places) for gram, places in stored.items() if first <= gram <= last]
    return set(places_in(reduce(or_, masks, 0)))


@given(TEXTS, st.data())
def test_no_text_with_the_term_is_left_out(texts: list[str], data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([text for text in texts if text] or ["-"]))
    start = data.draw(st.integers(0, len(text) - 1))
    term = text[start : data.draw(st.integers(start + 1, len(text)))]
    assert found(texts, term) >= {place for place, each in enumerate(texts) if term in each}


@given(TEXTS, st.text(FEW, min_size=1, max_size=3))
def test_a_term_of_up_to_three_characters_is_found_exactly(texts: list[str], term: str) -> None:
    # A text cannot be told from the nothing after it, if it ends with the very character for that.
    if "\0" not in term:
        assert found(texts, term) == {place for place, each in enumerate(texts) if term in each}


def test_as_many_texts_as_there_may_be_are_told_apart_by_rare_and_by_frequent_grams() -> None:
    texts = [f"text {number} of many" for number in range(MOST_TEXTS)]
    assert found(texts, "text 77") == {77, *range(770, 780)}
    assert found(texts, "t 999") == {999}
    assert found(texts, "of many") == set(range(MOST_TEXTS))
    assert found(texts, "any!") == set()


def test_of_a_long_term_a_few_grams_from_all_over_it_are_looked_for() -> None:
    term = "".join(map(chr, range(1000, 1100)))
    grams = grams_of(term)
    assert len(grams) <= MOST_GRAMS
    assert found([term, term[:50], term[50:]], term) == {0}
