"""Grams, and in which of a thousand texts each is: three characters in a row, as one number.

The last two characters of a text begin a gram, too, with nothing after them: so a term of one or
two characters is the beginning of a gram wherever it stands. Pure functions.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence

MOST_TEXTS = 1_000
"""What is stored depends on it: a bit for each is an odd number of bytes, which tells them from
places of two bytes each."""
MOST_GRAMS = 8  # Of a term: more would exclude little

GRAM, CODE_BITS = 3, 21
BIT_BYTES = MOST_TEXTS // 8


def index_of(texts: Sequence[str]) -> list[tuple[int, bytes]]:
    """Each gram, and in which of the texts it is."""
    masks: dict[str, int] = defaultdict(int)
    for place, text in enumerate(texts):
        padded, bit = text + "\0" * (GRAM - 1), 1 << place
        for gram in {padded[at : at + GRAM] for at in range(len(text))}:
            masks[gram] |= bit
    return sorted((_number(gram), _stored(mask)) for gram, mask in masks.items())


def grams_of(term: str) -> list[int]:
    """Grams that are in every text with this term: some of its own, from all over it. None: it is
    too short to have one."""
    grams = [*dict.fromkeys(term[at : at + GRAM] for at in range(len(term) - GRAM + 1))]
    return [_number(gram) for gram in grams[:: -(-len(grams) // MOST_GRAMS) or 1]]


def beginning_of(term: str) -> tuple[int, int]:
    """The first and the last gram that can begin with this short term. A text with the term has one
    of them."""
    return _number(term.ljust(GRAM, "\0")), _number(term.ljust(GRAM, chr(0x10FFFF)))


def mask_of(stored: bytes) -> int:
    """A bit for each text."""
    if len(stored) == BIT_BYTES:
        return int.from_bytes(stored, "little")
    return sum(1 << place for (place,) in struct.iter_unpack("<H", stored))


def places_in(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _number(gram: str) -> int:
    first, second, third = map(ord, gram)
    return first << 2 * CODE_BITS | second << CODE_BITS | third


def _stored(mask: int) -> bytes:
    if 2 * mask.bit_count() < BIT_BYTES:
        places = [*places_in(mask)]
        return struct.pack(f"<{len(places)}H", *places)
    return mask.to_bytes(BIT_BYTES, "little")
