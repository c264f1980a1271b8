"""The Bot API as this channel uses it: the only module that talks to Telegram.

Owns connections and their time limits, and turns python-telegram-bot's errors into ours. None of
them keeps its cause: the library's errors carry addresses, and a bot's address has its token.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple, Self

# Otherwise every pause that Telegram asks for is a warning about the library's next version.
os.environ.setdefault("PTB_TIMEDELTA", "true")

from telegram import (
    Bot,
    BotCommand,
    ForceReply,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    Message,
    ReplyParameters,
    Update,
)
from telegram.constants import ChatAction, ChatMemberStatus, ChatType, ParseMode
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from chatbridge.channels.chat.document import Rows
from chatbridge.channels.telegram.client.errors import Migrated, Polled, Rejected
from chatbridge.channels.telegram.client.response_checks import (
    NO_NUMBER,
    UNREADABLE,
    Asking,
    Polling,
    SaidOk,
    connections,
    readable,
    untrusted,
)
from chatbridge.channels.telegram.render.html import plain_text
from chatbridge.core.errors import ChatRefused, RetryLater, TokenRejected

log = logging.getLogger(__name__)

UPDATES = ["message", "callback_query"]
CONNECTIONS = 8
ANSWERED_WITHIN = 10.0
NOT_ALLOWED = ("not enough rights", "no rights to send", "chat_write_forbidden")
"""What Telegram says with status 400, though it is the chat that refuses and not the message."""
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    username: str
    topics: bool
    """Whether this bot's private chats can have topics."""
    reads_all: bool = False
    """Whether it is sent everything that is said in its groups (privacy mode is off)."""


class Standing(NamedTuple):
    """How the bot stands in a chat."""

    kind: str
    """`private`, `group`, `supergroup` or `channel`."""
    may_write: bool
    may_edit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A message of ours, and when Telegram says that it was written."""

    id: int
    """`wire.NO_NUMBER`, if Telegram's answer cannot be read."""
    at: float | None


class Api:
    def __init__(
        self, token: str, *, base: str, hint: str, patience: float = ANSWERED_WITHIN
    ) -> None:
        """`hint` says where the token is set; `patience` is how long an answer may take."""
        self.bot_id = token.partition(":")[0]
        self._hint = hint
        self._patience = patience
        self._said_plain = False
        self._said_unknown = False
        self._bot = Bot(
            token,
            base_url=f"{base}/bot",
            request=Asking(
                read_timeout=patience,
                pool_timeout=patience,
                httpx_kwargs=connections(CONNECTIONS),
            ),
            get_updates_request=Polling(httpx_kwargs=connections(1)),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *ended: object) -> None:
        await self.close()

    async def open(self) -> Me:
        """:raises TokenRejected: :raises RetryLater:"""
        with self._translated():
            await self._bot.initialize()
            me = self._bot.bot
        return Me(
            username=me.username or "",
            topics=bool(me.has_topics_enabled),
            reads_all=bool(me.can_read_all_group_messages),
        )

    async def close(self) -> None:
        await self._bot.shutdown()

    async def updates(self, *, offset: int | None, wait: int) -> tuple[Update, ...]:
        """:raises Polled: and what every call raises."""
        with self._translated():
            return await self._bot.get_updates(
                offset=offset,
                timeout=timedelta(seconds=wait),
                allowed_updates=UPDATES,
                read_timeout=self._patience,
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
    ) -> Sent:
        async def send(text: str, mode: str | None) -> Sent:
            with self._translated(chat):
                message = await self._bot.send_message(
                    chat,
                    text,
                    parse_mode=mode,
                    reply_markup=prompt or _keyboard(rows),
                    disable_notification=silent,
                    message_thread_id=thread,
                    reply_parameters=_reply(reply_to),
                    link_preview_options=NO_PREVIEW,
                )
                return self._sent(message)

        try:
            return await send(html, ParseMode.HTML)
        except Rejected as error:
            return await send(self._unmarked(html, error), None)

    async def edit(self, chat: int, message: int, html: str, rows: Rows) -> float | None:
        """When it was edited; None if there was nothing new in it."""

        async def edit(text: str, mode: str | None) -> float | None:
            with self._translated(chat):
                edited = await self._bot.edit_message_text(
                    text,
                    chat_id=chat,
                    message_id=message,
                    parse_mode=mode,
                    reply_markup=_keyboard(rows),
                    link_preview_options=NO_PREVIEW,
                )
            if isinstance(edited, bool) or edited.edit_date is None:
                return None
            return edited.edit_date.timestamp()

        try:
            return await edit(html, ParseMode.HTML)
        except Rejected as error:
            if error.nothing_new:
                return None
            return await edit(self._unmarked(html, error), None)

    async def send_file(
        self,
        chat: int,
        name: str,
        content: bytes,
        *,
        thread: int | None = None,
        reply_to: int | None = None,
    ) -> Sent:
        with self._translated(chat):
            message = await self._bot.send_document(
                chat,
                content,
                filename=name,
                disable_notification=True,
                message_thread_id=thread,
                reply_parameters=_reply(reply_to),
            )
            return self._sent(message)

    async def delete(self, chat: int, message: int) -> None:
        with self._translated(chat):
            await self._bot.delete_message(chat, message)

    async def take_buttons(self, chat: int, message: int) -> None:
        with self._translated(chat):
            await self._bot.edit_message_reply_markup(chat_id=chat, message_id=message)

    async def react(self, chat: int, message: int, emoji: str) -> None:
        with self._translated(chat):
            await self._bot.set_message_reaction(chat, message, emoji)

    async def answer(self, query: str, text: str) -> None:
        with self._translated():
            await self._bot.answer_callback_query(query, text or None)

    async def new_topic(self, chat: int, name: str) -> int:
        """`wire.NO_NUMBER`, if Telegram's answer cannot be read."""
        with self._translated(chat):
            topic = await self._bot.create_forum_topic(chat, name)
        self._look_at(topic.message_thread_id)
        return topic.message_thread_id

    async def set_commands(self, commands: Sequence[tuple[str, str]]) -> None:
        with self._translated():
            await self._bot.set_my_commands([BotCommand(*each) for each in commands])

    # ── how things stand, for set-up and doctor ───────────────────────────────────────────────────

    async def webhook(self) -> str:
        """Where this bot's messages go instead of to a poller; empty if there is no such place."""
        with self._translated():
            return (await self._bot.get_webhook_info()).url

    async def delete_webhook(self) -> None:
        with self._translated():
            await self._bot.delete_webhook()

    async def standing(self, chat: int) -> Standing:
        """Without a message there; in private it is seen as "typing".

        :raises ChatRefused: the bot is not let in. :raises Migrated: and what every call raises.
        """
        with self._translated(chat):
            found = await self._bot.get_chat(chat)
            if found.type == ChatType.PRIVATE:
                # Who has blocked the bot is still shown to it: only an attempt tells.
                await self._bot.send_chat_action(chat, ChatAction.TYPING)
                return Standing(kind=found.type, may_write=True, may_edit=True)
            member = await self._bot.get_chat_member(chat, int(self.bot_id))
        if found.type == ChatType.CHANNEL:
            write, edit = (
                bool(getattr(member, right, False))
                for right in ("can_post_messages", "can_edit_messages")
            )
            return Standing(kind=found.type, may_write=write, may_edit=edit)
        everybody = found.permissions is None or bool(found.permissions.can_send_messages)
        may_write = {
            ChatMemberStatus.ADMINISTRATOR: True,
            ChatMemberStatus.MEMBER: everybody,
            ChatMemberStatus.RESTRICTED: everybody
            and bool(getattr(member, "can_send_messages", False)),
        }.get(ChatMemberStatus(member.status), False)
        return Standing(kind=found.type, may_write=may_write, may_edit=True)

    def _sent(self, message: Message) -> Sent:
        self._look_at(message.message_id)
        return Sent(id=message.message_id, at=message.date.timestamp() or None)

    def _look_at(self, number: int) -> None:
        if number == NO_NUMBER:
            level = logging.DEBUG if self._said_unknown else logging.WARNING
            log.log(level, "telegram said ok, but %s: it is not sent again", UNREADABLE)
            self._said_unknown = True

    def _unmarked(self, html: str, error: Rejected) -> str:
        """A server that does not know a tag of ours (an older one of one's own) gets bare text."""
        if not error.unreadable:
            raise error
        level = logging.DEBUG if self._said_plain else logging.WARNING
        log.log(level, "telegram cannot read our formatting, sending plain text: %s", error)
        self._said_plain = True
        return plain_text(html)

    @contextmanager
    def _translated(self, chat: int | None = None) -> Iterator[None]:
        try:
            with readable():
                yield
        except RetryAfter as error:
            pause = error.retry_after
            seconds = pause.total_seconds() if isinstance(pause, timedelta) else float(pause)
            raise RetryLater("telegram asks for a pause (429)", after=seconds) from None
        except ChatMigrated as error:
            raise Migrated(error.new_chat_id) from None
        except InvalidToken as error:
            what, where = "telegram rejected the bot token (401)", self._hint
            if "not found" in str(error.__cause__ or error).lower():
                what = "telegram does not know the bot token (404)"
                where += " and telegram.api_base"
            raise TokenRejected(f"{what}. Check {where}, then run: chatbridge stop") from None
        except Forbidden as error:
            raise ChatRefused(
                f"telegram: the bot may not write to the chat {chat} (403: {error.message}). Open "
                "the chat in Telegram and press Start or Unblock, or add the bot to the group again"
            ) from None
        except Conflict as error:
            raise Polled(error.message) from None
        except BadRequest as error:
            said = error.message.lower()
            if "chat not found" in said:
                raise ChatRefused(
                    f"telegram does not know the chat {chat} (400). Check telegram.chat_id; its "
                    "owner has to press Start in the bot's chat first"
                ) from None
            if any(words in said for words in NOT_ALLOWED):
                raise ChatRefused(
                    f"telegram: the bot may not write to the chat {chat} (400: {error.message}). "
                    "Let an administrator of the group allow it"
                ) from None
            raise Rejected(error.message) from None
        except TimedOut:
            raise RetryLater("telegram did not answer in time") from None
        except SaidOk:
            raise RetryLater(f"telegram said ok, but {UNREADABLE}") from None
        except TelegramError as error:
            raise RetryLater(
                untrusted(error) or f"telegram cannot be reached ({_kind(error)})"
            ) from None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # A success in another form than the library expects.
            log.debug("telegram's answer has another form: %r", type(error))
            raise RetryLater(f"telegram said ok, but {UNREADABLE}") from None


def _kind(error: TelegramError) -> str:
    """What went wrong, without the address: "httpx.ConnectError: …" or "Bad Gateway"."""
    return error.message.partition(":")[0].partition("(")[0].strip()[:60]


def _keyboard(rows: Rows) -> InlineKeyboardMarkup | None:
    if not rows:
        return None
    return InlineKeyboardMarkup(
        [
            [InlineKeyboardButton(k.text, callback_data=k.data, style=k.style) for k in row]
            for row in rows
        ]
    )


def _reply(message: int | None) -> ReplyParameters | None:
    if message is None or message == NO_NUMBER:
        return None
    return ReplyParameters(message, allow_sending_without_reply=True)
