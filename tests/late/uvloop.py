"""Stands in for uvloop, whose events cannot be made late: the hub, and the tests' Bot API, run on
asyncio's own loop instead.
"""

from __future__ import annotations

from asyncio import new_event_loop, run

__all__ = ["new_event_loop", "run"]
