"""What was committed last, as it is in the file: most reads are of these asks, calls and posts.

The hub's lock makes this process the file's only writer, so nothing can change behind its back.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from chatbridge.core.model import Ask, Call, CallName, Post

LIMIT = 2_000
"""Of each kind; an ask takes about 5 KB."""
MAX_CHARACTERS = 20_000
"""A longer ask is read from the file: 2,000 of the longest would take a gigabyte."""

K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True)
class Changes:
    """What one transaction has written so far. None: the file has another text than was given."""

    asks: dict[str, Ask | None] = field(default_factory=dict)
    calls: dict[CallName, Call | None] = field(default_factory=dict)
    posts: dict[str, dict[str, Post] | None] = field(default_factory=dict)
    """All posts of an ask, by surface."""


class Recent:
    def __init__(self) -> None:
        self.asks: LruCache[str, Ask] = LruCache()
        self.calls: LruCache[CallName, Call] = LruCache()
        self.posts: LruCache[str, dict[str, Post]] = LruCache()

    def committed(self, changes: Changes) -> None:
        self.asks.take(changes.asks)
        self.calls.take(changes.calls)
        self.posts.take(changes.posts)

    def forget(self) -> None:
        self.asks = LruCache()
        self.calls = LruCache()
        self.posts = LruCache()


class LruCache(Generic[K, V]):
    """The last values put in, up to the limit."""

    def __init__(self) -> None:
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K, changed: dict[K, V | None]) -> V | None:
        """The value, in a transaction that has made these changes."""
        return changed[key] if key in changed else self._values.get(key)

    def take(self, changed: dict[K, V | None]) -> None:
        for key, value in changed.items():
            self._values.pop(key, None)
            if value is not None:
                self._values[key] = value
        while len(self._values) > LIMIT:
            self._values.popitem(last=False)
