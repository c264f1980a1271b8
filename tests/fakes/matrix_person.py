"""A person with a Matrix client: what they do in rooms. What they see there is the client's.

A stranger is just another person.
"""

from __future__ import annotations

from urllib.parse import quote
from uuid import uuid4

import nio
from nio.crypto.attachments import decrypt_attachment, encrypt_attachment

from tests.fakes.matrix_client import Client
from tests.fakes.matrix_timeline import Event

MEGOLM = "m.megolm.v1.aes-sha2"
VERSION = "11"


class Person(Client):
    async def create_room(
        self,
        name: str = "",
        *,
        invite: tuple[str, ...] | list[str] = (),
        encrypted: bool = False,
        version: str | None = None,
    ) -> str:
        """A private room."""
        state = [{"type": "m.room.encryption", "state_key": "", "content": {"algorithm": MEGOLM}}]
        wanted = {
            "preset": "private_chat",
            "name": name or None,
            "invite": list(invite),
            "initial_state": state if encrypted else None,
            "room_version": version,
        }
        body = {key: value for key, value in wanted.items() if value is not None}
        room: str = (await self.request("POST", "/createRoom", body))["room_id"]
        await self._is_in(room)
        return room

    async def join(self, room: str) -> None:
        await self.request("POST", f"/join/{quote(room)}", {})
        await self._is_in(room)

    async def leave(self, room: str) -> None:
        await self._in_room("POST", room, "leave", {})

    async def invite(self, room: str, user_id: str) -> None:
        await self._in_room("POST", room, "invite", {"user_id": user_id})

    async def kick(self, room: str, user_id: str) -> None:
        await self._in_room("POST", room, "kick", {"user_id": user_id})

    async def upgrade_room(self, room: str, version: str = VERSION) -> str:
        """The new room, with the tombstone in the old one. Nobody is invited to it."""
        answer = await self._in_room("POST", room, "upgrade", {"new_version": version})
        replacement: str = answer["replacement_room"]
        await self._is_in(replacement)
        return replacement

    async def set_state(self, room: str, type: str, content: Event, key: str = "") -> str:
        answer = await self._in_room("PUT", room, f"state/{type}/{quote(key)}", content)
        event_id: str = answer["event_id"]
        return event_id

    async def set_power(self, room: str, user_id: str, level: int) -> None:
        """In rooms of version 12 not for who created it: their power has no number."""
        levels = await self._in_room("GET", room, "state/m.room.power_levels/")
        levels.setdefault("users", {})[user_id] = level
        await self.set_state(room, "m.room.power_levels", levels)

    async def say(self, room: str, text: str) -> str:
        return await self.send_raw(room, "m.room.message", _text(text))

    async def reply(self, room: str, text: str, *, to: str) -> str:
        relation = {"m.in_reply_to": {"event_id": to}}
        return await self.send_raw(room, "m.room.message", _text(text) | {"m.relates_to": relation})

    async def in_thread(self, room: str, text: str, *, root: str, last: str | None = None) -> str:
        """As Element does: for clients without threads it is a reply to the thread's last event."""
        relation = {
            "rel_type": "m.thread",
            "event_id": root,
            "is_falling_back": True,
            "m.in_reply_to": {"event_id": last or root},
        }
        return await self.send_raw(room, "m.room.message", _text(text) | {"m.relates_to": relation})

    async def edit(self, room: str, event_id: str, text: str) -> str:
        content = _text(f"* {text}") | {
            "m.new_content": _text(text),
            "m.relates_to": {"rel_type": "m.replace", "event_id": event_id},
        }
        return await self.send_raw(room, "m.room.message", content)

    async def react(self, room: str, event_id: str, key: str) -> str:
        relation = {"rel_type": "m.annotation", "event_id": event_id, "key": key}
        return await self.send_raw(room, "m.reaction", {"m.relates_to": relation})

    async def redact(self, room: str, event_id: str) -> str:
        path = f"redact/{quote(event_id)}/{uuid4().hex}"
        redaction: str = (await self._in_room("PUT", room, path, {}))["event_id"]
        return redaction

    async def newest(self, room: str) -> str:
        """The last event that the homeserver has, whether it has been seen here or not."""
        found = await self._in_room("GET", room, "messages?dir=b&limit=1")
        event_id: str = found["chunk"][0]["event_id"]
        return event_id

    async def send_file(
        self,
        room: str,
        content: bytes,
        *,
        name: str = "photo.png",
        caption: str | None = None,
        relates: Event | None = None,
    ) -> str:
        """Encrypted where the room is."""
        where = await self.upload(content, lock=self._client.rooms[room].encrypted)
        said = {"msgtype": "m.image", "body": caption or name, "filename": name, **where}
        said["info"] = {"size": len(content)}
        if relates is not None:
            said["m.relates_to"] = relates
        return await self.send_raw(room, "m.room.message", said)

    async def upload(self, content: bytes, *, type: str = "image/png", lock: bool = False) -> Event:
        """Where it is then, for the content of a message; `lock`: encrypted."""
        keys: Event = {}
        if lock:
            content, keys = encrypt_attachment(content)
        answer = await self._client.send(
            "POST",
            "/_matrix/media/v3/upload",
            content,
            {"Authorization": f"Bearer {self.login.access_token}", "Content-Type": type},
        )
        async with answer:
            uploaded = await answer.json()
        where = {"url": uploaded["content_uri"]}
        return {"file": keys | where} if lock else where

    async def download(self, content: Event) -> bytes:
        """The file of a message."""
        lock = content.get("file")
        address = (lock or content)["url"].removeprefix("mxc://")
        answer = await self._client.send(
            "GET",
            f"/_matrix/client/v1/media/download/{address}",
            None,
            {"Authorization": f"Bearer {self.login.access_token}"},
        )
        async with answer:
            assert answer.status == 200, answer
            found: bytes = await answer.read()
        if not lock:
            return found
        plain: bytes = decrypt_attachment(
            found, lock["key"]["k"], lock["hashes"]["sha256"], lock["iv"]
        )
        return plain

    async def send_raw(self, room: str, type: str, content: Event, *, plain: bool = False) -> str:
        """Encrypted where the room is, but for reactions, which clients send in clear.

        `plain` sends in clear whatever the room says.
        """
        if self._client.olm and self._client.rooms[room].encrypted and not plain:
            if self._client.should_query_keys:
                await self._client.keys_query()
            sent = await self._client.room_send(
                room, type, content, uuid4().hex, ignore_unverified_devices=True
            )
            assert isinstance(sent, nio.RoomSendResponse), sent
            return sent.event_id
        path = f"send/{type}/{uuid4().hex}"
        event_id: str = (await self._in_room("PUT", room, path, content))["event_id"]
        return event_id

    async def _in_room(self, method: str, room: str, path: str, body: object = None) -> Event:
        return await self.request(method, f"/rooms/{quote(room)}/{path}", body)


def _text(text: str) -> Event:
    return {"msgtype": "m.text", "body": text}
