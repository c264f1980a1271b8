"""The homeserver as this channel uses it: the only module that talks to it by nio. It also gives
others the keys that they need to read the bot and to write to it."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from aiohttp import ClientResponse, ClientTimeout
from nio.api import MessageDirection, RelationshipType
from nio.client.async_client import AsyncClient, AsyncClientConfig
from nio.crypto.olm_machine import Olm
from nio.events import MegolmEvent
from nio.responses import KeysUploadResponse
from nio.store.database import DefaultStore

from chatbridge.channels.matrix.account.log_in import Session
from chatbridge.channels.matrix.client.errors import LoggedOut, Rejected, checked, meaning_of
from chatbridge.channels.matrix.client.events import Batch, Invite, RoomEvent, Timeline, event_from
from chatbridge.channels.matrix.client.media import ContentRepository
from chatbridge.core.errors import RetryLater, SettingsError
from chatbridge.safe_json import value_at

log = logging.getLogger(__name__)
# It quotes what people wrote, and all that matters in it comes back as an answer.
logging.getLogger("nio").setLevel(logging.CRITICAL)

ANSWERED_WITHIN = 20.0
STREAM_PAUSE = 60.0
"""A server may have to get a file from another one first."""
WRONG_PASSWORD_PAUSE = 60.0
"""Servers count wrong ones, and then refuse the right one, too."""
DEVICE_NAME = "chatbridge"
STORE = "crypto.db"
PAGE = 100
PREFIX = "/_matrix/client/v3"
Body = dict[str, Any]
NONE: Body = {"types": []}
FILTER: Body = {
    "presence": NONE,
    "account_data": NONE,
    "room": {"account_data": NONE, "ephemeral": NONE, "timeline": {"limit": 50}},
}
INVITES_ONLY = {**FILTER, "room": {**FILTER["room"], "timeline": NONE, "state": NONE}}


class Store(DefaultStore):
    def save_encrypted_rooms(self, rooms: set[str]) -> None:
        """Called after every sync, nearly always without a room."""
        if rooms:
            super().save_encrypted_rooms(rooms)


class Api:
    def __init__(
        self, homeserver: str, user_id: str, *, hint: str, patience: float = ANSWERED_WITHIN
    ) -> None:
        """`hint` says where the log-in is set; `patience` is how long an answer may take."""
        self.homeserver = homeserver
        self.user_id = user_id
        self._hint = hint
        self._patience = patience
        self._token = ""
        self._closed = False
        self._client = self._new_client(None)
        self._sharing = asyncio.Lock()
        self.media = ContentRepository(self._open)
        self.keys_trouble: str | None = None
        """Why nothing encrypted can be read."""

    def _new_client(self, store: Path | None) -> AsyncClient:
        return AsyncClient(
            self.homeserver,
            self.user_id,
            store_path=str(store or ""),
            config=AsyncClientConfig(
                store=Store,
                store_name=STORE,
                encryption_enabled=store is not None,
                store_sync_tokens=False,  # ours are committed with what was read
                request_timeout=self._patience,
                max_limit_exceeded=0,  # pauses are delivery's
                max_timeouts=0,
            ),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *ended: object) -> None:
        await self.close()

    async def close(self) -> None:
        self._closed = True
        await self._client.close()
        if self._client.store is not None:
            self._client.store.database.close()  # which nio leaves open

    # ── who the bot is ────────────────────────────────────────────────────────────────────────────

    async def log_in(self, password: str, *, device_id: str | None) -> Session:
        """:raises LoggedOut: the password is not accepted. :raises RetryLater:"""
        self._client.device_id = device_id
        try:
            with self._translated():
                found = checked(await self._client.login(password, device_name=DEVICE_NAME))
        except Rejected as error:
            raise LoggedOut(
                f"matrix refused the password of {self.user_id} ({error.code}). Check "
                f"{self._hint}, then run: chatbridge restart",
                soft=False,
                after=WRONG_PASSWORD_PAUSE,
            ) from None
        return Session(
            user_id=found.user_id, device_id=found.device_id, access_token=found.access_token
        )

    async def device_of(self, access_token: str) -> str | None:
        """The device that a token belongs to, if to any. :raises LoggedOut: :raises RetryLater:"""
        self._token = access_token
        with self._translated():
            found = checked(await self._client.whoami())
        if found.user_id != self.user_id:
            raise LoggedOut(
                f"matrix: the access token belongs to {found.user_id}, not to {self.user_id}. "
                f"Check {self._hint}, then run: chatbridge restart",
                soft=False,
            )
        return found.device_id or None

    async def begin(self, session: Session, *, store: Path | None) -> None:
        """Go on as this device, with its keys in `store`; without one nothing is encrypted."""
        await self._client.close()
        self._client = self._new_client(store)
        self._token = session.access_token
        if store is None:
            self._client.user_id = session.user_id
            return
        # In this thread: nio's store belongs to the one that opened it.
        try:
            _check_database(store / STORE)
            self._client.restore_login(session.user_id, session.device_id, session.access_token)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the file
            raise SettingsError(
                f"matrix: the bot's keys in {store / STORE} cannot be read "
                f"({type(error).__name__}). Put back a copy of that file; or remove {store}, and "
                "log the bot in again"
            ) from None

    @property
    def signing_key(self) -> str | None:
        """What this device signs with; None where nothing is encrypted."""
        olm = self._client.olm
        return olm.account.identity_keys["ed25519"] if olm is not None else None

    async def request(self, method: str, path: str, body: Body | None = None) -> tuple[int, Body]:
        """For what nio does not know: status and body of the answer."""
        headers = {"Authorization": f"Bearer {self._token}"}
        with self._translated():
            data = json.dumps(body) if body is not None else None
            answer = await self._client.send(method, PREFIX + path, data, headers)
            found = await answer.json(content_type=None)
        return answer.status, found if isinstance(found, dict) else {}

    @asynccontextmanager
    async def _open(
        self,
        method: str,
        path: str,
        *,
        data: AsyncIterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[ClientResponse]:
        """A request with a stream, or for one. Who uses it says how long that may take."""
        headers = {"Authorization": f"Bearer {self._token}", **(headers or {})}
        waits: Any = ClientTimeout(sock_connect=self._patience, sock_read=STREAM_PAUSE)
        with self._translated():
            sent = await self._client.send(method, path, data, headers, timeout=waits)
            async with sent as answer:
                yield answer

    async def state(self, room: str, kind: str) -> tuple[int, Body]:
        """A part of the room's state: status and content."""
        return await self.request("GET", f"/rooms/{quote(room, safe='')}/state/{kind}/")

    # ── reading ───────────────────────────────────────────────────────────────────────────────────

    async def sync(self, since: str | None, *, wait: float, full: bool = False) -> Batch:
        """What came after `since`; `full`: and how every room is, needed once after a start."""
        self._client.next_batch = ""  # nio would pass over a batch that it has seen before
        with self._translated():
            async with asyncio.timeout(wait + self._patience):
                answer = await self._client.sync(
                    int(wait * 1000), sync_filter=FILTER, since=since, full_state=full
                )
            found = checked(answer)
        for room in found.rooms.leave:
            self._client.rooms.pop(room, None)  # nio goes on as if the bot were there
        return Batch(
            next=found.next_batch,
            keys=bool(found.to_device_events),
            timelines=tuple(
                Timeline(
                    room=room,
                    events=_events(info.timeline.events, room),
                    limited=bool(info.timeline.limited),
                    start=info.timeline.prev_batch,
                )
                for room, info in (*found.rooms.join.items(), *found.rooms.leave.items())
            ),
            invites=self._invites(
                (room, [event.source for event in info.invite_state])
                for room, info in found.rooms.invite.items()
            ),
        )

    async def invites(self) -> tuple[Invite, ...]:
        """All that are open now: a sync tells of each only once."""
        # Never the same request: Synapse answers a first sync from its memory for two minutes.
        fresh = secrets.randbelow(1000)
        path = f"/sync?timeout={fresh}&filter={quote(json.dumps(INVITES_ONLY))}"
        _, found = await self.request("GET", path)
        with self._translated():
            return self._invites(
                (room, info["invite_state"]["events"])
                for room, info in (value_at(found, "rooms", "invite") or {}).items()
            )

    def _invites(self, rooms: Iterable[tuple[str, list[Body]]]) -> tuple[Invite, ...]:
        """`rooms` are those that the bot is invited to, with what is known of their state."""
        found: dict[str, Invite] = {}
        for room, events in rooms:
            for event in events:
                is_own = (event.get("type"), event.get("state_key")) == (
                    "m.room.member",
                    self.user_id,
                )
                if is_own and isinstance(event.get("sender"), str):
                    found.setdefault(room, Invite(room=room, by=event["sender"]))
        return tuple(found.values())

    async def before(
        self, room: str, start: str, *, until: str
    ) -> tuple[tuple[RoomEvent, ...], str | None]:
        """A page of what is between `until` and `start`, oldest first; where the next begins."""
        with self._translated(room):
            answer = await self._client.room_messages(
                room, start, end=until, direction=MessageDirection.back, limit=PAGE
            )
            found = checked(answer)
        more = found.end if found.chunk and found.end and found.end != start else None
        return _events(reversed(found.chunk), room), more

    async def event(self, room: str, id: str) -> RoomEvent | None:
        """None if there is no such event, or it is not for us to see."""
        try:
            with self._translated():
                found = checked(await self._client.room_get_event(room, id))
        except Rejected:
            return None
        return next(iter(_events([found.event], room)), None)

    # ── writing ───────────────────────────────────────────────────────────────────────────────────

    async def send(
        self, room: str, content: Mapping[str, Any], *, tx: str, kind: str = "m.room.message"
    ) -> str:
        with self._translated(room):
            if self.is_encrypted(room):
                await self._share_key(room)
            answer = await self._client.room_send(
                room, kind, dict(content), tx_id=tx, ignore_unverified_devices=True
            )
            return str(checked(answer).event_id)

    async def react(self, room: str, event: str, emoji: str, *, tx: str) -> str:
        relates = {"rel_type": "m.annotation", "event_id": event, "key": emoji}
        try:
            return await self.send(room, {"m.relates_to": relates}, tx=tx, kind="m.reaction")
        except Rejected as error:
            if error.code != "M_DUPLICATE_ANNOTATION":
                raise
        there = await self.own_reactions(room, event, emoji=emoji)
        if not there:
            raise Rejected("M_DUPLICATE_ANNOTATION", "the same reaction, but it is not there")
        return there[0]

    async def redact(self, room: str, event: str, *, tx: str) -> None:
        with self._translated(room):
            checked(await self._client.room_redact(room, event, tx_id=tx))

    async def own_reactions(self, room: str, event: str, *, emoji: str | None = None) -> list[str]:
        """The bot's own reactions to a message, or the one with this emoji."""
        found = []
        with self._translated(room):
            relations = self._client.room_get_event_relations(
                room, event, RelationshipType.annotation, "m.reaction"
            )
            async for each in relations:
                key = value_at(each.source, "content", "m.relates_to", "key")
                if each.sender == self.user_id and emoji in (None, key):
                    found.append(str(each.event_id))
        return found

    # ── the device's keys: nio keeps them by itself, but for what goes wrong on the way ───────────

    async def keep_keys(self) -> None:
        """After each sync, so that new devices can read the next message."""
        try:
            with self._translated():
                await self._exchange_keys()
            self.keys_trouble = None
        except RetryLater as error:  # what is not encrypted goes on
            log.info("%s", error)
        except Rejected as error:
            if self.keys_trouble is None:
                log.warning("matrix: the homeserver does not take the bot's keys (%s)", error)
            self.keys_trouble = (
                "matrix: the bot's keys are not those of its device, so it cannot read what is "
                "typed in encrypted rooms. Log it in again: with matrix.password, or a new token"
            )

    async def _exchange_keys(self) -> None:
        client = self._client
        if client.olm is None:
            return
        if client.should_upload_keys:
            # nio would note new keys once they are known to have arrived. If the hub was killed
            # before that, the next would make others by the same names, and no server takes those.
            content = client.olm.share_keys()
            client.olm.save_account()
            _, found = await self.request("POST", "/keys/upload", content)
            await client.receive_response(checked(KeysUploadResponse.from_dict(found)))
        if client.should_query_keys:
            checked(await client.keys_query())
        if client.should_claim_keys:
            checked(await client.keys_claim(client.get_users_for_key_claiming()))
        await client.send_to_device_messages()

    async def _share_key(self, room: str) -> None:
        """Give everybody in the room the key of what is sent there next. If a request fails, nio
        alone would take it for done, or wait for ever. :raises RetryLater: somebody has no key."""
        client, olm = self._client, self._client.olm
        if olm is None:
            return
        async with self._sharing:
            if not client.rooms[room].members_synced:
                checked(await client.joined_members(room))
            if client.should_query_keys:
                checked(await client.keys_query())
            if not olm.should_share_group_session(room):
                return
            if missing := client.get_missing_sessions(room):
                checked(await client.keys_claim(missing))
            try:
                answer = await client.share_group_session(room, ignore_unverified_devices=True)
            except BaseException:
                client.sharing_session.pop(room, None)
                raise
            if not self._reachable(room, olm) <= checked(answer).users_shared_with:
                client.invalidate_outbound_session(room)
                raise RetryLater("matrix: the key of a message could not be sent")

    def _reachable(self, room: str, olm: Olm) -> set[tuple[str, str]]:
        """Devices that a key can be sent to. One that has left no keys of its own never can."""
        return {
            (user, device.id)
            for user in self._client.rooms[room].users
            for device in olm.device_store.active_user_devices(user)
            if device.id != olm.device_id and olm.session_store.get(device.curve25519) is not None
        }

    # ── rooms ─────────────────────────────────────────────────────────────────────────────────────

    async def join(self, room: str) -> None:
        """:raises ChatRefused: the bot is not let in."""
        with self._translated(room):
            checked(await self._client.join(room))

    def rooms(self) -> Collection[str]:
        return list(self._client.rooms)

    def is_encrypted(self, room: str) -> bool:
        known = self._client.rooms.get(room)
        return bool(known and known.encrypted)

    def is_in(self, room: str) -> bool:
        return room in self._client.rooms

    def members(self, room: str) -> Collection[str]:
        """Who is in the room, or is invited to it, the bot included."""
        known = self._client.rooms.get(room)
        return list(known.users) if known else []

    def name_of(self, room: str, user: str) -> str:
        """What people call somebody; the id where that says nothing or is somebody else's, too."""
        known = self._client.rooms.get(room)
        return (known.user_name(user) if known else None) or user

    @contextmanager
    def _translated(self, room: str | None = None) -> Iterator[None]:
        if self._closed:
            raise RetryLater("matrix: the channel has ended")  # nio would connect anew
        # nio drops it after some errors, and would then say so instead of what is the matter.
        self._client.access_token = self._token
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the edge where everything is translated
            inside = room is not None and self.is_in(room)
            raise meaning_of(
                error, user=self.user_id, hint=self._hint, room=room, inside=inside
            ) from None


def _events(raw: Iterable[Any], room: str) -> tuple[RoomEvent, ...]:
    """Of nio's events, which all have a `source`."""
    found = (
        event_from(each.source, room=room, unreadable=isinstance(each, MegolmEvent)) for each in raw
    )
    return tuple(event for event in found if event is not None)


def _check_database(path: Path) -> None:
    """nio would leave a file open that is no database. :raises ValueError:"""
    if path.exists():
        with open(path, "rb") as file:
            if file.read(16) not in (b"", b"SQLite format 3\0"):
                raise ValueError("no database")
