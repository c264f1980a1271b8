"""What a service brings, one thing after the other, each dealt with once.

One that cannot be dealt with is passed over: it would fail again and again, and nothing after it
would ever be read.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from chatbridge.core.errors import ChatbridgeError, RetryLater, StoreError, TokenRejected

log = logging.getLogger(__name__)


class Once:
    def __init__(self, kind: str, *, tries: int) -> None:
        """`kind` is what such a thing is called in the log; `tries`, how often one is tried that
        fails for want of a connection."""
        self._kind = kind
        self._tries = tries
        self._tried: tuple[object, int] = (None, 0)
        self._doubtful: object = None

    async def deal_with(
        self,
        name: object,
        take: Callable[[], Awaitable[None]],
        *,
        committed: Callable[[], Awaitable[bool]],
    ) -> bool:
        """False: it was given up for want of a connection. `committed` is asked if storing it has
        failed before: perhaps only something after the effect did.

        :raises StoreError: it has to come again.
        :raises RetryLater: likewise.
        :raises TokenRejected:
        """
        if self._doubtful == name and await committed():
            return True
        try:
            await take()
        except TokenRejected:
            raise
        except StoreError:
            self._doubtful = name
            raise
        except RetryLater as error:
            if self.may_be_tried_again(name):
                raise
            log.warning("%s %s was passed over: %s", self._kind, name, error)
            return False
        except ChatbridgeError as error:
            log.warning("%s %s was passed over: %s", self._kind, name, error)
        except Exception:
            log.exception("%s %s was passed over", self._kind, name)
        return True

    def may_be_tried_again(self, name: object) -> bool:
        """Said of one that has failed. Only the last one's tries are counted."""
        known, count = self._tried
        self._tried = (name, count + 1 if known == name else 1)
        return self._tried[1] < self._tries
