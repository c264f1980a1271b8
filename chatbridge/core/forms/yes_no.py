"""Reads a typed yes or no, with a remark or without one.

Cautious: what could be meant otherwise is neither, and the person is asked.
"""

from __future__ import annotations

import re
from typing import NamedTuple

YES, NO = 0, 1
_WORDS = {"yes": YES, "y": YES, "no": NO, "n": NO}
_JOINED_BY = (
    "but|and|if|when|once|after|unless|until|only|as long as|provided|except|because|since|so|"
    "though|although|however"
)
_BREAK = re.compile(
    r"\s*(?:[,;!]|[.:](?=\s)|[–—]|-(?=\s)|\n)\s*"  # "no-one", "n.b." and "no:1" are no answers
    rf"|\s+(?=(?:{_JOINED_BY}|please|thanks|thank you)\b)",
    re.IGNORECASE,
)
_AGAINST = r"(?:yes|y|no|n|not|nope|never|don.?t|do not|stop|wait|hold on|cancel)\b"
_TURNS_ROUND = re.compile(
    rf"(?:{_JOINED_BY})\s*(?:\Z|(?:yes|y|no|n)\b)|"
    r"(?:(?:please|actually|rather|well|hm+|oh|uh|er|i mean)\b\W*)*"
    rf"(?:{_AGAINST}|(?:sorry|maybe|perhaps|\d)\b)",
    re.IGNORECASE,
)
_ENDS_AGAINST = re.compile(rf"\b{_AGAINST}\W*\Z", re.IGNORECASE)
"""What makes the word before it doubtful: "yes, no, wait", "yes and no", "no. 2", "yes, I mean
no"."""


class YesNo(NamedTuple):
    option: int
    remark: str | None = None


def read_yes_no(text: str) -> YesNo | None:
    """Return the option that a text clearly begins with, and what is said beside it; None if it is
    not clear. Never raises."""
    said = text.strip()
    bare = re.sub(r"(?<=\w)[.!]\Z", "", said).casefold()
    if bare in _WORDS:
        return YesNo(_WORDS[bare])
    first = re.match(r"[a-z]+", said, re.IGNORECASE | re.ASCII)
    option = _WORDS.get(first[0].casefold()) if first else None
    parted = _BREAK.match(said, first.end()) if first and option is not None else None
    if option is None or parted is None:
        return None
    remark = said[parted.end() :]
    turned = _TURNS_ROUND.match(remark) or _ENDS_AGAINST.search(remark)
    unclear = turned or remark.endswith("?") or not re.match(r"\w", remark)
    return None if unclear else YesNo(option, remark)
