"""What has become of messages to agents, said in the chat in which each was written.

Owns which of them the chat does not show yet. The store has the newest state and where it is shown.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from chatbridge.core.errors import PostGone
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.ports import Shown, Surface
from chatbridge.core.store_port import Store

Unrecorded = dict[str, tuple[Shown, int]]
"""By message: what is shown, and which revision, if that is not stored yet."""


@dataclass(slots=True, eq=False)
class MessagePosts:
    surface: Surface
    store: Store
    unrecorded: Unrecorded
    _pending: OrderedDict[str, OwnerMessage] = field(default_factory=OrderedDict)

    def add(self, message: OwnerMessage) -> bool:
        """Queue its newest state, if it was written here. Return whether it was."""
        here = message.surface == self.surface.name
        if here:
            self._pending[message.id] = message
        return here

    @property
    def due(self) -> bool:
        return bool(self._pending)

    @property
    def next_id(self) -> str:
        return next(iter(self._pending))

    def drop(self, message_id: str) -> None:
        self._pending.pop(message_id, None)

    async def show_next(self) -> Shown | None:
        """Bring one of them up to date. Return what was done, if anything was.
        :raises ChatbridgeError: it is not done, and stays queued."""
        message_id, queued = next(iter(self._pending.items()))
        shown = await self._show(message_id)
        if self._pending.get(message_id) is queued and (shown is None or shown.complete):
            del self._pending[message_id]  # unless another change has come meanwhile
        return shown

    async def _show(self, message_id: str) -> Shown | None:
        if message_id in self.unrecorded:
            await self._record(message_id, *self.unrecorded[message_id])
        message = await self.store.message(message_id)
        if message is None or message.shown >= message.revision:
            return None
        try:
            shown = await self.surface.report(message)
        except PostGone:  # somebody has removed it, and does not want to know more
            shown = Shown(place=message.place or "")
        revision = message.revision if shown.complete else message.revision - 1
        await self._record(message_id, shown, revision)
        return shown

    async def _record(self, message_id: str, shown: Shown, revision: int) -> None:
        """It stays unrecorded if that fails: otherwise each retry would post it again."""
        self.unrecorded[message_id] = shown, revision
        place, handle = shown.place, next(iter(shown.handles), None)
        await self.store.write(
            lambda tx: tx.save_message_post(message_id, place=place, handle=handle, shown=revision)
        )
        del self.unrecorded[message_id]
