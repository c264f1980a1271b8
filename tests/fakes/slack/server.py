"""A Slack workspace on loopback: the Web API methods that chatbridge uses, and Socket Mode.

It refuses what Slack refuses, with Slack's codes: tokens, scopes, conversations, blocks, metadata,
old triggers. What happens is sent over one of the app's connections; what is not acknowledged is
kept, and a test has it sent again. Not confirmed by a real workspace: that `chat.update` keeps the
metadata of a message, that rich text with a `user` element notifies as typed mentions do, in which
order `conversations.history` pages when only `oldest` is given (here: the newest first), and that
an app reads its own metadata without `metadata.message:read`.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from aiohttp import web

from chatbridge.channels.slack.api import SCOPES
from chatbridge.core.ports import Clock
from tests.fakes.slack import blocks

Json = dict[str, Any]

TEAM, APP, BOT = "T0000001", "A0000001", "U000000B"
BOT_TOKEN, APP_TOKEN = "xoxb-1-2-test-token", f"xapp-1-{APP}-3-test-token"
TRIGGER_SECONDS, ACKNOWLEDGE_SECONDS = 3.0, 3.0
SCOPE_OF = {
    "chat.postMessage": "chat:write",
    "chat.postEphemeral": "chat:write",
    "chat.update": "chat:write",
    "chat.delete": "chat:write",
    "conversations.open": "im:write",
    "reactions.add": "reactions:write",
    "users.info": "users:read",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
}
BY_ROOM = {"D": "im", "C": "channels", "G": "groups"}


class Refused(Exception):
    def __init__(self, code: str, **more: Any) -> None:
        super().__init__(code)
        self.answer = {"ok": False, "error": code, **more}


@dataclass(slots=True, kw_only=True)
class Room:
    id: str
    members: set[str]
    archived: bool = False
    messages: dict[str, Json] = field(default_factory=dict)
    """In threads and outside, by their times."""

    @property
    def is_direct(self) -> bool:
        return self.id.startswith("D")


@dataclass(slots=True, kw_only=True, eq=False)
class Sending:
    """Something that happened, on its way to the app."""

    kind: str
    payload: Json
    attempt: int = 0
    acknowledged: asyncio.Future[Json | None] = field(default_factory=asyncio.Future)
    """With what the acknowledgement says."""


@dataclass(slots=True, kw_only=True)
class Fault:
    """What becomes of the next calls of a method."""

    times: int = 1
    error: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    """It is done, and the connection is cut before anybody hears so."""
    body: str = ""


class Slack:
    def __init__(self, clock: Clock, *, app: str = APP) -> None:
        self.clock = clock
        self.app = app
        self.bot_token, self.app_token = BOT_TOKEN, APP_TOKEN.replace(APP, app)
        self.scopes = set(SCOPES)
        self.people: dict[str, str] = {BOT: "chatbridge"}
        self.rooms: dict[str, Room] = {}
        self.calls: Counter[str] = Counter()
        self.whispers: list[tuple[str, str]] = []
        """Who was told what that nobody else sees."""
        self.views: dict[str, Json] = {}
        self.files: list[tuple[str, str | None, bytes]] = []
        self.others = 0
        """Connections of other programs with this app."""
        self.swallowing = 0
        """How many of the next things go to those."""
        self.token_error = ""
        self.pongs = True
        self.unacknowledged: list[Sending] = []
        self.faults: dict[str, Fault] = {}
        self.changed = asyncio.Event()
        self._connections: list[web.WebSocketResponse] = []
        self._waiting: dict[str, Sending] = {}
        self._triggers: dict[str, float] = {}
        self._uploads: dict[str, tuple[str, bytes]] = {}
        self._numbers = count(1)
        self._last = 0.0
        self.base = ""

    # ── the workspace ─────────────────────────────────────────────────────────────────────────────

    def person(self, name: str) -> str:
        user = f"U{len(self.people):07}"
        self.people[user] = name
        return user

    def channel(self, *members: str, private: bool = False) -> Room:
        room = Room(id=f"{'G' if private else 'C'}{len(self.rooms):07}", members={BOT, *members})
        self.rooms[room.id] = room
        return room

    def direct(self, user: str) -> Room:
        known = (each for each in self.rooms.values() if each.is_direct and user in each.members)
        room = next(known, None) or Room(id=f"D{len(self.rooms):07}", members={BOT, user})
        return self.rooms.setdefault(room.id, room)

    def time(self) -> str:
        self._last = max(self._last + 0.000_001, round(self.clock.time(), 6))
        return f"{self._last:.6f}"

    async def say(
        self, user: str, room: Room, text: str, *, thread: str | None = None, **more: Any
    ) -> Sending:
        """`text` as typed: Slack escapes it."""
        for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
            text = text.replace(sign, entity)
        message = {"type": "message", "user": user, "text": text, "ts": self.time(), **more}
        if thread is not None:
            message |= {"thread_ts": thread, "parent_user_id": room.messages[thread]["user"]}
        return await self._happened(room, message)

    async def tap(self, user: str, room: Room, message: Json, action: Json) -> Sending:
        trigger = f"{next(self._numbers)}.trigger"
        self._triggers[trigger] = self.clock.monotonic()
        payload = {
            "type": "block_actions",
            "user": {"id": user, "username": self.people[user], "team_id": TEAM},
            "team": {"id": TEAM},
            "channel": {"id": room.id, "name": "team"},
            "container": {"type": "message", "message_ts": message["ts"], "channel_id": room.id},
            "message": message,
            "trigger_id": trigger,
            "actions": [action | {"action_ts": self.time()}],
        }
        return await self.send("interactive", payload)

    async def press(self, user: str, room: Room, message: Json, label: str) -> Sending:
        """Tap the button that is called so."""
        found = (
            {"type": "button", "value": each["value"], "block_id": block["block_id"]}
            for block in message["blocks"]
            for each in block.get("elements", ())
            if each["type"] == "button" and each["text"]["text"] == label
        )
        return await self.tap(user, room, message, next(found) | {"action_id": "0"})

    def bot_said(self, room: Room, text: str = "") -> list[Json]:
        """The bot's messages that have this in them, the oldest first."""
        mine = (each for each in room.messages.values() if each["user"] == BOT)
        return [each for each in mine if text in blocks.words(each.get("blocks"))]

    async def sees(self, room: Room, text: str) -> Json:
        """The bot's newest message that has this in it, once there is one."""
        found: list[Json] = await self.until(lambda: self.bot_said(room, text))
        return found[-1]

    async def command(self, user: str, room: Room, text: str) -> Sending:
        payload = {
            "command": "/chatbridge",
            "text": text,
            "user_id": user,
            "channel_id": room.id,
            "team_id": TEAM,
        }
        return await self.send("slash_commands", payload)

    async def submit(self, user: str, view: Json, text: str) -> Sending:
        block = view["blocks"][0]
        state = {block["block_id"]: {block["element"]["action_id"]: {"value": text}}}
        shown = view | {"state": {"values": state}}
        payload = {"type": "view_submission", "user": {"id": user}, "view": shown}
        return await self.send("interactive", payload)

    # ── Socket Mode ───────────────────────────────────────────────────────────────────────────────

    async def send(self, kind: str, payload: Json, *, attempt: int = 0) -> Sending:
        sending = Sending(kind=kind, payload=payload, attempt=attempt)
        if kind == "events_api":
            self.unacknowledged.append(sending)
        await self._deliver(sending)
        return sending

    async def send_again(self) -> list[Sending]:
        """What a minute later would be sent again."""
        late, self.unacknowledged = self.unacknowledged, []
        return [await self.send(each.kind, each.payload, attempt=each.attempt + 1) for each in late]

    async def _deliver(self, sending: Sending) -> None:
        if self.swallowing:
            self.swallowing -= 1
            return
        live = [each for each in self._connections if not each.closed]
        if not live:
            return
        envelope = f"e{next(self._numbers)}"
        self._waiting[envelope] = sending
        said: Json = {
            "envelope_id": envelope,
            "type": sending.kind,
            "payload": sending.payload,
            "accepts_response_payload": sending.kind != "events_api",
        }
        if sending.kind == "events_api":
            reason = "timeout" if sending.attempt else ""
            said |= {"retry_attempt": sending.attempt, "retry_reason": reason}
        await live[-1].send_json(said)

    async def disconnect(self, reason: str) -> None:
        for each in [*self._connections]:
            await each.send_json({"type": "disconnect", "reason": reason, "debug_info": {}})

    async def cut_connections(self) -> None:
        for each in [*self._connections]:
            await each.close()

    @property
    def connected(self) -> int:
        return sum(not each.closed for each in self._connections)

    async def _link(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(autoping=self.pongs)
        await socket.prepare(request)
        self._connections.append(socket)
        hello = {
            "type": "hello",
            "num_connections": self.connected + self.others,
            "connection_info": {"app_id": self.app},
            "debug_info": {"host": "test", "approximate_connection_time": 18060},
        }
        await socket.send_json(hello)
        self._change()
        try:
            async for frame in socket:
                if frame.type is web.WSMsgType.TEXT:
                    self._acknowledged(json.loads(frame.data))
        finally:
            self._connections.remove(socket)
            self._change()
        return socket

    def _acknowledged(self, said: Json) -> None:
        sending = self._waiting.pop(said["envelope_id"])
        if sending in self.unacknowledged:
            self.unacknowledged.remove(sending)
        if not sending.acknowledged.done():
            sending.acknowledged.set_result(said.get("payload"))
        self._change()

    async def _happened(self, room: Room, message: Json) -> Sending:
        if message.get("subtype") not in ("message_changed", "message_deleted"):
            room.messages[message["ts"]] = message
        kind = "im" if room.is_direct else "channel"
        event = message | {"channel": room.id, "channel_type": kind, "event_ts": message["ts"]}
        payload = {"type": "event_callback", "event_id": f"Ev{next(self._numbers)}", "event": event}
        self._change()
        return await self.send("events_api", payload)

    def _change(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    # ── the Web API ───────────────────────────────────────────────────────────────────────────────

    async def _call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        self.calls[method] += 1
        fault = self.faults.get(method)
        if fault is not None:
            fault.times -= 1
            if fault.times <= 0:
                del self.faults[method]
            if fault.body:
                return web.Response(text=fault.body, status=fault.status, content_type="text/html")
            if fault.error or fault.status != 200:
                answer = {"ok": False, "error": fault.error}
                return web.json_response(answer, status=fault.status, headers=fault.headers)
        given: Json = dict(request.query)
        if request.content_type == "application/json":
            given |= await request.json()
        else:
            given |= dict(await request.post())
        headers = {"x-oauth-scopes": ",".join(sorted(self.scopes))}
        try:
            self._authorize(method, request.headers.get("Authorization", ""), given)
            handler: Callable[[Json], Any] | None = getattr(
                self, f"_{method.replace('.', '_')}", None
            )
            if handler is None:
                raise Refused("unknown_method")
            answer = {"ok": True} | (await handler(given) or {})
        except Refused as error:
            answer = error.answer
        if fault is not None and fault.cut:
            assert request.transport is not None
            request.transport.abort()
        return web.json_response(answer, headers=headers)

    def _authorize(self, method: str, header: str, given: Json) -> None:
        token = header.removeprefix("Bearer ")
        if not token:
            raise Refused("not_authed")
        if self.token_error:
            raise Refused(self.token_error)
        if method == "apps.connections.open":
            if token == self.bot_token:
                raise Refused("not_allowed_token_type")
            if token != self.app_token:
                raise Refused("invalid_auth")
            return
        if token != self.bot_token:
            raise Refused("not_allowed_token_type" if token == self.app_token else "invalid_auth")
        needed = SCOPE_OF.get(method)
        room = str(given.get("channel") or "")
        if method in ("conversations.history", "conversations.replies"):
            needed = f"{BY_ROOM.get(room[:1], 'channels')}:history"
        if method == "conversations.info" and room[:1] != "D":
            needed = f"{BY_ROOM.get(room[:1], 'channels')}:read"
        if needed and needed not in self.scopes:
            provided = ",".join(sorted(self.scopes))
            raise Refused("missing_scope", needed=needed, provided=provided)

    def _room(self, given: Json, *, writing: bool = False) -> Room:
        room = self.rooms.get(str(given.get("channel")))
        if room is None:
            raise Refused("channel_not_found")
        if BOT not in room.members:
            raise Refused("not_in_channel")
        if writing and room.archived:
            raise Refused("is_archived")
        return room

    async def _auth_test(self, _: Json) -> Json:
        return {"user_id": BOT, "team_id": TEAM, "team": "Acme", "user": "chatbridge"}

    async def _apps_connections_open(self, _: Json) -> Json:
        return {"url": f"{self.base.replace('http', 'ws', 1)}/link"}

    async def _conversations_open(self, given: Json) -> Json:
        user = str(given.get("users"))
        if user not in self.people:
            raise Refused("users_not_found")
        return {"channel": {"id": self.direct(user).id}}

    async def _conversations_info(self, given: Json) -> Json:
        room = self.rooms.get(str(given.get("channel")))
        if room is None:
            raise Refused("channel_not_found")
        return {
            "channel": {
                "id": room.id,
                "is_archived": room.archived,
                "is_member": BOT in room.members,
            }
        }

    async def _users_info(self, given: Json) -> Json:
        user = str(given.get("user"))
        if user not in self.people:
            raise Refused("user_not_found")
        name = self.people[user]
        return {"user": {"id": user, "name": name.lower(), "real_name": name, "profile": {}}}

    async def _conversations_history(self, given: Json) -> Json:
        room = self._room(given)
        found = [each for each in room.messages.values() if _root(each) is None]
        return self._page(given, [self._with_thread(room, each) for each in found])

    async def _conversations_replies(self, given: Json) -> Json:
        room, root = self._room(given), str(given.get("ts"))
        if root not in room.messages:
            raise Refused("thread_not_found")
        found = [each for each in room.messages.values() if _root(each) == root]
        page = self._page(given, found)
        return page | {
            "messages": [self._with_thread(room, room.messages[root]), *page["messages"]]
        }

    def _with_thread(self, room: Room, message: Json) -> Json:
        thread = [each["ts"] for each in room.messages.values() if _root(each) == message["ts"]]
        if not thread:
            return message
        newest = max(thread, key=float)
        return message | {
            "thread_ts": message["ts"],
            "reply_count": len(thread),
            "latest_reply": newest,
        }

    def _page(self, given: Json, messages: list[Json]) -> Json:
        oldest, latest = float(given.get("oldest") or 0), float(given.get("latest") or "inf")
        inclusive = str(given.get("inclusive", "")).lower() in ("1", "true")
        limit = int(given.get("limit") or 100)
        if not 1 <= limit <= 999:
            raise Refused("invalid_limit")

        def fits(ts: float) -> bool:
            return oldest <= ts <= latest if inclusive else oldest < ts < latest

        found = sorted(
            (each for each in messages if fits(float(each["ts"]))),
            key=lambda each: -float(each["ts"]),
        )
        start = int(given.get("cursor") or 0)
        more = start + limit < len(found)
        shown = found[start : start + limit]
        if str(given.get("include_all_metadata", "")).lower() not in ("1", "true"):
            shown = [{n: v for n, v in each.items() if n != "metadata"} for each in shown]
        return {
            "messages": shown,
            "has_more": more,
            "response_metadata": {"next_cursor": str(start + limit) if more else ""},
        }

    def _checked(self, given: Json) -> Json:
        found = given.get("blocks")
        if found is not None:
            if wrong := blocks.problems(found):
                raise Refused("invalid_blocks", response_metadata={"messages": wrong})
            if blocks.characters(found) > blocks.MOST_CHARACTERS:
                raise Refused("msg_blocks_too_long")
        text = str(given.get("text") or "")
        if not text and not found:
            raise Refused("no_text")
        if len(text) > 40_000:
            raise Refused("msg_too_long")
        return {"text": text, "blocks": _named(found, str(next(self._numbers)))}

    async def _chat_postMessage(self, given: Json) -> Json:  # noqa: N802 - Slack's name
        room = self._room(given, writing=True)
        message = self._checked(given) | {
            "type": "message",
            "user": BOT,
            "bot_id": "B1",
            "app_id": self.app,
            "ts": self.time(),
        }
        if metadata := given.get("metadata"):
            if not isinstance(metadata, dict) or metadata.keys() != {"event_type", "event_payload"}:
                raise Refused("invalid_metadata_format")
            if len(json.dumps(metadata)) > 16_000:
                raise Refused("metadata_too_large")
            message["metadata"] = metadata
        if thread := given.get("thread_ts"):
            if thread not in room.messages:
                raise Refused("thread_not_found")
            message["thread_ts"] = thread
        await self._happened(room, message)
        return {"channel": room.id, "ts": message["ts"], "message": message}

    async def _chat_update(self, given: Json) -> Json:
        room = self._room(given, writing=True)
        message = room.messages.get(str(given.get("ts")))
        if message is None:
            raise Refused("message_not_found")
        if message["user"] != BOT:
            raise Refused("cant_update_message")
        message |= self._checked(given)
        event = {"type": "message", "subtype": "message_changed", "hidden": True}
        await self._happened(room, event | {"message": message, "ts": self.time()})
        return {"channel": room.id, "ts": message["ts"], "text": message["text"]}

    async def _chat_delete(self, given: Json) -> Json:
        room = self._room(given, writing=True)
        message = room.messages.get(str(given.get("ts")))
        if message is None:
            raise Refused("message_not_found")
        if message["user"] != BOT:
            raise Refused("cant_delete_message")
        self.delete(room, message["ts"])
        return {"channel": room.id, "ts": message["ts"]}

    def delete(self, room: Room, ts: str) -> None:
        del room.messages[ts]
        self._change()

    async def _chat_postEphemeral(self, given: Json) -> Json:  # noqa: N802 - Slack's name
        room = self._room(given, writing=True)
        if given.get("user") not in room.members:
            raise Refused("user_not_in_channel")
        said = self._checked(given)
        self.whispers.append((given["user"], blocks.words(said["blocks"]) or said["text"]))
        self._change()
        return {"message_ts": self.time()}

    async def _reactions_add(self, given: Json) -> Json:
        message = self._room(given).messages.get(str(given.get("timestamp")))
        if message is None:
            raise Refused("message_not_found")
        reactions = message.setdefault("reactions", [])
        if given["name"] in reactions:
            raise Refused("already_reacted")
        reactions.append(given["name"])
        self._change()
        return {}

    async def _views_open(self, given: Json) -> Json:
        trigger, view = str(given.get("trigger_id")), given.get("view")
        opened = self._triggers.get(trigger)
        if opened is None:
            raise Refused("invalid_trigger_id")
        if opened < 0:
            raise Refused("exchanged_trigger_id")
        if self.clock.monotonic() - opened > TRIGGER_SECONDS:
            raise Refused("expired_trigger_id")
        found: Json = json.loads(view) if isinstance(view, str) else view or {}
        if wrong := blocks.modal_problems(found):
            raise Refused("invalid_arguments", response_metadata={"messages": wrong})
        self._triggers[trigger] = -1.0
        name = f"V{next(self._numbers)}"
        self.views[name] = found | {"id": name}
        self._change()
        return {"view": self.views[name]}

    async def _files_getUploadURLExternal(self, given: Json) -> Json:  # noqa: N802 - Slack's name
        name = f"F{next(self._numbers)}"
        self._uploads[name] = (str(given.get("filename")), b"")
        return {"upload_url": f"{self.base}/upload/{name}", "file_id": name}

    async def _upload(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        self._uploads[name] = (self._uploads[name][0], await request.read())
        return web.Response(text="OK")

    async def _files_completeUploadExternal(self, given: Json) -> Json:  # noqa: N802
        files = given.get("files")
        listed = json.loads(files) if isinstance(files, str) else files or []
        room = self._room({"channel": given.get("channel_id")}, writing=True)
        for each in listed:
            name, content = self._uploads.pop(each["id"])
            self.files.append((name, given.get("thread_ts"), content))
            message = {"type": "message", "user": BOT, "bot_id": "B1", "text": name}
            more = {"thread_ts": given["thread_ts"]} if given.get("thread_ts") else {}
            await self._happened(
                room, message | more | {"ts": self.time(), "subtype": "file_share"}
            )
        return {"files": listed}

    async def until(self, fits: Callable[[], Any]) -> Any:
        """What this returns once it is something; looked at after each change."""
        async with asyncio.timeout(20):
            while not (found := fits()):
                await self.changed.wait()
            return found


def _root(message: Json) -> str | None:
    root = message.get("thread_ts")
    return str(root) if root and root != message["ts"] else None


def _named(found: Any, number: str) -> Any:
    """Slack names blocks that have no name, anew with each edit."""
    if not isinstance(found, list):
        return found
    return [{"block_id": f"b{number}.{i}"} | each for i, each in enumerate(found)]


@asynccontextmanager
async def running_slack(clock: Clock, *, app: str = APP) -> AsyncIterator[Slack]:
    slack = Slack(clock, app=app)
    async with serving(slack, socket.create_server(("127.0.0.1", 0))):
        yield slack


@asynccontextmanager
async def serving(slack: Slack, at: socket.socket) -> AsyncIterator[None]:
    """It can be reached there meanwhile. A socket that is bound has its address before."""
    served = web.Application()
    served.router.add_route("*", "/api/{method}", slack._call)
    served.router.add_get("/link", slack._link)
    served.router.add_post("/upload/{name}", slack._upload)
    runner = web.AppRunner(served, shutdown_timeout=0.1)
    await runner.setup()
    await web.SockSite(runner, at).start()
    slack.base = f"http://127.0.0.1:{at.getsockname()[1]}"
    try:
        yield
    finally:
        await slack.cut_connections()
        await runner.cleanup()
