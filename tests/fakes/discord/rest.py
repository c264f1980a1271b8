"""The REST interface: what the bot asks for, checked as Discord checks it, and its rate limits."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from aiohttp import BodyPartReader, web

from tests.fakes.discord import limits
from tests.fakes.discord.gateway import STARTS_A_DAY, GatewayServer
from tests.fakes.discord.limits import EPHEMERAL, SENDABLE, V2, Json, Refused
from tests.fakes.discord.world import ATTACH, HISTORY, REACT, SEND, Message, Room, User, World

DEADLINE = 3.0
COMPONENT, COMMAND, SUBMIT = 3, 2, 5
BUCKETS = {
    "GET messages": (5, 5.0),
    "POST messages": (5, 5.0),
    "PATCH messages": (5, 5.0),
    "DELETE messages": (5, 1.0),
    "PUT reactions": (1, 0.25),
}
EVERYWHERE = ("everywhere", 50, 1.0)
"""Of the bot as a whole, but for the answers to interactions."""


@dataclass(slots=True, eq=False)
class Interaction:
    """What a person did with the app, and what they see of it."""

    id: str
    token: str
    kind: int
    person: User
    room: Room
    at: float
    message: Message | None = None
    answer: Json | None = None
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def told(self) -> str:
        """What only this person sees."""
        data = (self.answer or {}).get("data") or {}
        return str(data.get("content") or "") if data.get("flags", 0) & EPHEMERAL else ""

    @property
    def modal(self) -> Json | None:
        answer = self.answer or {}
        return answer["data"] if answer.get("type") == 9 else None


@dataclass(slots=True)
class Fault:
    """The next requests of this kind: a status instead of an answer, or no answer at all."""

    path: str
    times: int
    status: int = 0
    body: Json | None = None
    headers: dict[str, str] = field(default_factory=dict)
    after_effect: bool = False
    hold: asyncio.Event | None = None
    arrived: asyncio.Event = field(default_factory=asyncio.Event)


class Rest:
    def __init__(self, world: World, gateway: GatewayServer, token: str) -> None:
        self.world = world
        self.gateway = gateway
        self.token = token
        self.interactions: dict[str, Interaction] = {}
        self.commands: list[Json] = []
        self.faults: list[Fault] = []
        self.requests: list[tuple[str, str, Json]] = []
        self.while_reading: list[Callable[[], object]] = []
        """What happens just before the next history is read."""
        self.limited = False
        """Whether rate limits are counted. They go by the clock, which stands still in most
        tests."""
        self.refused: list[int] = []
        """The answers with which Discord would shut a bot out that gets ten thousand of them in ten
        minutes: 401, 403 and 429."""
        self._spent: dict[str, deque[float]] = {}

    def routes(self) -> list[web.RouteDef]:
        at = "/api/v10"
        messages = f"{at}/channels/{{room}}/messages"
        table: list[tuple[str, str, Callable[[web.Request, Json], Awaitable[Any]]]] = [
            ("GET", f"{at}/users/@me", self._me),
            ("GET", f"{at}/users/@me/guilds", self._guilds),
            ("GET", f"{at}/users/{{user}}", self._user),
            ("GET", f"{at}/applications/@me", self._application),
            ("GET", f"{at}/oauth2/applications/@me", self._application),
            ("PUT", f"{at}/applications/{{app}}/commands", self._commands),
            ("GET", f"{at}/gateway/bot", self._gateway),
            ("POST", f"{at}/users/@me/channels", self._direct),
            ("GET", f"{at}/channels/{{room}}", self._channel),
            ("POST", messages, self._send),
            ("GET", messages, self._history),
            ("GET", f"{messages}/{{message}}", self._message),
            ("PATCH", f"{messages}/{{message}}", self._edit),
            ("DELETE", f"{messages}/{{message}}", self._delete),
            ("PUT", f"{messages}/{{message}}/reactions/{{emoji}}/@me", self._react),
            ("POST", f"{at}/interactions/{{id}}/{{token}}/callback", self._callback),
        ]
        return [web.route(method, path, self._served(call)) for method, path, call in table]

    def _served(
        self, call: Callable[[web.Request, Json], Awaitable[Any]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def serve(request: web.Request) -> web.StreamResponse:
            body = await _body(request)
            self.requests.append((request.method, request.path, body))
            fault = self._fault(request)
            if fault is not None and not fault.after_effect:
                return await self._failed(fault, request)
            try:
                self._check(request)
                self._count(request)
                found = await call(request, body)
            except Refused as error:
                if error.status in (401, 403, 429):
                    self.refused.append(error.status)
                headers = self._headers(request)
                if error.status == 429:
                    everywhere = error.body["global"]
                    headers |= {
                        "Retry-After": str(math.ceil(error.body["retry_after"])),
                        "X-RateLimit-Scope": "global" if everywhere else "user",
                        "Via": "1.1 google",  # else libraries take it for a ban of the address
                    }
                    headers |= {"X-RateLimit-Global": "true"} if everywhere else {}
                return _json(error.body, status=error.status, headers=headers)
            if fault is not None:
                return await self._failed(fault, request)
            headers = self._headers(request)
            if found is None:
                return web.Response(status=204, headers=headers)
            return _json(found, headers=headers)

        return serve

    def _fault(self, request: web.Request) -> Fault | None:
        what = f"{request.method} {request.path}"
        for fault in self.faults:
            if fault.times and fault.path in what:
                fault.times -= 1
                return fault
        return None

    async def _failed(self, fault: Fault, request: web.Request) -> web.StreamResponse:
        fault.arrived.set()
        if fault.hold is not None:
            await fault.hold.wait()
        if not fault.status:
            if request.transport is not None:  # else the hub has gone
                request.transport.close()
            return web.Response()
        return _json(fault.body, status=fault.status, headers=fault.headers)

    def _check(self, request: web.Request) -> None:
        if "/interactions/" in request.path:
            return
        if not request.headers.get("User-Agent", "").startswith("DiscordBot ("):
            raise Refused(403, 40333, "internal network error")
        if request.headers.get("Authorization") != f"Bot {self.token}":
            raise Refused(401, 0, "401: Unauthorized")

    def _bucket(self, request: web.Request) -> tuple[str, int, float] | None:
        kind = f"{request.method} {'reactions' if '/reactions/' in request.path else 'messages'}"
        if not self.limited or kind not in BUCKETS or "room" not in request.match_info:
            return None
        return f"{kind} {request.match_info['room']}", *BUCKETS[kind]

    def _count(self, request: web.Request) -> None:
        if not self.limited or "/interactions/" in request.path:
            return
        now = self.world.clock.monotonic()
        for bucket in (EVERYWHERE, self._bucket(request)):
            if bucket is None:
                continue
            name, most, seconds = bucket
            spent = self._spent.setdefault(name, deque())
            while spent and now - spent[0] >= seconds:
                spent.popleft()
            if len(spent) >= most:
                error = Refused(429, 0, "You are being rate limited.")
                pause = round(spent[0] + seconds - now, 3)
                error.body |= {"retry_after": pause, "global": bucket is EVERYWHERE}
                raise error
            spent.append(now)

    def exhaust(self) -> None:
        """Other requests of the bot have used this second up."""
        name, most, _ = EVERYWHERE
        self._spent[name] = deque([self.world.clock.monotonic()] * most)

    def _headers(self, request: web.Request) -> dict[str, str]:
        if (bucket := self._bucket(request)) is None:
            return {}
        name, most, seconds = bucket
        spent, now = self._spent.get(name, deque()), self.world.clock.monotonic()
        left = spent[0] + seconds - now if spent else seconds
        return {
            "X-RateLimit-Limit": str(most),
            "X-RateLimit-Remaining": str(most - len(spent)),
            "X-RateLimit-Reset": f"{self.world.clock.time() + left:.3f}",
            "X-RateLimit-Reset-After": f"{left:.3f}",
            "X-RateLimit-Bucket": sha256(name.rpartition(" ")[0].encode()).hexdigest()[:32],
        }

    # ── the bot ───────────────────────────────────────────────────────────────────────────────────

    async def _me(self, request: web.Request, body: Json) -> Json:
        return self.world.bot.json()

    async def _guilds(self, request: web.Request, body: Json) -> Any:
        return [{"id": self.world.guild, "name": "home"}] if self.world.on_server else []

    async def _user(self, request: web.Request, body: Json) -> Json:
        user = self.world.users.get(request.match_info["user"])
        if user is None:
            raise Refused(404, 10013, "Unknown User")
        return user.json()

    async def _application(self, request: web.Request, body: Json) -> Json:
        found: Json = {"id": self.world.bot.id, "name": "chatbridge", "flags": 0}
        found |= {"icon": None, "description": "", "verify_key": "0" * 64}
        found |= {"bot_public": False, "bot_require_code_grant": False}
        if self.world.owner is not None:
            found["owner"] = self.world.owner.json()
        return found

    async def _commands(self, request: web.Request, body: Any) -> Any:
        for command in body:
            limits.length(command.get("name"), "name", 1, 32)
            limits.length(command.get("description"), "description", 1, 100)
        self.commands = body
        return body

    async def _gateway(self, request: web.Request, body: Json) -> Json:
        left = STARTS_A_DAY - self.gateway.starts
        limit = {"total": STARTS_A_DAY, "remaining": left, "reset_after": 3_600_000}
        limit["max_concurrency"] = 1
        return {"url": self.gateway.url, "shards": 1, "session_start_limit": limit}

    async def _direct(self, request: web.Request, body: Json) -> Json:
        user = self.world.users.get(str(body.get("recipient_id")))
        if user is None:
            raise limits.invalid("recipient_id", "NUMBER_TYPE_COERCE", "Unknown")
        if user is self.world.bot:
            raise Refused(400, 50007, "Cannot send messages to this user")
        return self.world.direct(user).json()

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def _channel(self, request: web.Request, body: Json) -> Json:
        return self.world.room(request.match_info["room"]).json()

    def _find(self, request: web.Request) -> Message:
        room = self.world.room(request.match_info["room"])
        message = room.messages.get(request.match_info["message"])
        if message is None:
            raise Refused(404, 10008, "Unknown Message")
        return message

    async def _send(self, request: web.Request, body: Json) -> Json:
        files: dict[int, tuple[str, bytes]] = body.pop("__files__", {})
        needs = [SEND] + [ATTACH] * bool(files) + [HISTORY] * ("message_reference" in body)
        room = self.world.room(request.match_info["room"], *needs)
        self.world.may_write_to(room)
        nonce = body.get("nonce")
        if nonce is not None and len(str(nonce)) > 25:
            raise limits.invalid("nonce", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer.")
        if body.get("flags", 0) & ~SENDABLE:
            raise limits.invalid("flags", "BASE_TYPE_CHOICES", "These flags cannot be set.")
        limits.check_files(body, files)
        limits.check_message(body, files=len(files), flags=body.get("flags", 0))
        known = self.world.same_nonce(room, str(nonce)) if body.get("enforce_nonce") else None
        if known is not None:
            return self.world.message_json(known)
        return self.world.message_json(self._post(room, body, files))

    def _post(self, room: Room, body: Json, files: dict[int, tuple[str, bytes]]) -> Message:
        reference = body.get("message_reference") or {}
        replied = room.messages.get(str(reference.get("message_id")))
        if reference and replied is None and reference.get("fail_if_not_exists", True):
            raise limits.invalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
        text = "".join((body.get("content") or "", json.dumps(body.get("components") or "")))
        allowed = (body.get("allowed_mentions") or {"parse": ["everyone"]}).get("parse") or []
        everyone = "everyone" in allowed and ("@everyone" in text or "@here" in text)
        return self.world.post(
            room,
            self.world.bot,
            content=(body.get("content") or "").strip(),
            components=body.get("components") or [],
            flags=body.get("flags", 0),
            reply_to=replied,
            nonce=str(body["nonce"]) if body.get("nonce") is not None else None,
            files=dict(files.values()),
            described={
                str(each.get("filename")): str(each.get("description") or "")
                for each in body.get("attachments") or ()
            },
            mention_everyone=everyone,
        )

    async def _history(self, request: web.Request, body: Json) -> Any:
        room = self.world.room(request.match_info["room"])
        after, limit = int(request.query.get("after", 0)), int(request.query.get("limit", 50))
        if not 1 <= limit <= 100:
            raise limits.invalid("limit", "NUMBER_TYPE_MAX", "between 1 and 100")
        if room.guild and not room.allows & HISTORY:
            return []
        for happens in self.while_reading:
            happens()
        self.while_reading.clear()
        found = [m for m in room.messages.values() if int(m.id) > after][:limit]
        return [self.world.message_json(message) for message in reversed(found)]

    async def _message(self, request: web.Request, body: Json) -> Json:
        return self.world.message_json(self._find(request))

    async def _edit(self, request: web.Request, body: Json) -> Json:
        message = self._find(request)
        if message.author is not self.world.bot:
            raise Refused(403, 50005, "Cannot edit a message authored by another user")
        flags = body.get("flags", 0) & (limits.SUPPRESS_EMBEDS | V2)  # others are ignored
        shown: Json = {"content": message.content, "components": message.components} | body
        limits.check_message(shown, flags=flags, was_v2=bool(message.flags & V2))
        self.world.edit(
            message,
            content=(shown["content"] or "").strip(),
            components=shown["components"] or [],
            flags=message.flags | flags,
        )
        return self.world.message_json(message)

    async def _delete(self, request: web.Request, body: Json) -> None:
        message = self._find(request)
        if message.author is not self.world.bot:
            raise Refused(403, 50003, "Cannot execute action on a DM channel")
        self.world.delete(message)

    async def _react(self, request: web.Request, body: Json) -> None:
        message = self._find(request)
        self.world.room(message.room.id, REACT)
        message.reactions.append(request.match_info["emoji"])
        self.world.changed.set()

    # ── answers to interactions ───────────────────────────────────────────────────────────────────

    async def _callback(self, request: web.Request, body: Json) -> Json | None:
        found = self.interactions.get(request.match_info["id"])
        late = found is not None and self.world.clock.time() - found.at > DEADLINE
        if found is None or found.token != request.match_info["token"]:
            raise Refused(404, 10062, "Unknown interaction")
        if found.answer is not None:
            raise Refused(400, 40060, "Interaction has already been acknowledged.")
        if late:
            raise Refused(404, 10062, "Unknown interaction")
        kind, data = body.get("type"), body.get("data") or {}
        fits = {COMMAND: (4, 5, 9), COMPONENT: (4, 5, 6, 7, 9), SUBMIT: (4, 5, 6, 7)}[found.kind]
        if kind not in fits:
            raise limits.invalid("type", "BASE_TYPE_CHOICES", f"Value must be one of {fits}.")
        if kind == 9:
            limits.check_modal(data)
        elif kind == 4:
            limits.check_message(data, flags=data.get("flags", 0))
            if not data.get("flags", 0) & EPHEMERAL:
                self._post(found.room, data, {})
        found.answer = body
        found.answered.set()
        if request.query.get("with_response") not in ("true", "1"):
            return None
        return {"interaction": {"id": found.id, "type": found.kind}}


def _json(found: object, *, status: int = 200, headers: dict[str, str]) -> web.Response:
    """Without a charset, which other libraries do not expect."""
    typed = {**headers, "Content-Type": "application/json"}
    return web.Response(body=json.dumps(found).encode(), status=status, headers=typed)


async def _body(request: web.Request) -> Any:
    if request.content_type == "multipart/form-data":
        body: Json = {}
        files: dict[int, tuple[str, bytes]] = {}
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            content = bytes(await part.read())
            if part.name == "payload_json":
                body = json.loads(content)
            elif found := re.fullmatch(r"files\[(\d+)\]", part.name or ""):
                files[int(found[1])] = (str(part.filename), content)
        return body | {"__files__": files}
    text = await request.text()
    return json.loads(text) if text else {}
