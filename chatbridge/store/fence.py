"""Whether a hub may still write to a database that several hubs have: the row of the leader names
it, in the epoch of its lease.

The row's key is locked until the transaction ends. So transactions of all hubs come one after
another, and a take-over, which changes that key, waits for the one that is under way.
"""

from __future__ import annotations

from typing import NamedTuple

from chatbridge.core.errors import StoreError
from chatbridge.extras import Extra

POSTGRES = Extra("postgres", modules=("asyncpg",), package="asyncpg", title="PostgreSQL")


class Fence(NamedTuple):
    holder: str
    epoch: int

    @property
    def session(self) -> str:
        """What the sessions that write for this holder are called: who takes over ends those that
        are left, since one of a hub that stands still may have the row locked."""
        return f"chatbridge {self.holder}"


def held(fence: Fence) -> str:
    """The condition under which a hub may write, for a statement without parameters. The key's lock
    lets the beat of the lease be raised meanwhile."""
    holder = fence.holder.replace("'", "''")
    return (
        f"EXISTS (SELECT FROM leader WHERE holder = '{holder}' AND epoch = {fence.epoch:d}"
        " FOR KEY SHARE)"
    )


class Deposed(StoreError):
    """Another hub leads."""

    def __init__(self, called: str) -> None:
        super().__init__(
            f"{called}: nothing was written, because another hub leads now. Agents that wait are "
            "passed on to it"
        )
