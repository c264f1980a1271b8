"""The bot's Matrix account as the set-up uses it: logging in, rooms, invitations.

One request after the other, in a loop of its own. Reading and writing messages is the channel's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import quote

from chatbridge.core.errors import ChatbridgeError, RetryLater, TokenRejected

if TYPE_CHECKING:
    from chatbridge.channels.matrix.client.api import Api

T = TypeVar("T")
Json = dict[str, Any]

PATH = "/_matrix/client/v3"
ENCRYPTED = "m.megolm.v1.aes-sha2"
ROOM_NAME = "chatbridge"
LISTED = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    id: str
    name: str
    encrypted: bool = False
    joined: bool = True


class Bot:
    """:raises ChatbridgeError: from every method, with a sentence for the person."""

    def __init__(self, homeserver: str, user_id: str) -> None:
        self.homeserver, self.user_id = homeserver, user_id
        self._runner = asyncio.Runner()
        self._api = self._runner.run(_made(homeserver, user_id))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._runner.run(self._api.close())
        self._runner.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return self._runner.run(work)
        except RetryLater as error:
            raise ChatbridgeError(f"{self.homeserver}: {error}. Try again in a moment") from None

    def log_in(self, password: str) -> str:
        """A token for a new device. The password is forgotten."""
        try:
            session = self._run(self._api.log_in(password, device_id=None))
        except TokenRejected:
            raise ChatbridgeError(
                f"Matrix refused the password of {self.user_id}. Type it again"
            ) from None
        self.use(session.access_token)
        return session.access_token

    def use(self, token: str) -> None:
        """Go on with this token."""
        try:
            self._run(self._api.device_of(token))
        except TokenRejected:
            raise ChatbridgeError(
                f"Matrix refused the token, or it is not one of {self.user_id}. Copy it again"
            ) from None

    def rooms(self) -> list[Room]:
        """Those that the bot is in, or is invited to."""
        joined = self._get("/joined_rooms").get("joined_rooms")
        ids = [it for it in joined if isinstance(it, str)] if isinstance(joined, list) else []
        return [
            *(self._room(room) for room in ids[:LISTED]),
            *(
                Room(id=invite.room, name=f"invited by {invite.by}", joined=False)
                for invite in self._run(self._api.invites())
            ),
        ]

    def _room(self, id: str) -> Room:
        name = self._state(id, "m.room.name").get("name")
        encryption = self._state(id, "m.room.encryption")
        return Room(
            id=id,
            name=name if isinstance(name, str) and name else "without a name",
            encrypted="algorithm" in encryption,
        )

    def _state(self, room: str, kind: str) -> Json:
        return self._get(f"/rooms/{quote(room)}/state/{kind}/", missing={})

    def make_room(self, owner: str, *, encrypted: bool) -> str:
        """A private one, in which the owner can do everything that the bot can."""
        state = [
            {"type": "m.room.encryption", "state_key": "", "content": {"algorithm": ENCRYPTED}}
        ]
        body = {
            "preset": "trusted_private_chat",
            "name": ROOM_NAME,
            "invite": [owner],
            "initial_state": state if encrypted else [],
        }
        return str(self._post("/createRoom", body)["room_id"])

    def join(self, room: str) -> None:
        self._post(f"/join/{quote(room)}", {})

    def invite(self, room: str, owner: str) -> None:
        self._post(f"/rooms/{quote(room)}/invite", {"user_id": owner})

    def is_in(self, room: str, owner: str) -> bool:
        members = self._get(f"/rooms/{quote(room)}/joined_members").get("joined")
        return isinstance(members, dict) and owner in members

    def _get(self, path: str, *, missing: Json | None = None) -> Json:
        return self._request("GET", path, None, missing=missing)

    def _post(self, path: str, body: Json) -> Json:
        return self._request("POST", path, body)

    def _request(
        self, method: str, path: str, body: Json | None, *, missing: Json | None = None
    ) -> Json:
        status, found = self._run(self._api.request(method, PATH + path, body))
        if status == 200:
            return found
        if missing is not None and status in (403, 404):
            return missing
        said = str(found.get("error") or found.get("errcode") or status)[:200]
        raise ChatbridgeError(f"The homeserver refused ({status}): {said}")


async def _made(homeserver: str, user_id: str) -> Api:
    """Inside a loop, which nio's client wants when it is made."""
    from chatbridge.channels.matrix.client.api import Api

    return Api(homeserver, user_id, hint="the account")
