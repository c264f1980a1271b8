"""What a Matrix room can do, and how much a message of it takes."""

from __future__ import annotations

from chatbridge.channels.chat.capabilities import Capabilities, Files, Lengths
from chatbridge.channels.matrix.render.html import LIMIT, Words, size, write

MATRIX: Capabilities[Words] = Capabilities(
    channel="matrix",
    write=write,
    size=size,
    card=LIMIT,
    lengths=(
        Lengths(question=22_000, description=10_000),
        Lengths(question=12_000, description=2_000),
        Lengths(question=8_000, label=200, description=300),
        Lengths(question=4_000, label=100, description=120, scale=2),
        Lengths(question=4_000, label=100, description=0, scale=2),
        Lengths(question=4_000, label=40, description=0, scale=4),
        Lengths(question=4_000, label=12, description=0, scale=4),
        Lengths(question=2_000, label=40, description=0, options=40, scale=4),
        Lengths(question=2_000, label=20, description=0, options=20, scale=4),
    ),
    approval_question=2_000,
    path=1_500,
    code=18_000,
    ended_code=6_000,
    page=LIMIT - 1_000,
    root_code=3_000,
    output=20_000,
    threads=True,
    files=Files(largest=100 * 1_000_000),  # a homeserver may take less, and says so
)
