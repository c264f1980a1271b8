"""The Bot API as this channel uses it: the only module that talks to Telegram.

Owns connections and their time limits. What goes wrong is told as in `errors`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self, TypeVar
from urllib.parse import quote

# Otherwise every pause that Telegram asks for is a warning about the library's next version.
os.environ["PTB_TIMEDELTA"] = "true"

from telegram import (
    Bot,
    BotCommand,
    ForceReply,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaDocument,
    InputMediaPhoto,
    LinkPreviewOptions,
    Message,
    ReplyParameters,
    Update,
)
from telegram.constants import ChatAction, ChatMemberStatus, ChatType, ParseMode

from chatbridge.channels.chat.document import File, Rows
from chatbridge.channels.chat.people import display_name
from chatbridge.channels.spec import PersonName
from chatbridge.channels.telegram.client.errors import Rejected, meaning_of
from chatbridge.channels.telegram.client.response_checks import (
    NO_NUMBER,
    UNREADABLE,
    Asking,
    Polling,
    connections,
)
from chatbridge.channels.telegram.client.uploads import FILES, opened
from chatbridge.channels.telegram.render.html import plain_text
from chatbridge.core.errors import AttachmentError

log = logging.getLogger(__name__)

T = TypeVar("T")

UPDATES = ["message", "callback_query"]
CONNECTIONS = 8
ANSWERED_WITHIN = 10.0
GONE = "Telegram no longer has this file. Send it again."
NOT_OVER_HTTP = (
    "The Bot API server in telegram.api_base runs with --local and hands out no files. "
    "Send it through the inbox."
)
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    name: str
    topics: bool
    """Whether this bot's private chats can have topics."""
    reads_all: bool = False
    """Whether it is sent everything that is said in its groups (privacy mode is off)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessage:
    """A message of ours, and when Telegram says that it was written."""

    id: int
    """`NO_NUMBER`, if Telegram's answer cannot be read."""
    at: float | None


class Api:
    def __init__(
        self, token: str, *, base: str, hint: str, patience: float = ANSWERED_WITHIN
    ) -> None:
        """`hint` says where the token is set; `patience` is how long an answer may take."""
        self.bot_id = token.partition(":")[0]
        self._hint = hint
        self._patience = patience
        self._warned: set[str] = set()
        self._asking = Asking(
            read_timeout=patience,
            pool_timeout=patience,
            httpx_kwargs=connections(CONNECTIONS),
        )
        self._files = f"{base}/file/bot{token}/"
        self._bot = Bot(
            token,
            base_url=f"{base}/bot",
            base_file_url=f"{base}/file/bot",
            request=self._asking,
            get_updates_request=Polling(httpx_kwargs=connections(1)),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *ended: object) -> None:
        await self.close()

    async def me(self) -> Me:
        """:raises TokenRejected: :raises RetryLater:"""
        await self._do(self._bot.initialize())
        me = self._bot.bot
        return Me(
            name=me.username or "",
            topics=bool(me.has_topics_enabled),
            reads_all=bool(me.can_read_all_group_messages),
        )

    async def close(self) -> None:
        await self._bot.shutdown()

    async def direct(self, person: int) -> str:
        return str(person)

    async def updates(self, *, offset: int | None, wait: int) -> tuple[Update, ...]:
        """:raises Polled: and what every call raises."""
        return await self._do(
            self._bot.get_updates(
                offset=offset,
                timeout=timedelta(seconds=wait),
                allowed_updates=UPDATES,
                read_timeout=self._patience,
            )
        )

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
    ) -> SentMessage:
        async def send(text: str, mode: str | None) -> SentMessage:
            sending = self._bot.send_message(
                chat,
                text,
                parse_mode=mode,
                reply_markup=prompt or _keyboard(rows),
                disable_notification=silent,
                message_thread_id=thread,
                reply_parameters=_reply(reply_to),
                link_preview_options=NO_PREVIEW,
            )
            return self._sent(await self._do(sending, chat))

        return await self._formatted(send, html)

    async def edit(self, chat: int, message: int, html: str, rows: Rows) -> float | None:
        """When it was edited; None if there was nothing new in it."""

        async def edit(text: str, mode: str | None) -> float | None:
            editing = self._bot.edit_message_text(
                text,
                chat_id=chat,
                message_id=message,
                parse_mode=mode,
                reply_markup=_keyboard(rows),
                link_preview_options=NO_PREVIEW,
            )
            edited = await self._do(editing, chat)
            if isinstance(edited, bool) or edited.edit_date is None:
                return None
            return edited.edit_date.timestamp()

        try:
            return await self._formatted(edit, html)
        except Rejected as error:
            if error.nothing_new:
                return None
            raise

    async def _formatted(self, write: Callable[[str, str | None], Awaitable[T]], html: str) -> T:
        """A server that does not know a tag of ours (an older one of one's own) gets bare text."""
        try:
            return await write(html, ParseMode.HTML)
        except Rejected as error:
            if not error.unreadable:
                raise
            self._warn_once("telegram cannot read our formatting, sending plain text: %s", error)
        return await write(plain_text(html), None)

    async def send_files(
        self,
        chat: int,
        files: Sequence[File],
        *,
        thread: int | None = None,
        reply_to: int | None = None,
    ) -> SentMessage:
        """Send them as one message, or as an album, of which the first message is returned.

        :raises MessageRejected: Telegram does not take one, or it cannot be read.
        """
        shown = files[0].size is not None
        kind = InputMediaPhoto if shown else InputMediaDocument
        how: dict[str, Any] = {
            "disable_notification": True,
            "message_thread_id": thread,
            "reply_parameters": _reply(reply_to),
        }
        with opened(files) as parts:
            if len(files) > 1:
                both = zip(parts, files, strict=True)
                media = [kind(part, caption=file.caption or None) for part, file in both]
                album = await self._do(self._bot.send_media_group(chat, media, **how), chat)
                return self._sent(album[0])
            caption = files[0].caption or None
            send = self._bot.send_photo if shown else self._bot.send_document
            return self._sent(await self._do(send(chat, parts[0], caption, **how), chat))

    async def fetch(self, file: str) -> AsyncGenerator[bytes, None]:
        """The content of a file that somebody sent, in pieces.

        :raises AttachmentError: Telegram does not hand it out. :raises RetryLater:
        """
        try:
            found = (await self._do(self._bot.get_file(file))).file_path or ""
            path = found.removeprefix(self._files)
            if path.startswith("/"):
                raise AttachmentError(NOT_OVER_HTTP)  # never a path on this machine
            async with aclosing(self._asking.download(self._files + quote(path))) as pieces:
                async for piece in pieces:
                    yield piece
        except Exception as error:  # noqa: BLE001 - as below
            meant = self._meaning(error, None)
            if isinstance(meant, Rejected):
                meant = AttachmentError(FILES.too_large if meant.file_too_large else GONE)
            raise meant from None

    async def delete(self, chat: int, message: int) -> None:
        await self._do(self._bot.delete_message(chat, message), chat)

    async def take_buttons(self, chat: int, message: int) -> None:
        await self._do(self._bot.edit_message_reply_markup(chat_id=chat, message_id=message), chat)

    async def react(self, chat: int, message: int, emoji: str) -> None:
        await self._do(self._bot.set_message_reaction(chat, message, emoji), chat)

    async def answer(self, query: str, text: str) -> None:
        await self._do(self._bot.answer_callback_query(query, text or None))

    async def new_topic(self, chat: int, name: str) -> int:
        """`NO_NUMBER`, if Telegram's answer cannot be read."""
        topic = await self._do(self._bot.create_forum_topic(chat, name), chat)
        return self._number(topic.message_thread_id)

    async def set_commands(self, commands: Sequence[tuple[str, str]]) -> None:
        await self._do(self._bot.set_my_commands([BotCommand(*each) for each in commands]))

    # ── how things stand, for set-up and doctor ───────────────────────────────────────────────────

    async def webhook(self) -> str:
        """Where this bot's messages go instead of to a poller; empty if there is no such place."""
        return (await self._do(self._bot.get_webhook_info())).url

    async def delete_webhook(self) -> None:
        await self._do(self._bot.delete_webhook())

    async def name_of(self, person: int) -> PersonName:
        """:raises ChatRefused: they have never written to the bot; and what every call raises."""
        found = await self._do(self._bot.get_chat(person), person)
        name = display_name(found.effective_name, str(person))
        return PersonName(name, display_name(found.username))

    async def standing(self, chat: int) -> tuple[str, str]:
        """The kind of chat it is, and what is wrong there, if anything. Nothing is written; in
        private it is seen as "typing".

        :raises ChatRefused: the bot is not let in. :raises Migrated: and what every call raises.
        """
        found = await self._do(self._bot.get_chat(chat), chat)
        kind = found.type
        if kind == ChatType.PRIVATE:
            # Who has blocked the bot is still shown to it: only an attempt tells.
            await self._do(self._bot.send_chat_action(chat, ChatAction.TYPING), chat)
            return kind, ""
        member = await self._do(self._bot.get_chat_member(chat, int(self.bot_id)), chat)
        may_write, may_edit = member.status == ChatMemberStatus.ADMINISTRATOR, True
        if kind == ChatType.CHANNEL:
            may_write = getattr(member, "can_post_messages", False)
            may_edit = getattr(member, "can_edit_messages", False)
        elif member.status in (ChatMemberStatus.MEMBER, ChatMemberStatus.RESTRICTED):
            everybody = found.permissions is None or bool(found.permissions.can_send_messages)
            may_write = everybody and getattr(member, "can_send_messages", True)
        if not may_write:
            return kind, f"the bot may not write to the {kind} {chat}"
        return kind, "" if may_edit else f"the bot may not edit what it wrote in the {kind} {chat}"

    def _sent(self, message: Message) -> SentMessage:
        at = message.date.timestamp() or None
        return SentMessage(id=self._number(message.message_id), at=at)

    def _number(self, number: int) -> int:
        if number == NO_NUMBER:
            self._warn_once("telegram said ok, but %s: it is not sent again", UNREADABLE)
        return number

    def _warn_once(self, line: str, why: object) -> None:
        log.log(logging.DEBUG if line in self._warned else logging.WARNING, line, why)
        self._warned.add(line)

    async def _do(self, call: Awaitable[T], chat: int | None = None) -> T:
        try:
            return await call
        except Exception as error:  # noqa: BLE001 - the edge where everything is translated
            raise self._meaning(error, chat) from None

    def _meaning(self, error: Exception, chat: int | None) -> Exception:
        return meaning_of(error, hint=self._hint, chat=chat)


def _keyboard(rows: Rows) -> InlineKeyboardMarkup | None:
    if not rows:
        return None
    return InlineKeyboardMarkup(
        [
            [
                InlineKeyboardButton(k.text, callback_data=k.data or None, url=k.url, style=k.style)
                for k in row
            ]
            for row in rows
        ]
    )


def _reply(message: int | None) -> ReplyParameters | None:
    if message is None or message == NO_NUMBER:
        return None
    return ReplyParameters(message, allow_sending_without_reply=True)
