"""Whether a hub may still write to a database that several hubs have: the row of the leader names
it, in the epoch of its lease.

The row's key is locked until the transaction ends. So transactions of all hubs come one after
another, and a take-over, which changes that key, waits for the one that is under way.
"""

from __future__ import annotations

from typing import NamedTuple

from chatbridge.core.errors import StoreError
from chatbridge.extras import Extra

POSTGRES = Extra("postgres", modules=("asyncpg",), package="asyncpg")

HELD = """
    SELECT pg_current_xact_id()::text FROM leader WHERE holder = $1 AND epoch = $2 FOR KEY SHARE
"""


class Fence(NamedTuple):
    holder: str
    epoch: int

    @property
    def session(self) -> str:
        """What the sessions that write for this holder are called: who takes over ends those that
        are left, since one of a hub that stands still may have the row locked."""
        return f"chatbridge {self.holder}"


class Deposed(StoreError):
    """Another hub leads."""

    def __init__(self, called: str) -> None:
        super().__init__(
            f"{called}: nothing was written, because another hub leads now. Agents that wait are "
            "passed on to it"
        )
