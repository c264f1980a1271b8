"""Telling the owner something in several chats, once in each. One that cannot be told now keeps it
from none of the others."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

from chatbridge.core.errors import ChatbridgeError, RetryLater, TokenRejected
from chatbridge.core.ports import Remark

log = logging.getLogger(__name__)


async def tell_each(
    remark: Remark, chats: Sequence[tuple[str, Callable[[Remark], Awaitable[None]]]]
) -> None:
    """Chats by the names of their surfaces, and how each is told.

    :raises RetryLater: some have not been told; the others are noted in the remark.
    :raises TokenRejected: likewise.
    """
    later: RetryLater | None = None
    for name, tell in chats:
        if name in remark.told:
            continue
        try:
            await tell(remark)
        except RetryLater as error:
            later = error if later is None else min(later, error, key=_pause)
            continue
        except TokenRejected:
            raise
        except ChatbridgeError as error:
            log.info("%s was not told: %s", name, error)
        except Exception:
            log.exception("%s could not be told", name)  # and it would fail again
        remark.told.add(name)
    if later is not None:
        raise later


def _pause(error: RetryLater) -> float:
    return float("inf") if error.after is None else error.after
