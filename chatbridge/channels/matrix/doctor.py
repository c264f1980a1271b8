"""Matrix: the log-in, the device, and each room. Logs nobody in and reads no messages."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from chatbridge.channels.checks import (
    CheckContext,
    Finding,
    Mark,
    fine,
    from_error,
    problem,
    remark,
)
from chatbridge.channels.matrix.account import log_in
from chatbridge.channels.matrix.client.api import Api
from chatbridge.channels.matrix.client.errors import LoggedOut, Rejected
from chatbridge.channels.matrix.settings import Matrix
from chatbridge.core.errors import RetryLater
from chatbridge.safe_json import value_at

NAME = "matrix"
ANSWER_SECONDS = 6.0
SETUP = "chatbridge setup, choose Matrix; open questions wait"
USUAL_LEVEL = 0


async def check(table: Matrix, context: CheckContext) -> Sequence[Finding]:
    hub = await context.hub()
    assert table.user_id is not None
    assert table.homeserver is not None
    user, homeserver, found = table.user_id, table.homeserver, []
    if not table.allowed_users:
        what = "matrix.allowed_users is empty, so nobody can answer there"
        found.append(problem(NAME, what, "add your id to it, such as @ada:example.org"))
    # What the hub uses: the token that is set, else that of the log-in that was kept.
    if table.access_token is not None:
        token = table.access_token.get_secret_value()
    else:
        folder = context.state / "matrix"
        kept = await asyncio.to_thread(log_in.load, folder, user_id=user, homeserver=homeserver)
        if kept is None:
            what = "not logged in yet: the hub logs in with the password when it starts"
            return [*found, remark(NAME, what)]
        token = kept.access_token
    async with Api(homeserver, user, hint="matrix.access_token", patience=ANSWER_SECONDS) as api:
        try:
            device = await api.device_of(token)
            rooms = await _rooms(table, context)
            looked = await asyncio.gather(*(_room(api, table, room) for room in rooms))
            is_encrypted = any(encrypted for _, encrypted in looked)
            unsigned = await _unsigned(api, device, hub.remarks) if is_encrypted else []
        except LoggedOut as error:
            if "belongs to" in str(error):
                return [*found, from_error(NAME, str(error))]
            return [*found, problem(NAME, "access token refused.", SETUP)]
        except (RetryLater, Rejected) as error:
            what = str(error).removeprefix("matrix: ")
            return [*found, problem(NAME, what, "check the network, and matrix.homeserver")]
    found += [*(finding for findings, _ in looked for finding in findings), *unsigned]
    if not rooms:
        fix = f"start a chat with {user} in your Matrix app, or set matrix.room_id"
        found.append(problem(NAME, "nobody has invited the bot yet", fix))
    if not found and (told := hub.trouble_of(NAME)):
        found.append(from_error(NAME, told))
    number = "1 room" if len(rooms) == 1 else f"{len(rooms):,} rooms"
    encrypted = sum(is_so for _, is_so in looked)
    how = {0: "not encrypted", len(rooms): "encrypted"}.get(encrypted, f"{encrypted} encrypted")
    details = {"user": user, "device": device, "rooms": list(rooms), "encrypted": encrypted}
    return found or [fine(NAME, f"{user} can write to {number}, {how}", **details)]


async def _rooms(table: Matrix, context: CheckContext) -> Sequence[str]:
    """Where cards go now: a room may have been upgraded, or come of an invitation."""
    known = await context.notes(NAME)
    found = [known.get(f"room:{home}", home) for home in table.room_id or table.allowed_users]
    return [room for room in dict.fromkeys(found) if room.startswith("!")]


async def _room(api: Api, table: Matrix, room: str) -> tuple[list[Finding], bool]:
    """What is wrong with it, and whether it is encrypted."""
    status, found = await api.request("GET", f"/rooms/{quote(room, safe='')}/members")
    members = _members(found)
    if status != 200 or members.get(api.user_id) != "join":
        fix = f"Invite {api.user_id} there, from an account in matrix.allowed_users"
        return [problem(NAME, f"the bot is not in the room {room}", fix)], False
    status, _ = await api.state(room, "m.room.encryption")
    encrypted = status == 200
    _, levels = await api.state(room, "m.room.power_levels")
    problems = []
    own = _level(levels, "users", api.user_id)
    if own < _level(levels, "events", "m.room.encrypted" if encrypted else "m.room.message"):
        fix = "ask a moderator to raise the bot's power level"
        problems.append(problem(NAME, f"the bot may not write to the room {room}", fix))
    allowed = {*table.allowed_users} - {api.user_id}
    if allowed and not any(members.get(person) == "join" for person in allowed):
        what = f"nobody who may answer is in the room {room}"
        problems.append(problem(NAME, what, "invite yourself, or set matrix.room_id"))
    if strangers := len(members.keys() - allowed - {api.user_id}):
        fix = "They cannot answer, but they can read. Use a private room."
        problems.append(remark(NAME, f"Strangers are in the room: {strangers}.", fix, room=room))
    return problems, encrypted


def _members(found: Mapping[str, Any]) -> dict[str, str]:
    """Who is in the room or invited to it, and which."""
    chunk = found.get("chunk")
    return {
        str(event.get("state_key")): membership
        for event in (chunk if isinstance(chunk, list) else ())
        if (membership := value_at(event, "content", "membership")) in ("join", "invite")
    }


def _level(levels: Mapping[str, Any], of: str, name: str) -> int:
    """The power level of a user, or the one that an event needs."""
    found = (value_at(levels, of, name), levels.get(f"{of}_default"))
    return next((level for level in found if isinstance(level, int)), USUAL_LEVEL)


async def _unsigned(api: Api, device: str | None, remarks: Sequence[str]) -> list[Finding]:
    """Whether people's apps mark what the bot says, as the hub knows it or as the server does."""
    said = next((each for each in remarks if each.startswith("Matrix marks")), None)
    if said is not None:
        return [from_error(NAME, said, mark=Mark.REMARK)]
    if device is None:
        what = "this access token has no device, so nothing can be encrypted"
        return [problem(NAME, what, SETUP)]
    user = api.user_id
    _, found = await api.request("POST", "/keys/query", {"device_keys": {user: []}})
    keys = value_at(found, "device_keys", user, device)
    if keys is None:
        what = f"the homeserver does not have the keys of the bot's device {device}"
        return [remark(NAME, what, "start the hub: it uploads them")]
    signers = value_at(found, "self_signing_keys", user, "keys") or {}
    signatures = value_at(keys, "signatures", user) or {}
    if not any(f"ed25519:{key}" in signatures for key in signers.values()):
        what = f"people's apps mark what the bot says as not verified (device {device})"
        return [remark(NAME, what, "start the hub: it signs its device if it can")]
    return []
