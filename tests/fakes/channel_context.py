"""What a hub hands to a channel, for a channel without a hub."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

from chatbridge.channels.spec import ChannelContext
from chatbridge.core.pairing import Pairing
from chatbridge.core.ports import Clock


def channel_context(
    clock: Clock, *, hint: str = "", pairing: Pairing | None = None
) -> ChannelContext:
    """`hint` says where secrets are set."""
    nothing = cast("Any", None)
    return ChannelContext(
        clock=clock,
        state=Path(),
        health=nothing,
        pairing=pairing or Pairing(clock=clock),
        codes=nothing,
        announce=lambda address: None,
        hold=nullcontext,
        place_of=lambda *settings: hint,
    )
