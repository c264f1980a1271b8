"""Which JSON-RPC request ids are accepted. Standard library only: links check them, too.

MCP allows strings and integers. The SDK takes a request with any other id for a notification and
never answers it, so such an id has to be refused before the SDK sees the message.
"""

from __future__ import annotations

LONGEST_STRING = 1000
LARGEST_INTEGER = 2**64 - 1
"""Clients that count or draw 64 bits at random stay below."""
PROBLEM = f"an id is a string of at most {LONGEST_STRING:,} characters or a 64-bit whole number"


def is_request_id(value: object) -> bool:
    """Whether a response can carry the same id back."""
    if type(value) is int:
        return abs(value) <= LARGEST_INTEGER
    return isinstance(value, str) and len(value) <= LONGEST_STRING and _is_unicode(value)


def has_bad_id(message: object) -> bool:
    """Whether this is a request that cannot be answered under its id."""
    if not isinstance(message, dict) or "method" not in message or "id" not in message:
        return False
    return not is_request_id(message["id"])


def _is_unicode(text: str) -> bool:
    """Half a surrogate pair is replaced on the way, and the response would have another id."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
