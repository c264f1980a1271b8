"""Matrix: the log-in, the device, and each room. Logs nobody in and reads no messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
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
from chatbridge.channels.matrix.settings import Matrix
from chatbridge.core.errors import RetryLater
from chatbridge.redaction import hide

if TYPE_CHECKING:
    from chatbridge.channels.matrix.client.api import Api

NAME = "matrix"
ANSWER_SECONDS = 6.0
REFUSED = "access token refused."
SETUP = "chatbridge setup, choose Matrix; open questions wait"
STRANGERS = "Strangers are in the room: {n}."
CAN_READ = "They cannot answer, but they can read. Use a private room."
CLIENT = "/_matrix/client/v3"
USUAL_LEVEL = 0


async def check(table: Matrix, context: CheckContext) -> Sequence[Finding]:
    hub = await context.hub()
    found = [] if table.allowed_users else [_nobody()]
    token = await asyncio.to_thread(_token, table, context)
    if token is None:
        what = "not logged in yet: the hub does that when it starts, with the password"
        return [*found, remark(NAME, what)]
    async with _api(table) as api:
        from chatbridge.channels.matrix.client.errors import LoggedOut, Rejected

        try:
            device = await api.device_of(token)
            rooms = await _rooms(table, context)
            looked = await asyncio.gather(*(_room(api, table, room) for room in rooms))
            unsigned = None
            if any(encrypted for _, encrypted in looked):
                unsigned = await _unsigned(api, device, hub.remarks)
        except LoggedOut as error:
            if "belongs to" in str(error):
                return [*found, from_error(NAME, str(error))]
            return [*found, problem(NAME, REFUSED, SETUP)]
        except (RetryLater, Rejected) as error:
            what = str(error).removeprefix("matrix: ")
            return [*found, problem(NAME, what, "check the network, and matrix.homeserver")]
    found += [finding for findings, _ in looked for finding in findings]
    found += [unsigned] if unsigned else []
    if not rooms:
        found.append(_no_room(table))
    if not found and (told := hub.trouble_of(NAME)):
        found.append(from_error(NAME, told))
    if found:
        return found
    number = "1 room" if len(rooms) == 1 else f"{len(rooms):,} rooms"
    encrypted = sum(is_so for _, is_so in looked)
    how = {0: "not encrypted", len(rooms): "encrypted"}.get(encrypted, f"{encrypted} encrypted")
    details = {"user": api.user_id, "device": device, "rooms": list(rooms), "encrypted": encrypted}
    return [fine(NAME, f"{api.user_id} can write to {number}, {how}", **details)]


def _token(table: Matrix, context: CheckContext) -> str | None:
    """What the hub uses: the token that is set, else that of the log-in that was kept."""
    if table.access_token is not None:
        return table.access_token.get_secret_value()
    from chatbridge.channels.matrix.account import session

    assert table.user_id is not None
    assert table.homeserver is not None
    kept = session.load(
        context.state / "matrix", user_id=table.user_id, homeserver=table.homeserver
    )
    if kept is None:
        return None
    hide(kept.access_token)
    return kept.access_token


@asynccontextmanager
async def _api(table: Matrix) -> AsyncIterator[Api]:
    kind = await asyncio.to_thread(_imported)
    assert table.user_id is not None
    assert table.homeserver is not None
    api = kind(
        table.homeserver,
        table.user_id,
        hint="matrix.access_token",
        patience=ANSWER_SECONDS,
    )
    try:
        yield api
    finally:
        await api.close()


def _imported() -> type[Api]:
    from chatbridge.channels.matrix.client.api import Api

    return Api


def _nobody() -> Finding:
    what = "matrix.allowed_users is empty, so nobody can answer there"
    return problem(NAME, what, "put your id into it, such as @ada:example.org")


def _no_room(table: Matrix) -> Finding:
    fix = f"start a chat with {table.user_id} in your Matrix app, or set matrix.room_id"
    return problem(NAME, "nobody has invited the bot yet", fix)


async def _rooms(table: Matrix, context: CheckContext) -> Sequence[str]:
    """Where cards go now: a room may have been upgraded, or come of an invitation."""
    known = await context.notes(NAME)
    homes = table.room_id or table.allowed_users
    found = [known.get(f"room:{home}", home) for home in homes]
    return [room for room in dict.fromkeys(found) if room.startswith("!")]


async def _room(api: Api, table: Matrix, room: str) -> tuple[list[Finding], bool]:
    """What is wrong with it, and whether it is encrypted."""
    at = f"{CLIENT}/rooms/{quote(room, safe='')}"
    status, found = await api.request("GET", f"{at}/members", None)
    members = _members(found)
    if status != 200 or members.get(api.user_id) != "join":
        fix = f"Invite {api.user_id} there, from an account in matrix.allowed_users"
        return [problem(NAME, f"the bot is not in the room {room}", fix)], False
    status, _ = await api.request("GET", f"{at}/state/m.room.encryption/", None)
    encrypted = status == 200
    _, levels = await api.request("GET", f"{at}/state/m.room.power_levels/", None)
    problems = []
    if not _may_write(levels, api.user_id, "m.room.encrypted" if encrypted else "m.room.message"):
        fix = "let somebody with the power to do so raise the bot's power level"
        problems.append(problem(NAME, f"the bot may not write to the room {room}", fix))
    allowed = {*table.allowed_users} - {api.user_id}
    if allowed and not any(members.get(person) == "join" for person in allowed):
        what = f"nobody who may answer is in the room {room}"
        problems.append(problem(NAME, what, "invite yourself, or set matrix.room_id"))
    strangers = len(members.keys() - allowed - {api.user_id})
    if strangers:
        problems.append(remark(NAME, STRANGERS.format(n=strangers), CAN_READ, room=room))
    return problems, encrypted


def _members(found: Mapping[str, Any]) -> dict[str, str]:
    """Who is in the room or invited to it, and which."""
    chunk = found.get("chunk")
    members = {}
    for event in chunk if isinstance(chunk, list) else ():
        content = event.get("content") if isinstance(event, dict) else None
        membership = content.get("membership") if isinstance(content, dict) else None
        if membership in ("join", "invite"):
            members[str(event.get("state_key"))] = str(membership)
    return members


def _may_write(levels: Mapping[str, Any], user: str, kind: str) -> bool:
    own = _number(levels, "users", user, _number(levels, "users_default", None, USUAL_LEVEL))
    needed = _number(levels, "events", kind, _number(levels, "events_default", None, USUAL_LEVEL))
    return own >= needed


def _number(levels: Mapping[str, Any], name: str, key: str | None, otherwise: int) -> int:
    found = levels.get(name)
    if key is not None:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, int) else otherwise


async def _unsigned(api: Api, device: str | None, remarks: Sequence[str]) -> Finding | None:
    """Whether people's apps mark what the bot says, as the hub knows it or as the server does."""
    said = next((each for each in remarks if each.startswith("Matrix marks")), None)
    if said is not None:
        return from_error(NAME, said, mark=Mark.REMARK)
    if device is None:
        what = "this access token has no device, so nothing can be encrypted"
        return problem(NAME, what, SETUP)
    user = api.user_id
    body: dict[str, Any] = {"device_keys": {user: []}}
    _, found = await api.request("POST", f"{CLIENT}/keys/query", body)
    keys = _at(found, "device_keys", user, device)
    if keys is None:
        what = f"the homeserver does not have the keys of the bot's device {device}"
        return remark(NAME, what, "start the hub: it gives them to it")
    signers = _at(found, "self_signing_keys", user, "keys") or {}
    signatures = _at(keys, "signatures", user) or {}
    if not any(f"ed25519:{key}" in signatures for key in signers.values()):
        what = f"people's apps mark what the bot says as not verified (device {device})"
        return remark(NAME, what, "start the hub: it signs its device if it can")
    return None


def _at(found: Any, *path: str) -> Any:
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found
