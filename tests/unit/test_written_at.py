"""Where a message to an agent was written: stored as a text, and read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.chat.message_status import WrittenAt


@given(
    st.builds(
        WrittenAt,
        room=st.text(),
        message=st.text(),
        topic=st.none() | st.text(),
        root=st.none() | st.text(),
    )
)
def test_a_place_is_read_as_it_was_stored(at: WrittenAt) -> None:
    assert WrittenAt.from_text(at.to_text()) == at


@pytest.mark.parametrize("text", ["", "room", "7", "[]", '["room", "1"]', "{}", "null", "[" * 99])
def test_what_is_no_place_is_none(text: str) -> None:
    assert WrittenAt.from_text(text) is None
