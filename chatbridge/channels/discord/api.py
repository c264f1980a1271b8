"""Discord's REST interface as this channel uses it, with its errors as ours."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import aiohttp
from yarl import URL

from chatbridge import __version__
from chatbridge.channels.chat.document import File
from chatbridge.channels.chat.people import display_name
from chatbridge.channels.chat.writer import (
    Key,
    MessageRejected,
    key_name,
    open_content,
    size_of,
)
from chatbridge.channels.errors import token_rejected, words
from chatbridge.channels.sockets.files import FileClient
from chatbridge.channels.sockets.rest import EVERYWHERE, Answer, RestClient
from chatbridge.channels.spec import PersonName
from chatbridge.core.errors import (
    ChatbridgeError,
    ChatRefused,
    PostGone,
    RetryLater,
    TokenRejected,
)
from chatbridge.core.text import one_line
from chatbridge.safe_json import value_at

Body = dict[str, Any]

VERSION = 10
ANSWERED_WITHIN = 10.0
PAGE = 100
FILE_HOSTS = ("https://cdn.discordapp.com", "https://media.discordapp.net")
EPOCH = 1_420_070_400.0
"""Ids count milliseconds since then."""
AGENT = f"DiscordBot (https://pypi.org/project/chatbridge, {__version__})"
OPTIONS: dict[str, list[Body]] = {
    "quiet": [{"type": 3, "name": "time", "description": "2h, until 08:00 or off"}],
    "tell": [
        {
            "type": 3,
            "name": "text",
            "description": "What to tell it; of several agents, name the one first",
            "required": True,
        }
    ],
}
"""What is typed behind a command."""
TOO_LARGE = 413
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


class Api(RestClient, FileClient):
    service, called = "discord", "Discord"
    elsewhere = "I cannot get that file from Discord. Send it again, or through the inbox."

    def __init__(
        self,
        token: str,
        *,
        base: str,
        hint: str,
        patience: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`hint` says where the token is set."""
        super().__init__(
            base=f"{base}/v{VERSION}",
            authorization=f"Bot {token}",
            agent=AGENT,
            patience=patience,
            monotonic=monotonic,
        )
        self.token, self._hint = token, hint
        self.file_origins = frozenset(URL(each).origin() for each in (*FILE_HOSTS, base))

    # ── the bot ───────────────────────────────────────────────────────────────────────────────────

    async def me(self) -> Me:
        """:raises TokenRejected: :raises RetryLater:"""
        user = await self.call("GET", "/users/@me")
        application = await self.call("GET", "/applications/@me")
        name = display_name(self.text(user, "username"))
        return Me(id=self.text(user, "id"), application=self.text(application, "id"), name=name)

    async def servers(self) -> int:
        """How many the bot is on."""
        return len(self.checked(await self.call("GET", "/users/@me/guilds"), list))

    async def gateway(self) -> Body:
        """Where to connect, and how many sessions may still be begun today."""
        return self.checked(await self.call("GET", "/gateway/bot"), dict)

    async def set_commands(self, application: str, commands: Sequence[tuple[str, str]]) -> None:
        known = [
            {"name": name, "description": text, "options": OPTIONS.get(name, [])}
            for name, text in commands
        ]
        await self.call("PUT", f"/applications/{application}/commands", known)

    async def direct(self, person: int) -> str:
        """The id of the chat with this person. :raises ChatRefused:"""
        body = {"recipient_id": str(person)}
        return self.text(await self.call("POST", "/users/@me/channels", body, place=person), "id")

    async def standing(self, channel: int) -> str:
        """What is wrong with this channel, if anything. :raises ChatRefused:"""
        await self.call("GET", f"/channels/{channel}", place=channel)
        return ""

    async def name_of(self, person: int) -> PersonName:
        found = self.checked(await self.call("GET", f"/users/{person}", place=person), dict)
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
        files: Sequence[File] = (),
    ) -> str:
        """Return its id. What is sent again with the same key within minutes is the same one."""
        if key:  # of which Discord takes 25 characters
            body = body | {"nonce": key_name(key)[:24], "enforce_nonce": True}
        if reply_to:
            reference = {"message_id": reply_to, "fail_if_not_exists": False}
            body = body | {"message_reference": reference}
        if not files:
            return self.text(await self._in(room, "POST", json=body), "id")
        with ExitStack() as until_sent:
            form, size = aiohttp.FormData(quote_fields=False), 0
            form.add_field("payload_json", json.dumps(body), content_type="application/json")
            for i, file in enumerate(files):
                content = until_sent.enter_context(open_content(file))
                name, size = one_line(file.name), size + size_of(content)
                form.add_field(f"files[{i}]", content, filename=name, content_type=file.type)
            sent = await self._in(room, "POST", data=form, timeout=self.time_for(size))
        return self.text(sent, "id")

    def fetch(self, attached: object) -> AsyncIterator[bytes]:
        """A file of a person's message. Its address is signed, and needs no token."""
        return self.download(value_at(attached, "url"), size=value_at(attached, "size"))

    async def edit(self, room: str, message: str, body: Body) -> None:
        """:raises PostGone:"""
        await self._in(room, "PATCH", f"/{message}", json={"content": None, **body})

    async def delete(self, room: str, message: str) -> None:
        await self._in(room, "DELETE", f"/{message}")

    async def message(self, room: str, message: str) -> Body:
        return self.checked(await self._in(room, "GET", f"/{message}"), dict)

    async def messages_after(self, room: str, message: str) -> list[Body]:
        """At most a page, the oldest first."""
        found = await self._in(room, "GET", f"?after={message}&limit={PAGE}")
        known = [each for each in self.checked(found, list) if isinstance(each, dict)]
        return sorted(known, key=lambda each: int(self.text(each, "id")))

    async def react(self, room: str, message: str, emoji: str) -> None:
        await self._in(room, "PUT", f"/{message}/reactions/{emoji}/@me")

    async def _in(self, room: str, method: str, path: str = "", **sent: Any) -> Any:
        return await self.call(method, f"/channels/{room}/messages{path}", place=room, **sent)

    async def answer(self, interaction: str, token: str, body: Body) -> None:
        """:raises Rejected: it is too late for an answer, or there is one."""
        path = f"/interactions/{interaction}/{token}/callback"
        await self.call("POST", path, body, authorized=False)

    # ── limits and errors ─────────────────────────────────────────────────────────────────────────

    def route(self, method: str, path: str) -> str:
        """The method, and the path up to the channel's id."""
        parts = path.partition("?")[0].strip("/").split("/")
        return " ".join((method, *parts[:3], *("#" for _ in parts[3:4]), *parts[4:5]))

    def limits(self, answer: Answer, route: str) -> Iterator[tuple[str, object]]:
        found, headers = answer.found, answer.headers
        if answer.status == 429:
            counted = EVERYWHERE if value_at(found, "global") is True else route
            yield counted, value_at(found, "retry_after") or headers.get("Retry-After")
        elif headers.get("X-RateLimit-Remaining") == "0":
            yield route, headers.get("X-RateLimit-Reset-After")

    def meaning(self, answer: Answer, place: object) -> ChatbridgeError:
        status, found = answer.status, answer.found
        code, said = value_at(found, "code"), words(value_at(found, "message"))
        code = code if isinstance(code, int) else 0
        if status == 401:
            return self.rejected(status)
        if status == TOO_LARGE:
            return Rejected("discord does not take files of this size")
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

    def rejected(self, code: int) -> TokenRejected:
        return token_rejected(f"discord rejected the bot token ({code})", hint=self._hint)
