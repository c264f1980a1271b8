"""Addresses in agents' texts: where they are, and which of them a person may open.

Owns no markup. Only an address whose every character says what it is can be opened, and a page of
ours shows it first. Others stay text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

MAX_ADDRESS = 2_000

_FOUND = re.compile(r"https?://[^\s<>\"`⟨⟩]+", re.IGNORECASE)
_PARTS = re.compile(
    r"(?P<scheme>https?)://(?P<host>[^/?#@:\\]{1,253}|\[[0-9a-f:.]+\])(?P<port>:[0-9]{1,5})?"
    r"(?P<rest>[/?#][^\\]*)?",
    re.IGNORECASE,
)
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\]")
_ASCII = "".join(map(chr, range(0x21, 0x7F)))
_AFTER = ".,;:!?'*_"
_PAIRS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True)
class Address:
    text: str
    """In ASCII, as the browser uses it: no letter of another script passes for a Latin one."""
    host: str

    @property
    def page(self) -> str:
        """Of ours, which shows it before it is opened."""
        return f"/address?to={quote(self.text, safe='')}"


def parse_address(text: str) -> Address | None:
    """None if it cannot be opened. A name before an `@`, a backslash and encoded letters in the
    host make an address look like another one; `⟨U+202E⟩` stands for what is not to be seen."""
    found = _PARTS.fullmatch(text) if len(text) <= MAX_ADDRESS else None
    if not found or not set(text).isdisjoint("⟨⟩") or not text.isprintable() or " " in text:
        return None
    try:
        host = found["host"].encode("idna").decode().lower()
    except UnicodeError:
        return None
    if not _HOST.fullmatch(host):
        return None
    rest = quote(found["rest"] or "/", safe=_ASCII)
    return Address(f"{found['scheme'].lower()}://{host}{found['port'] or ''}{rest}", host)


def split_addresses(text: str) -> Iterator[tuple[str, Address | None]]:
    """The parts of a plain text; what can be opened is one by itself."""
    at = 0
    for found in _FOUND.finditer(text):
        shown = _without_punctuation(found[0][: MAX_ADDRESS + 1])
        if address := parse_address(shown):
            yield text[at : found.start()], None
            yield shown, address
            at = found.start() + len(shown)
    yield text[at:], None


def _without_punctuation(address: str) -> str:
    """What ends a sentence, or a bracket around it, is no part of an address."""
    alone = {last: address.count(last) - address.count(first) for last, first in _PAIRS.items()}
    end = len(address)
    while (last := address[end - 1]) in _AFTER or alone.get(last, 0) > 0:
        if last in alone:
            alone[last] -= 1
        end -= 1
    return address[:end]
