"""The bot's Matrix account as the set-up uses it: its homeserver, log-in, rooms, invitations.

What a foreign server answers about its homeserver (`.well-known`) is bounded in size, time and
redirects, and every address on the way has to be one that the settings take.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from chatbridge import safe_json
from chatbridge.channels.matrix.settings import Matrix
from chatbridge.core.errors import ChatbridgeError, RetryLater, TokenRejected
from chatbridge.safe_json import value_at

T = TypeVar("T")
Json = dict[str, Any]

LISTED = 15
LARGEST = 64 * 1024
REDIRECTS = 3
ANSWERED_WITHIN = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    id: str
    name: str
    encrypted: bool = False
    joined: bool = True


class Bot:
    """:raises ChatbridgeError: from every method, with a sentence for the person."""

    def __init__(self, homeserver: str, user_id: str) -> None:
        from chatbridge.channels.matrix.client.api import Api

        self.homeserver, self.user_id = homeserver, user_id
        self._api = Api(homeserver, user_id, hint="the account")
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self._runner.run(self._api.close())
        self._runner.close()

    def _run(self, work: Coroutine[Any, Any, T], *, refused: str = "") -> T:
        try:
            return self._runner.run(work)
        except RetryLater as error:
            raise ChatbridgeError(f"{self.homeserver}: {error}. Try again in a moment") from None
        except TokenRejected:
            raise ChatbridgeError(refused) from None

    def log_in(self, password: str) -> str:
        """A token for a new device. The password is forgotten."""
        refused = f"Matrix refused the password of {self.user_id}. Type it again"
        session = self._run(self._api.log_in(password, device_id=None), refused=refused)
        return self.use(session.access_token)

    def use(self, token: str) -> str:
        """Go on with this token."""
        refused = f"Matrix refused the token, or it is not one of {self.user_id}. Copy it again"
        self._run(self._api.device_of(token.strip()), refused=refused)
        return token.strip()

    def rooms(self) -> list[Room]:
        """Those that the bot is in, or is invited to."""
        joined = self._request("GET", "/joined_rooms").get("joined_rooms")
        ids = [it for it in joined if isinstance(it, str)] if isinstance(joined, list) else []
        return [
            *(self._room(room) for room in ids[:LISTED]),
            *(
                Room(id=invite.room, name=f"invited by {invite.by}", joined=False)
                for invite in self._run(self._api.invites())
            ),
        ]

    def _room(self, id: str) -> Room:
        name, encryption = (
            self._request("GET", f"/rooms/{quote(id)}/state/{kind}/", missing={})
            for kind in ("m.room.name", "m.room.encryption")
        )
        found = name.get("name")
        return Room(
            id=id,
            name=found if isinstance(found, str) and found else "without a name",
            encrypted="algorithm" in encryption,
        )

    def make_room(self, owner: str, *, encrypted: bool) -> str:
        """A private one, in which the owner can do everything that the bot can."""
        encryption = {"algorithm": "m.megolm.v1.aes-sha2"}
        state = {"type": "m.room.encryption", "state_key": "", "content": encryption}
        body = {
            "preset": "trusted_private_chat",
            "name": "chatbridge",
            "invite": [owner],
            "initial_state": [state] if encrypted else [],
        }
        return str(self._request("POST", "/createRoom", body)["room_id"])

    def join(self, room: str) -> None:
        self._request("POST", f"/join/{quote(room)}", {})

    def invite(self, room: str, owner: str) -> None:
        self._request("POST", f"/rooms/{quote(room)}/invite", {"user_id": owner})

    def is_in(self, room: str, owner: str) -> bool:
        members = self._request("GET", f"/rooms/{quote(room)}/joined_members")
        return value_at(members, "joined", owner) is not None

    def _request(
        self, method: str, path: str, body: Json | None = None, *, missing: Json | None = None
    ) -> Json:
        status, found = self._run(self._api.request(method, path, body))
        if status == 200:
            return found
        if missing is not None and status in (403, 404):
            return missing
        said = str(found.get("error") or found.get("errcode") or status)[:200]
        raise ChatbridgeError(f"The homeserver refused ({status}): {said}")


# ── finding the homeserver ────────────────────────────────────────────────────────────────────────


async def homeserver_of(given: str) -> str:
    """The address of the homeserver of a user id, a server's name or an address.

    :raises ChatbridgeError: there is none, or it cannot be reached; the message says what to do.
    """
    server = given.partition(":")[2] if given.startswith("@") else given.strip().rstrip("/")
    is_address = "://" in server
    candidates = [server] if is_address else [f"https://{server}", f"http://{server}"]
    usable = [base for base in map(usable_address, candidates) if base is not None]
    if not usable:
        raise ChatbridgeError(
            f"{server} is no address that can be used. An https:// address is needed, or one "
            "within your own network"
        )
    async with httpx.AsyncClient(
        timeout=ANSWERED_WITHIN,
        follow_redirects=True,
        max_redirects=REDIRECTS,
        event_hooks={"request": [_check_address]},
    ) as client:
        for base in usable:
            said = base if is_address else await _well_known(client, base)
            versions = said and await _json(client, f"{said}/_matrix/client/versions")
            if said and isinstance(value_at(versions, "versions"), list):
                return said
    raise ChatbridgeError(
        f"No Matrix server answers for {server}. Check the name and the network, or give its "
        "address, such as https://matrix.example.org"
    )


def usable_address(base: str) -> str | None:
    """As the settings take it."""
    try:
        return Matrix.model_validate({"homeserver": base}).homeserver
    except ValidationError:
        return None


async def _well_known(client: httpx.AsyncClient, base: str) -> str | None:
    """What the domain says; the domain itself if it says nothing; None if that cannot be used."""
    found = await _json(client, f"{base}/.well-known/matrix/client")
    address = value_at(found, "m.homeserver", "base_url")
    return usable_address(address.rstrip("/")) if isinstance(address, str) else base


async def _json(client: httpx.AsyncClient, url: str) -> Any:
    """None: nothing of that kind is there."""
    try:
        async with client.stream("GET", url) as answer:
            body = b""
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > LARGEST:
                    return None
        return safe_json.loads(body) if answer.status_code == httpx.codes.OK else None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError):
        return None


async def _check_address(request: httpx.Request) -> None:
    """Before each request, also of a redirect."""
    url = request.url
    if usable_address(f"{url.scheme}://{url.netloc.decode()}") is None:
        raise httpx.UnsupportedProtocol("no address that the settings take")
