"""A Matrix client: what its owner sees in rooms, at once while they wait or look, else later.

It is matrix-nio's, with its keys in a folder of the test, and knows nothing of chatbridge.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import nio
from nio.client.async_client import AsyncClient, AsyncClientConfig

from tests.fakes.matrix_timeline import Event, Message, Timeline
from tests.fakes.synapse import Login, Refused, Synapse

PATIENCE = 20.0
LONG_POLL_MS = 10_000
UNWATCHED = 3.0
"""Seconds between two syncs while nobody looks: a card's ten reactions are one then, not ten."""
PAGE = 10
FILTER = {"room": {"timeline": {"limit": PAGE}}, "presence": {"types": []}}

T = TypeVar("T")


class Client:
    def __init__(self, name: str, login: Login, client: AsyncClient) -> None:
        self.name = name
        self.user_id = login.user_id
        self.login = login
        self._client = client
        self._rooms: dict[str, Timeline] = {}
        self._unread: dict[str, tuple[str, nio.MegolmEvent]] = {}
        """What could not be decrypted yet: room and event, by event id."""
        self._invites: list[str] = []
        self._changed = asyncio.Condition()
        self._wanted = asyncio.Event()
        """Somebody waits for what is not there yet, or looks whether it is."""
        self._syncing: asyncio.Task[None] | None = None

    @classmethod
    @asynccontextmanager
    async def online(
        cls,
        synapse: Synapse,
        name: str,
        folder: Path,
        *,
        encrypted: bool = False,
        login: Login | None = None,
    ) -> AsyncIterator[Self]:
        """A new person, or one who comes back (`login`, with the folder of the last time).

        Only with `encrypted` they have keys: that costs a tenth of a second.
        """
        if login is None:
            login = await asyncio.to_thread(lambda: synapse.log_in(synapse.register(name)))
        client = AsyncClient(
            synapse.address,
            login.user_id,
            device_id=login.device_id,
            store_path=str(folder) if encrypted else "",
            config=AsyncClientConfig(encryption_enabled=encrypted, max_timeout_retry_wait_time=0.2),
        )
        if encrypted:
            await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
            client.restore_login(login.user_id, login.device_id, login.access_token)
        else:
            client.user_id, client.access_token = login.user_id, login.access_token
        self = cls(name, login, client)
        try:
            await self._sync(0)
            self._syncing = asyncio.create_task(self._sync_on())
            yield self
        finally:
            await self._go_offline()

    # What they see.

    def events(self, room: str) -> list[Event]:
        """All raw events so far, in order; decrypted where possible."""
        self._wanted.set()
        return list(self._timeline(room).events)

    def messages(self, room: str) -> list[Message]:
        self._wanted.set()
        return self._timeline(room).messages()

    def message(self, room: str, event_id: str) -> Message:
        return next(it for it in self._timeline(room).messages() if it.event_id == event_id)

    def membership(self, room: str, user_id: str) -> str | None:
        """join, invite, leave or ban."""
        content = self.state(room, "m.room.member", user_id)
        return None if content is None else content.get("membership")

    def state(self, room: str, type: str, key: str = "") -> Event | None:
        return self._timeline(room).state.get((type, key))

    async def sees(self, fits: Callable[[Message], bool], *, room: str) -> Message:
        """The first message that fits, as soon as there is one."""

        def first() -> Message | None:
            seen = self._timeline(room).messages()
            return next((message for message in seen if fits(message)), None)

        return await self._until(first, room)

    async def until(self, room: str, event_id: str, fits: Callable[[Message], bool]) -> Message:
        """This message, as soon as it is so."""
        return await self.sees(lambda it: it.event_id == event_id and fits(it), room=room)

    async def sees_event(self, room: str, event_id: str) -> Event:
        """Any event: a reaction or a redaction, too. All that came before it is seen then."""

        def found() -> Event | None:
            seen = self._timeline(room).events
            return next((it for it in seen if it["event_id"] == event_id), None)

        return await self._until(found, room)

    async def sees_member(self, room: str, user_id: str, membership: str = "join") -> None:
        """Before the first encrypted message: who is not seen yet gets no key to it."""
        await self._until(lambda: self.membership(room, user_id) == membership or None, room)

    async def sees_device(self, user_id: str, device_id: str) -> None:
        """Before a message to somebody's new device: it gets no key to what was sent earlier."""
        await self._until(lambda: device_id in self._client.device_store[user_id] or None)

    async def sees_state(self, room: str, type: str, key: str = "") -> Event:
        return await self._until(lambda: self.state(room, type, key), room)

    async def sees_invite(self) -> str:
        """The room of an invite that is not accepted yet."""
        return await self._until(lambda: next(iter(self._invites), None))

    async def request(self, method: str, path: str, body: object = None) -> Event:
        """Anything else that a client can ask of its homeserver."""
        response = await self._client.send(
            method,
            f"/_matrix/client/v3{path}",
            None if body is None else json.dumps(body),
            {"Authorization": f"Bearer {self.login.access_token}"},
        )
        async with response:
            answer: Event = await response.json()
        if response.status != 200:
            raise Refused(response.status, answer)
        return answer

    # How it gets there.

    async def _until(self, look: Callable[[], T | None], room: str = "") -> T:
        try:
            async with asyncio.timeout(PATIENCE), self._changed:
                while (found := look()) is None:
                    assert self._syncing is not None
                    if self._syncing.done():
                        self._syncing.result()
                    self._wanted.set()
                    await self._changed.wait()
                return found
        except TimeoutError:
            lines = "\n".join(f"  {it}" for it in self.messages(room))
            raise AssertionError(f"{self.user_id} does not see it. In {room}:\n{lines}") from None

    def _timeline(self, room: str) -> Timeline:
        return self._rooms.get(room) or Timeline()

    async def _is_in(self, room: str) -> None:
        await self._until(lambda: room in self._rooms or None)

    async def _sync_on(self) -> None:
        try:
            while True:
                self._wanted.clear()
                await self._sync(LONG_POLL_MS)
                with suppress(TimeoutError):
                    async with asyncio.timeout(UNWATCHED):
                        await self._wanted.wait()
        finally:
            async with self._changed:
                self._changed.notify_all()

    async def _sync(self, timeout: int) -> None:
        since = self._client.next_batch
        response = await self._client.sync(timeout, FILTER)
        if not isinstance(response, nio.SyncResponse):
            raise AssertionError(f"{self.user_id} cannot sync: {response}")
        await self._exchange_keys()
        for room, info in (response.rooms.leave | response.rooms.join).items():
            timeline = self._rooms.setdefault(room, Timeline())
            if info.timeline.limited:
                self._add(room, await self._missed(room, info.timeline.prev_batch, since))
            for event in info.state:
                timeline.learn(event.source)
            self._add(room, info.timeline.events)
        self._read_again()
        settled = response.rooms.leave.keys() | response.rooms.join.keys()
        self._invites = [it for it in self._invites if it not in settled]
        self._invites += [it for it in response.rooms.invite if it not in self._invites]
        async with self._changed:
            self._changed.notify_all()

    async def _exchange_keys(self) -> None:
        client = self._client
        if not client.olm:
            return
        await client.send_to_device_messages()
        if client.should_upload_keys:
            await client.keys_upload()
        if client.should_query_keys:
            await client.keys_query()
        if client.should_claim_keys:
            await client.keys_claim(client.get_users_for_key_claiming())

    async def _missed(self, room: str, start: str | None, since: str | None) -> list[Any]:
        """What a sync left out, oldest first."""
        missed: list[Any] = []
        while start:
            page = await self._client.room_messages(room, start, since or None, limit=PAGE)
            assert isinstance(page, nio.RoomMessagesResponse), page
            missed += page.chunk
            start = page.end
        return missed[::-1]

    def _add(self, room: str, events: list[Any]) -> None:
        unread = [event for event in events if isinstance(event, nio.MegolmEvent)]
        for event in unread:
            event.room_id = room
            self._unread[event.event_id] = (room, event)
        encrypted = [event for event in events if getattr(event, "decrypted", False)]
        self._rooms[room].add(
            (event.source for event in events),
            encrypted=[event.event_id for event in encrypted + unread],
        )

    def _read_again(self) -> None:
        if not self._client.olm:
            return
        for event_id, (room, event) in list(self._unread.items()):
            try:
                decrypted = self._client.decrypt_event(event)
            except nio.EncryptionError:
                continue
            self._rooms[room].decrypted(decrypted.source)
            del self._unread[event_id]

    async def _go_offline(self) -> None:
        if self._syncing is not None:
            self._syncing.cancel()
            await asyncio.gather(self._syncing, return_exceptions=True)
        await self._client.close()
        if self._client.store is not None:
            self._client.store.database.close()
