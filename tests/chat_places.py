"""Hypothesis strategies for what is in a Matrix room of an ask."""

from __future__ import annotations

from hypothesis import strategies as st

from chatbridge.channels.chat.card_messages import BotReaction, CardMessages, Part
from chatbridge.core.forms import emoji_shortcuts
from chatbridge.core.model import View

EMOJIS = (*emoji_shortcuts.NUMBERS, *emoji_shortcuts.YES_NO, "✅", "⏭️", "↩️", "❌", "📄")


@st.composite
def places(draw: st.DrawFn, *, newest: int | None = None, questions: int = 3) -> CardMessages:
    """A place as hubs leave it: each message is for a later step than the one above it. `newest`
    is the latest step that one may be for."""
    last = 12 if newest is None else newest
    steps = draw(st.lists(st.integers(0, last), min_size=1, max_size=4, unique=True).map(sorted))
    return CardMessages(
        room="!room:example.org",
        parts=tuple(draw(_parts(step, questions)) for step in steps),
        raised=draw(st.integers(0, 2)),
        pages=draw(st.sampled_from([(), ("$page-0",), ("$page-0", "$page-1")])),
    )


@st.composite
def _parts(draw: st.DrawFn, step: int, questions: int) -> Part:
    emojis = draw(st.lists(st.sampled_from(EMOJIS), max_size=5, unique=True))
    return Part(
        event=f"$part-{step}",
        step=step,
        view=draw(st.sampled_from(View)),
        at=draw(st.integers(0, questions - 1)),
        shows=draw(st.text("0123456789abcdef", max_size=16)),
        seeds=tuple(BotReaction(emoji=emoji, event=f"$seed-{step}-{emoji}") for emoji in emojis),
    )
