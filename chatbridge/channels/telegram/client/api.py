"""The Bot API as this channel uses it: the only module that talks to Telegram. No error keeps its
cause: the address of a request has the bot's token in it."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Self

import httpx
from telegram import ForceReply, Update

from chatbridge.channels.chat.document import Rows
from chatbridge.channels.telegram.client.errors import Rejected
from chatbridge.channels.telegram.client.response_checks import (
    NO_NUMBER,
    SAID_OK,
    Json,
    date_in,
    no_answer,
    refusal,
    result_in,
    update_from,
)
from chatbridge.channels.telegram.render.html import plain_text

log = logging.getLogger(__name__)

UPDATES = ["message", "callback_query"]
CONNECTIONS = 9
"""One of them waits for updates."""
KEPT_OPEN_SECONDS = 30.0
"""How long an idle connection is kept: opening one takes longer than sending a message."""
ANSWERED_WITHIN = 10.0
CONNECTED_WITHIN = 5.0
FILE_SENT_WITHIN = 20.0
NO_PREVIEW = {"is_disabled": True}

# One for all: reading the authorities takes as long as a link's whole start.
_certificates = cache(httpx.create_ssl_context)

if find_spec("sniffio") is None:
    # httpcore tries to import it several times in each request, and where it is missing, Python
    # searches every folder each time. So Python is told that it is.
    sys.modules["sniffio"] = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    username: str
    topics: bool
    """Whether this bot's private chats can have topics."""
    reads_all: bool = False
    """Whether it is sent everything that is said in its groups (privacy mode is off)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A message of ours, and when Telegram says that it was written."""

    id: int
    """`NO_NUMBER`, if Telegram's answer cannot be read."""
    at: float | None


class Api:
    """Methods raise `RetryLater` and `TokenRejected`; those with a chat also `ChatRefused`,
    `Migrated` and `Rejected`."""

    def __init__(
        self, token: str, *, base: str, hint: str, patience: float = ANSWERED_WITHIN
    ) -> None:
        """`hint` says where the token is set; `patience` is how long an answer may take."""
        self.bot_id = token.partition(":")[0]
        self._address = f"{base}/bot{token}"
        self._hint = hint
        self._patience = patience
        self._warned: set[str] = set()
        limits = httpx.Limits(max_connections=CONNECTIONS, keepalive_expiry=KEPT_OPEN_SECONDS)
        self._client = httpx.AsyncClient(limits=limits, verify=_certificates())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *ended: object) -> None:
        await self.close()

    async def open(self) -> Me:
        me = await self._call("getMe")
        return Me(
            username=str(me.get("username") or ""),
            topics=bool(me.get("has_topics_enabled")),
            reads_all=bool(me.get("can_read_all_group_messages")),
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def updates(self, *, offset: int | None, wait: int) -> tuple[Update, ...]:
        """:raises Polled: another program reads them."""
        found = await self._call("getUpdates", offset=offset, timeout=wait, allowed_updates=UPDATES)
        return tuple(map(update_from, found))

    async def send(
        self,
        chat: int,
        html: str,
        rows: Rows = (),
        *,
        silent: bool = False,
        thread: int | None = None,
        reply_to: int | None = None,
        prompt: ForceReply | None = None,
    ) -> Sent:
        return self._sent(
            await self._show(
                "sendMessage",
                chat,
                html,
                reply_markup=prompt.to_dict() if prompt else _keyboard(rows),
                disable_notification=silent,
                message_thread_id=thread,
                reply_parameters=_reply(reply_to),
            )
        )

    async def edit(self, chat: int, message: int, html: str, rows: Rows) -> float | None:
        """When it was edited; None if there was nothing new in it."""
        markup = _keyboard(rows)
        try:
            found = await self._show(
                "editMessageText", chat, html, message_id=message, reply_markup=markup
            )
        except Rejected as error:
            if error.nothing_new:
                return None
            raise
        return date_in(found, "edit_date")

    async def send_file(
        self,
        chat: int,
        name: str,
        content: bytes,
        *,
        thread: int | None = None,
        reply_to: int | None = None,
    ) -> Sent:
        return self._sent(
            await self._call(
                "sendDocument",
                chat,
                file=(name, content),
                disable_notification=True,
                message_thread_id=thread,
                reply_parameters=_reply(reply_to),
            )
        )

    async def delete(self, chat: int, message: int) -> None:
        await self._call("deleteMessage", chat, message_id=message)

    async def take_buttons(self, chat: int, message: int) -> None:
        await self._call("editMessageReplyMarkup", chat, message_id=message)

    async def react(self, chat: int, message: int, emoji: str) -> None:
        reaction = [{"type": "emoji", "emoji": emoji}]
        await self._call("setMessageReaction", chat, message_id=message, reaction=reaction)

    async def answer(self, query: str, text: str) -> None:
        await self._call("answerCallbackQuery", callback_query_id=query, text=text or None)

    async def new_topic(self, chat: int, name: str) -> int:
        """`NO_NUMBER`, if Telegram's answer cannot be read."""
        found = await self._call("createForumTopic", chat, name=name)
        return self._number(found, "message_thread_id")

    async def set_commands(self, commands: Sequence[tuple[str, str]]) -> None:
        menu = [{"command": name, "description": about} for name, about in commands]
        await self._call("setMyCommands", commands=menu)

    # ── how things stand, for set-up and doctor ───────────────────────────────────────────────────

    async def webhook(self) -> str:
        """Where this bot's messages go instead of to a poller; empty if there is no such place."""
        return str((await self._call("getWebhookInfo")).get("url") or "")

    async def delete_webhook(self) -> None:
        await self._call("deleteWebhook")

    async def standing(self, chat: int) -> tuple[str, bool, bool]:
        """The kind of chat, and whether the bot may write there and edit. In private it "types"."""
        found = await self._call("getChat", chat)
        kind = str(found.get("type"))
        if kind == "private":
            # Who has blocked the bot is still shown to it: only an attempt tells.
            await self._call("sendChatAction", chat, action="typing")
            return kind, True, True
        member = await self._call("getChatMember", chat, user_id=int(self.bot_id))
        if kind == "channel":
            write, edit = (bool(member.get(f"can_{what}_messages")) for what in ("post", "edit"))
            return kind, write, edit
        rights = found.get("permissions")
        everybody = not isinstance(rights, dict) or bool(rights.get("can_send_messages"))
        may_write = {
            "administrator": True,
            "member": everybody,
            "restricted": everybody and bool(member.get("can_send_messages")),
        }.get(str(member.get("status")), False)
        return kind, may_write, True

    # ── one request ───────────────────────────────────────────────────────────────────────────────

    async def _show(self, method: str, chat: int, html: str, **parameters: Any) -> Any:
        """A server that does not know a tag of ours (an older one of one's own) gets bare text."""
        parameters["link_preview_options"] = NO_PREVIEW
        try:
            return await self._call(method, chat, text=html, parse_mode="HTML", **parameters)
        except Rejected as error:
            if not error.unreadable:
                raise
            self._warn_once("telegram cannot read our formatting, sending plain text: %s", error)
        return await self._call(method, chat, text=plain_text(html), **parameters)

    async def _call(
        self,
        method: str,
        chat: int | None = None,
        *,
        file: tuple[str, bytes] | None = None,
        **parameters: Any,
    ) -> Any:
        """The result: a dict, of `getUpdates` a list."""
        fields = {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in {"chat_id": chat, **parameters}.items()
            if value is not None
        }
        patience = httpx.Timeout(
            CONNECTED_WITHIN,
            read=self._patience + parameters.get("timeout", 0),
            write=FILE_SENT_WITHIN if file else CONNECTED_WITHIN,
            pool=self._patience,
        )
        files = {"document": file} if file else None
        address = f"{self._address}/{method}"
        try:
            answer = await self._client.post(address, data=fields, files=files, timeout=patience)
        except Exception as error:  # noqa: BLE001 - whatever keeps a request from being answered
            raise no_answer(error) from None
        if not answer.is_success:
            raise refusal(answer.status_code, answer.content, chat=chat, hint=self._hint)
        return result_in(answer.content, method)

    def _sent(self, found: Json) -> Sent:
        return Sent(id=self._number(found, "message_id"), at=date_in(found, "date"))

    def _number(self, found: Json, name: str) -> int:
        number = found.get(name)
        if type(number) is int:
            return number
        self._warn_once(f"{SAID_OK}: it is not sent again")
        return NO_NUMBER

    def _warn_once(self, message: str, *about: object) -> None:
        level = logging.DEBUG if message in self._warned else logging.WARNING
        self._warned.add(message)
        log.log(level, message, *about)


def _keyboard(rows: Rows) -> Json | None:
    if not rows:
        return None
    buttons = [
        [
            {"text": k.text, "callback_data": k.data} | ({"style": k.style} if k.style else {})
            for k in row
        ]
        for row in rows
    ]
    return {"inline_keyboard": buttons}


def _reply(message: int | None) -> Json | None:
    if message is None or message == NO_NUMBER:
        return None
    return {"message_id": message, "allow_sending_without_reply": True}
