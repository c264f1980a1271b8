"""The keys of the bot's device: that others have what they need to read it, and to write to it.

nio does this by itself, but for what goes wrong on the way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from nio.client.async_client import AsyncClient
from nio.crypto.olm_machine import Olm
from nio.responses import (
    JoinedMembersResponse,
    KeysClaimResponse,
    KeysQueryResponse,
    KeysUploadResponse,
    ShareGroupSessionResponse,
)

from chatbridge.channels.matrix.client.errors import checked
from chatbridge.core.errors import RetryLater

Body = dict[str, Any]
Request = Callable[[str, str, Body], Awaitable[tuple[int, Body]]]
"""Takes the method, the path and the body, with the bot's token; gives the status and the body."""


class Keys:
    def __init__(self, client: AsyncClient, request: Request) -> None:
        self._client = client
        self._request = request
        self._sharing = asyncio.Lock()

    async def keep(self) -> None:
        """After each sync."""
        client = self._client
        if client.olm is None:
            return
        if client.should_upload_keys:
            await self._upload(client.olm)
        if client.should_query_keys:
            checked(await client.keys_query(), KeysQueryResponse)
        if client.should_claim_keys:
            found = await client.keys_claim(client.get_users_for_key_claiming())
            checked(found, KeysClaimResponse)
        await client.send_to_device_messages()

    async def share(self, room: str) -> None:
        """Give everybody in the room the key of what is sent there next. Left to itself, nio takes
        it for given though a request failed, and nobody could read the message; or it waits for
        one that failed, for ever.

        :raises RetryLater: somebody has not got it.
        """
        olm = self._client.olm
        if olm is None:
            return
        async with self._sharing:
            await self._share(room, olm)

    async def _share(self, room: str, olm: Olm) -> None:
        client = self._client
        if not client.rooms[room].members_synced:
            checked(await client.joined_members(room), JoinedMembersResponse)
        if client.should_query_keys:
            checked(await client.keys_query(), KeysQueryResponse)
        if not olm.should_share_group_session(room):
            return
        if missing := client.get_missing_sessions(room):
            checked(await client.keys_claim(missing), KeysClaimResponse)
        try:
            answer = await client.share_group_session(room, ignore_unverified_devices=True)
        except BaseException:
            client.sharing_session.pop(room, None)
            raise
        given = checked(answer, ShareGroupSessionResponse).users_shared_with
        if not self._reachable(room, olm) <= given:
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

    async def _upload(self, olm: Olm) -> None:
        """nio would note new keys once they are known to have arrived. If the hub was killed before
        that, the next would make others by the same names, and no server takes those."""
        content = olm.share_keys()
        olm.save_account()
        _, found = await self._request("POST", "/keys/upload", content)
        answer = checked(KeysUploadResponse.from_dict(found), KeysUploadResponse)
        await self._client.receive_response(answer)


def check_database(path: Path) -> None:
    """Before nio opens it, which would leave a file open that is no database.

    :raises ValueError:
    """
    if path.exists():
        with open(path, "rb") as file:
            if file.read(16) not in (b"", b"SQLite format 3\0"):
                raise ValueError("no database")
