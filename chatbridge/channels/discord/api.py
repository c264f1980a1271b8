"""Discord's REST interface as this channel uses it, with its errors as ours.

Plain aiohttp: a library would wait out rate limits by itself, where delivery should rather send
something else meanwhile, and would send a message again that may have arrived. No error keeps its
cause or an address: an interaction's address has its token.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

import aiohttp

from chatbridge import __version__
from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.people import display_name
from chatbridge.channels.chat.writer import Key, MessageRejected
from chatbridge.channels.sockets.errors import Pauses, unreachable, words
from chatbridge.channels.spec import PersonName
from chatbridge.core.errors import ChatRefused, PostGone, RetryLater, TokenRejected
from chatbridge.safe_json import loads, value_at

Body = dict[str, Any]

VERSION = 10
ANSWERED_WITHIN = 10.0
EVERYWHERE = "*"
PAGE = 100
EPOCH = 1_420_070_400.0
"""Ids count milliseconds since then."""
AGENT = f"DiscordBot (https://pypi.org/project/chatbridge, {__version__})"
GONE = (10008, 50005)
"""There is no such message, or it is another's."""
_REFUSALS = {
    10003: "Check discord.channel_id",
    10013: "Check discord.allowed_users",
    50001: "Add the bot to the server, and let it see the channel",
    50007: "Allow direct messages from members of a server that you share with the bot",
    50013: "Let the bot send messages, attach files and read the history there",
    50083: "Open the thread again",
    50278: "Be on a server with the bot: chatbridge setup shows the link that invites it",
    160002: "Let the bot read the message history there",
}


class Rejected(MessageRejected):
    """Discord does not take this request, however often it is made."""

    @property
    def needs_text_components(self) -> bool:
        return "COMPONENTS_V2" in str(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    id: str
    application: str
    name: str


def written_at(id: str) -> float:
    """When something was made, by Discord's clock."""
    return EPOCH + (int(id) >> 22) / 1000


class Api:
    def __init__(
        self,
        token: str,
        *,
        base: str,
        hint: str = "the token",
        patience: float = ANSWERED_WITHIN,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`hint` says where the token is set; `patience` is how long an answer may take."""
        self._base = f"{base}/v{VERSION}"
        self.token = token
        self.hint = hint
        self.patience = patience
        self._pauses = Pauses("discord", monotonic)

    async def __aenter__(self) -> Self:
        self.session = aiohttp.ClientSession(headers={"User-Agent": AGENT}, trust_env=True)
        return self

    async def __aexit__(self, *ended: object) -> None:
        await self.session.close()

    # ── the bot ───────────────────────────────────────────────────────────────────────────────────

    async def me(self) -> Me:
        """:raises TokenRejected: :raises RetryLater:"""
        user = await self._call("GET", "/users/@me")
        application = await self._call("GET", "/applications/@me")
        name = display_name(_text(user, "username"))
        return Me(id=_text(user, "id"), application=_text(application, "id"), name=name)

    async def servers(self) -> int:
        """How many the bot is on."""
        return len(await self._call("GET", "/users/@me/guilds"))

    async def gateway(self) -> Body:
        """Where to connect, and how many sessions may still be begun today."""
        return _object(await self._call("GET", "/gateway/bot"))

    async def set_commands(self, application: str, commands: Sequence[tuple[str, str]]) -> None:
        time = {"type": 3, "name": "time", "description": "2h, until 08:00 or off"}
        known = [
            {"name": name, "description": text, "options": [time] if name == "quiet" else []}
            for name, text in commands
        ]
        await self._call("PUT", f"/applications/{application}/commands", known)

    async def direct(self, person: int) -> str:
        """The id of the chat with this person. :raises ChatRefused:"""
        body = {"recipient_id": str(person)}
        return _text(await self._call("POST", "/users/@me/channels", body, place=person), "id")

    async def standing(self, channel: int) -> str:
        """What is wrong with this channel, if anything. :raises ChatRefused:"""
        await self._call("GET", f"/channels/{channel}", place=channel)
        return ""

    async def name_of(self, person: int) -> PersonName:
        found = _object(await self._call("GET", f"/users/{person}", place=person))
        called, username = found.get("global_name"), display_name(found.get("username"))
        return PersonName(display_name(called, username, str(person)), username)

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def send(
        self,
        room: str,
        body: Body,
        *,
        key: Key = (),
        reply_to: str | None = None,
        file: File | None = None,
    ) -> str:
        """Return its id. What is sent again with the same key within minutes is the same one."""
        if key:  # of which Discord takes 25 characters
            nonce = sha256("\0".join(key).encode()).hexdigest()[:24]
            body = body | {"nonce": nonce, "enforce_nonce": True}
        if reply_to:
            reference = {"message_id": reply_to, "fail_if_not_exists": False}
            body = body | {"message_reference": reference}
        path = f"/channels/{room}/messages"
        return _text(await self._call("POST", path, body, place=room, file=file), "id")

    async def edit(self, room: str, message: str, body: Body) -> None:
        """:raises PostGone:"""
        path = f"/channels/{room}/messages/{message}"
        await self._call("PATCH", path, {"content": None, **body}, place=room)

    async def delete(self, room: str, message: str) -> None:
        await self._call("DELETE", f"/channels/{room}/messages/{message}", place=room)

    async def message(self, room: str, message: str) -> Body:
        path = f"/channels/{room}/messages/{message}"
        return _object(await self._call("GET", path, place=room))

    async def messages_after(self, room: str, message: str) -> list[Body]:
        """At most a page, the oldest first."""
        path = f"/channels/{room}/messages?after={message}&limit={PAGE}"
        found = await self._call("GET", path, place=room)
        known = [each for each in found if isinstance(each, dict)]
        return sorted(known, key=lambda each: int(_text(each, "id")))

    async def react(self, room: str, message: str, emoji: str) -> None:
        path = f"/channels/{room}/messages/{message}/reactions/{emoji}/@me"
        await self._call("PUT", path, place=room)

    async def answer(self, interaction: str, token: str, body: Body) -> None:
        """:raises Rejected: it is too late for an answer, or there is one."""
        await self._call("POST", f"/interactions/{interaction}/{token}/callback", body)

    # ── one request ───────────────────────────────────────────────────────────────────────────────

    async def _call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        place: object = None,
        file: File | None = None,
    ) -> Any:
        """`place` is where something was to be done."""
        route, secret = _route(method, path), path.startswith("/interactions")
        if not secret:  # those are not counted
            self._pauses.check(route, EVERYWHERE)
        headers = {} if secret else {"Authorization": f"Bot {self.token}"}
        sent = {"json": body} if file is None else {"data": _form(body, file)}
        try:
            async with (
                asyncio.timeout(self.patience),
                self.session.request(
                    method, self._base + path, headers=headers, allow_redirects=False, **sent
                ) as response,
            ):
                text, status, limits = await response.read(), response.status, response.headers
            found = loads(text) if text else None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise unreachable(error, "discord") from None
        except ValueError:
            if status < 300:
                raise RetryLater("discord's answer cannot be read") from None
            found = None
        if status == 429:
            counted = EVERYWHERE if value_at(found, "global") is True else route
            self._pauses.begin(counted, value_at(found, "retry_after") or limits.get("Retry-After"))
            self._pauses.check(counted)
        if limits.get("X-RateLimit-Remaining") == "0":
            self._pauses.begin(route, limits.get("X-RateLimit-Reset-After"))
        if 200 <= status < 300:
            return found
        raise self._meaning(status, found, place)

    def _meaning(self, status: int, found: object, place: object) -> Exception:
        code, said = value_at(found, "code"), words(value_at(found, "message"))
        code = code if isinstance(code, int) else 0
        if status == 401:
            return TokenRejected(
                f"discord rejected the bot token (401). Check {self.hint}, then run: chatbridge "
                "restart"
            )
        if status >= 500 or found is None:
            return RetryLater(f"discord cannot be reached (status {status})")
        if code in GONE:
            return PostGone()
        if code in _REFUSALS or status == 403:
            advice = _REFUSALS.get(code, "Look at its permissions there")
            why = f"discord: the bot may not use {place} ({code or status}: {said})"
            return ChatRefused(f"{why}. {advice}")
        details = words(json.dumps(value_at(found, "errors") or ""))
        return Rejected(f"discord does not take this ({code}: {said} {details})")


def _route(method: str, path: str) -> str:
    """What limits are counted by: the method, and the path up to the channel's id."""
    parts = path.partition("?")[0].strip("/").split("/")
    return " ".join((method, *parts[:3], *("#" for _ in parts[3:4]), *parts[4:5]))


def _form(body: object, file: File) -> aiohttp.FormData:
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps(body), content_type="application/json")
    form.add_field("files[0]", file.content, filename=file.name, content_type="text/plain")
    return form


def _object(found: object) -> Body:
    if not isinstance(found, dict):
        raise RetryLater("discord's answer cannot be read")
    return found


def _text(found: object, name: str) -> str:
    value = found.get(name) if isinstance(found, Mapping) else None
    if not isinstance(value, str):
        raise RetryLater("discord's answer cannot be read")
    return value
