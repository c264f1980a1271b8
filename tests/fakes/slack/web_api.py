"""The Web API methods that chatbridge uses, checked as Slack checks them, with Slack's codes."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from chatbridge.channels.slack.api import SCOPES
from chatbridge.core.ports import Clock
from tests.fakes.kept_files import KeptFiles
from tests.fakes.slack import blocks, files
from tests.fakes.slack.limits import RateLimits
from tests.fakes.slack.socket_mode import SocketMode
from tests.fakes.slack.workspace import APP, BOT, TEAM, Json, Refused, Room

TRIGGER_SECONDS = 3.0
LONGEST_TEXT, LARGEST_METADATA, LARGEST_VIEW = 40_000, 16_000, 250_000
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


class WebApi(SocketMode):
    def __init__(self, clock: Clock, *, app: str = APP) -> None:
        super().__init__(clock, app=app)
        self.scopes = set(SCOPES)
        self.app_scopes = {"connections:write"}
        self.calls: Counter[str] = Counter()
        self.limits = RateLimits(clock.monotonic)
        self.whispers: list[tuple[str, str]] = []
        """Who was told what that nobody else sees."""
        self.views: dict[str, Json] = {}
        self.files: list[tuple[str, str | None, bytes]] = []
        self.token_error, self.app_token_error = "", ""
        """What either token is answered with."""
        self.faults: dict[str, Fault] = {}
        self.base = ""
        self._triggers: dict[str, float] = {}
        self.shows: asyncio.Event | None = None
        """Messages with files are in the conversation once this is set."""
        self.kept = KeptFiles()
        """What people have sent."""
        self.redirects = False
        """Who may not read a file is sent to the page for logging in, instead of given it."""
        self._uploads: dict[str, files.Uploading] = {}

    async def _call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        self.calls[method] += 1
        fault = self._fault(method)
        if fault is not None:
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
            if (pause := self.limits.pause(method, str(given.get("channel")))) is not None:
                self._change()
                return web.json_response(
                    {"ok": False, "error": "ratelimited"},
                    status=429,
                    headers=headers | {"Retry-After": str(pause)},
                )
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

    def _fault(self, method: str) -> Fault | None:
        fault = self.faults.get(method)
        if fault is not None:
            fault.times -= 1
            if fault.times <= 0:
                del self.faults[method]
        return fault

    def _authorize(self, method: str, header: str, given: Json) -> None:
        token = header.removeprefix("Bearer ")
        if not token:
            raise Refused("not_authed")
        if self.token_error:
            raise Refused(self.token_error)
        if method == "apps.connections.open":
            if token == self.bot_token:
                raise Refused("not_allowed_token_type")
            if token != self.app_token or self.app_token_error:
                raise Refused(self.app_token_error or "invalid_auth")
            self._needs("connections:write", self.app_scopes)
            return
        if token != self.bot_token:
            raise Refused("not_allowed_token_type" if token == self.app_token else "invalid_auth")
        needed = SCOPE_OF.get(method)
        room = str(given.get("channel") or "")
        if method in ("conversations.history", "conversations.replies"):
            needed = f"{BY_ROOM.get(room[:1], 'channels')}:history"
        if method == "conversations.info" and room[:1] != "D":
            needed = f"{BY_ROOM.get(room[:1], 'channels')}:read"
        if needed:
            self._needs(needed, self.scopes)

    @staticmethod
    def _needs(scope: str, scopes: set[str]) -> None:
        if scope not in scopes:
            provided = ",".join(sorted(scopes))
            raise Refused("missing_scope", needed=scope, provided=provided)

    def _room(self, given: Json, *, writing: bool = False) -> Room:
        room = self.rooms.get(str(given.get("channel")))
        if room is None:
            raise Refused("channel_not_found")
        if BOT not in room.members:
            raise Refused("not_in_channel")
        if writing and room.archived:
            raise Refused("is_archived")
        if writing and room.restricted:
            raise Refused(room.restricted)
        return room

    def _own_message(self, given: Json, *, otherwise: str) -> tuple[Room, Json]:
        """A message of the app's that is to be changed. In an archived channel none can be."""
        room = self._room(given)
        if room.archived:
            raise Refused("is_inactive")
        message = room.messages.get(str(given.get("ts")))
        if message is None:
            raise Refused("message_not_found")
        if message["user"] != BOT:
            raise Refused(otherwise)
        return room, message

    async def _auth_test(self, _: Json) -> Json:
        return {"user_id": BOT, "team_id": TEAM, "team": "Acme", "user": "chatbridge"}

    async def _apps_connections_open(self, _: Json) -> Json:
        ticket = f"t{next(self._numbers)}"
        self.tickets.add(ticket)
        return {"url": f"{self.base.replace('http', 'ws', 1)}/link?ticket={ticket}"}

    async def _conversations_open(self, given: Json) -> Json:
        user = str(given.get("users"))
        if not given.get("users"):
            raise Refused("users_list_not_supplied")
        if user not in self.people:
            raise Refused("user_not_found")
        if user in self.disabled:
            raise Refused("user_disabled")
        if user in self.bots:
            raise Refused("cannot_dm_bot")
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
        threads = _threads(room)
        page = self._page(
            given,
            [_with_thread(each, threads.get(each["ts"])) for each in threads.get(None, ())],
            # The page that is the nearest to the only time that is given.
            forward="oldest" in given and "latest" not in given,
        )
        return page | {"messages": sorted(page["messages"], key=_time, reverse=True)}

    async def _conversations_replies(self, given: Json) -> Json:
        room, root = self._room(given), str(given.get("ts"))
        if root not in room.messages:
            raise Refused("thread_not_found")
        found = _threads(room).get(root, [])
        first = _with_thread(room.messages[root], found)
        return self._page(given, found, forward=True, first=first)

    def _page(
        self, given: Json, messages: list[Json], *, forward: bool, first: Json | None = None
    ) -> Json:
        """`first` is on the first page whatever its time, and one of those that it takes."""
        oldest, latest = float(given.get("oldest") or 0), float(given.get("latest") or "inf")
        inclusive = str(given.get("inclusive", "")).lower() in ("1", "true")
        limit = int(given.get("limit") or 100)
        if not 1 <= limit <= 999:
            raise Refused("invalid_limit")

        def fits(ts: float) -> bool:
            return oldest <= ts <= latest if inclusive else oldest < ts < latest

        wanted = (each for each in messages if fits(_time(each)))
        found = sorted(wanted, key=_time, reverse=not forward)
        found = [first, *found] if first is not None else found
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
        if isinstance(found, str):
            try:
                found = json.loads(found)
            except ValueError:
                raise Refused("invalid_blocks_format") from None
        if found is not None:
            if wrong := blocks.problems(found):
                raise Refused("invalid_blocks", response_metadata={"messages": wrong})
            if blocks.characters(found) > blocks.MOST_CHARACTERS:
                raise Refused("msg_blocks_too_long")
        text = str(given.get("text") or "")
        if not text and not found:
            raise Refused("no_text")
        if len(text) > LONGEST_TEXT:
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
            if len(json.dumps(metadata)) > LARGEST_METADATA:
                raise Refused("metadata_too_large")
            message["metadata"] = metadata
        if thread := given.get("thread_ts"):
            if thread not in room.messages:
                raise Refused("thread_not_found")
            message["thread_ts"] = thread
        await self._happened(room, message)
        return {"channel": room.id, "ts": message["ts"], "message": message}

    async def _chat_update(self, given: Json) -> Json:
        room, message = self._own_message(given, otherwise="cant_update_message")
        age = self.clock.time() - float(message["ts"])
        if self.edit_window is not None and age > self.edit_window:
            raise Refused("edit_window_closed")
        checked = self._checked(given)
        if _is_rich(message["blocks"]) and checked["blocks"] and not _is_rich(checked["blocks"]):
            raise Refused("block_mismatch")
        message |= checked  # its metadata stays, if no other is given
        event = {"type": "message", "subtype": "message_changed", "hidden": True}
        await self._happened(room, event | {"message": message, "ts": self.time()})
        return {"channel": room.id, "ts": message["ts"], "text": message["text"]}

    async def _chat_delete(self, given: Json) -> Json:
        room, message = self._own_message(given, otherwise="cant_delete_message")
        self.delete(room, message["ts"])
        return {"channel": room.id, "ts": message["ts"]}

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
        if len(json.dumps(found)) > LARGEST_VIEW:
            raise Refused("view_too_large")
        if wrong := blocks.modal_problems(found):
            raise Refused("invalid_arguments", response_metadata={"messages": wrong})
        self._triggers[trigger] = -1.0
        name = f"V{next(self._numbers)}"
        self.views[name] = found | {"id": name}
        self._change()
        return {"view": self.views[name]}

    async def _files_getUploadURLExternal(self, given: Json) -> Json:  # noqa: N802 - Slack's name
        name = f"F{next(self._numbers)}"
        self._uploads[name] = files.upload(given)
        return {"upload_url": f"{self.base}/upload/{name}", "file_id": name}

    async def _upload(self, request: web.Request) -> web.Response:
        """No token comes along."""
        self.calls["upload"] += 1
        fault, it = self._fault("upload"), self._uploads.get(request.match_info["name"])
        content = await request.read()
        if fault is not None and fault.cut:
            assert request.transport is not None
            request.transport.abort()
        if fault is not None and fault.status != 200:
            return web.Response(status=fault.status, headers=fault.headers)
        if it is None or it.content is not None:
            raise web.HTTPNotFound
        if len(content) != it.length or "Authorization" in request.headers:
            raise web.HTTPBadRequest
        it.content = content
        return web.Response(text=f"OK - {len(content)}")

    async def _files_completeUploadExternal(self, given: Json) -> Json:  # noqa: N802
        room = self._room({"channel": given.get("channel_id")}, writing=True)
        before = {**self._uploads}
        message = files.completed(given, self._uploads, room)
        for each in message["files"]:
            content = before[each["id"]].content or b""
            self.files.append((each["name"], given.get("thread_ts"), content))
        self._change()
        showing = asyncio.ensure_future(self._show(room, message))
        if self.shows is None:
            await showing
        else:
            self._watching.add(showing)
        return {"files": message["files"]}

    async def _show(self, room: Room, message: Json) -> None:
        if self.shows is not None:
            await self.shows.wait()
        await self._happened(room, message | {"ts": self.time()})

    async def _download(self, request: web.Request) -> web.StreamResponse:
        token = request.headers.get("Authorization", "")
        allowed = token == f"Bearer {self.bot_token}" and "files:read" in self.scopes
        return await files.give(request, self.kept, allowed=allowed, redirects=self.redirects)


def _time(message: Json) -> float:
    return float(message["ts"])


def _root(message: Json) -> str | None:
    root = message.get("thread_ts")
    return str(root) if root and root != message["ts"] else None


def _threads(room: Room) -> dict[str | None, list[Json]]:
    """The replies to each message; under None what is no reply."""
    found: dict[str | None, list[Json]] = {}
    for each in room.messages.values():
        found.setdefault(_root(each), []).append(each)
    return found


def _with_thread(message: Json, replies: list[Json] | None) -> Json:
    if not replies:
        return message
    return message | {
        "thread_ts": message["ts"],
        "reply_count": len(replies),
        "latest_reply": max((each["ts"] for each in replies), key=float),
    }


def _named(found: Any, number: str) -> Any:
    """Slack names blocks that have no name, anew with each edit."""
    if not isinstance(found, list):
        return found
    return [{"block_id": f"b{number}.{i}"} | each for i, each in enumerate(found)]


def _is_rich(found: Any) -> bool:
    return isinstance(found, list) and any(each["type"] == "rich_text" for each in found)
