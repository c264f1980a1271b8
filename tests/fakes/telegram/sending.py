"""Methods about messages: send, edit, delete, react."""

from __future__ import annotations

from typing import Any

from telegram.constants import ReactionEmoji

from tests.fakes.telegram import limits
from tests.fakes.telegram.chats import (
    CHANCE,
    EMPTY,
    ChatRecord,
    Document,
    Json,
    Message,
    message_json,
)
from tests.fakes.telegram.entities import Entity, Formatted, formatted, width
from tests.fakes.telegram.html import parse_html
from tests.fakes.telegram.markup import checked_markup
from tests.fakes.telegram.media import checked_photo
from tests.fakes.telegram.replies import Refusal, bad_request
from tests.fakes.telegram.service import Service

NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same "
    "as a current content and reply markup of the message"
)
_EMOJI = frozenset(str(emoji) for emoji in ReactionEmoji)
_ACTIONS = ("typing", "upload_document", "upload_photo", "record_voice", "find_location")


class Sending:
    def __init__(self, service: Service) -> None:
        self._service = service

    def send_message(self, params: Json, files: dict[str, Document]) -> Json:
        source = _text(params, "text")
        if not source:
            raise bad_request("message text is empty")
        body = self._body(source, params, "entities")
        if width(body.text) > limits.TEXT:
            raise bad_request("message is too long")
        return self._send(params, body, source=source, preview=params.get("link_preview_options"))

    def send_document(self, params: Json, files: dict[str, Document]) -> Json:
        return self._send_file(
            params, self._file("document", params.get("document", "document"), files)
        )

    def send_photo(self, params: Json, files: dict[str, Document]) -> Json:
        return self._send_file(params, self._file("photo", params.get("photo", "photo"), files))

    def send_media_group(self, params: Json, files: dict[str, Document]) -> list[Json]:
        items = params.get("media") or []
        if not 2 <= len(items) <= limits.ALBUM:
            raise bad_request(f"an album has 2 to {limits.ALBUM} items, not {len(items)}")
        if len({item["type"] for item in items}) > 1:
            raise bad_request("Document can't be mixed with other media types")
        made = []
        for number, item in enumerate(items, 1):
            try:
                document = self._file(item["type"], item["media"], files)
                made.append((item, document, self._caption(item)))
            except Refusal as error:
                why = error.description.removeprefix("Bad Request: ")
                words = f'failed to send message #{number} with the error message "{why}"'
                raise bad_request(words) from None
        album = str(CHANCE.randrange(10**16, 10**17))
        costs = [len(made), *[0] * (len(made) - 1)]  # all of it goes out, or nothing
        return [
            self._send(
                params,
                body,
                source=_text(item, "caption"),
                document=document,
                album=album,
                cost=cost,
            )
            for cost, (item, document, body) in zip(costs, made, strict=True)
        ]

    def _send_file(self, params: Json, document: Document) -> Json:
        body = self._caption(params)
        return self._send(params, body, source=_text(params, "caption"), document=document)

    def _caption(self, given: Json) -> Formatted:
        source = _text(given, "caption")
        body = self._body(source, given, "caption_entities") if source.strip() else EMPTY
        if width(body.text) > limits.CAPTION:
            raise bad_request("message caption is too long")
        return body

    def edit_message_text(self, params: Json, files: dict[str, Document]) -> Json:
        source = _text(params, "text")
        if not source:
            raise bad_request("message text is empty")
        body = self._body(source, params, "entities")
        markup = checked_markup(params.get("reply_markup"))
        message = self._message(params, "message to edit")
        if message.document is not None or message.service:
            raise bad_request("there is no text in the message to edit")
        if width(body.text) > limits.TEXT:
            raise Refusal(400, "Bad Request: MESSAGE_TOO_LONG")
        return self._edit(message, body, source, markup, params.get("link_preview_options"))

    def edit_message_reply_markup(self, params: Json, files: dict[str, Document]) -> Json:
        markup = checked_markup(params.get("reply_markup"))
        message = self._message(params, "message to edit")
        return self._edit(message, message.body, message.source, markup, message.preview)

    def delete_message(self, params: Json, files: dict[str, Document]) -> bool:
        message = self._message(params, "message to delete")
        theirs = message.sender != self._service.bot and not message.chat.private
        old = self._service.clock.time() - message.date > limits.DELETE_SECONDS
        if old or theirs:
            everyone = "" if message.chat.type == "supergroup" else " for everyone"
            raise bad_request(f"message can't be deleted{everyone}")
        self._service.delete(message)
        return True

    def set_message_reaction(self, params: Json, files: dict[str, Document]) -> bool:
        reactions = params.get("reaction") or []
        message = self._message(params, "message to react")
        if len(reactions) > 1:
            raise bad_request("REACTIONS_TOO_MANY")
        if any(it.get("type") != "emoji" or it.get("emoji") not in _EMOJI for it in reactions):
            raise bad_request("REACTION_INVALID")
        message.reactions = tuple(it["emoji"] for it in reactions)
        self._service.changed.notify_all()
        return True

    def send_chat_action(self, params: Json, files: dict[str, Document]) -> bool:
        if params.get("action") not in _ACTIONS:
            raise bad_request("wrong parameter action in request")
        self._thread(self.chat(params), params)
        return True

    def chat(self, params: Json, *, write: bool = True) -> ChatRecord:
        """The chat that a request names.

        :raises Refusal:
        """
        chat_id = params.get("chat_id", "")
        if chat_id == "":
            raise bad_request("chat_id is empty")
        service = self._service
        chat = service.chats.get(chat_id) if isinstance(chat_id, int) else None
        if chat is None:
            if any(chat_id in other.people for other in service.chats.values()):
                raise Refusal(403, "Forbidden: bot can't initiate conversation with a user")
            raise bad_request("chat not found")
        if chat.migrated_to is not None:
            raise bad_request(
                "group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.migrated_to
            )
        if write and chat.refusal is not None:
            raise Refusal(403, chat.refusal)
        if write and not chat.writable:
            raise bad_request("not enough rights to send text messages to the chat")
        return chat

    def _message(self, params: Json, what: str) -> Message:
        chat = self.chat(params)
        message = chat.message(params.get("message_id", 0))
        if message is None:
            raise bad_request(f"{what} not found")
        return message

    def _thread(self, chat: ChatRecord, params: Json) -> int | None:
        thread = params.get("message_thread_id")
        # Where there can be no topics the number is passed over, as the real service does.
        if not thread or not (chat.forum or chat.private):
            return None
        if thread not in chat.topics:
            raise bad_request("message thread not found")
        assert isinstance(thread, int)
        return thread

    def _reply_to(self, chat: ChatRecord, params: Json) -> Message | None:
        wanted = params.get("reply_parameters")
        if not wanted:
            return None
        message = chat.message(wanted.get("message_id", 0))
        if message is None and not wanted.get("allow_sending_without_reply"):
            raise bad_request("message to be replied not found")
        return message

    def _body(self, source: str, params: Json, key: str) -> Formatted:
        if len(source.encode("utf-8", "surrogatepass")) > limits.SOURCE_BYTES:
            raise bad_request("text is too long")
        mode = str(params.get("parse_mode") or "").lower()
        if mode == "html":
            return formatted(*parse_html(source, times=self._service.features.times))
        if mode:
            raise bad_request("unsupported parse_mode")
        return formatted(source, [_given(entity) for entity in params.get(key) or []])

    def _send(
        self,
        params: Json,
        body: Formatted,
        *,
        source: str,
        preview: Json | None = None,
        document: Document | None = None,
        album: str | None = None,
        cost: int = 1,
    ) -> Json:
        markup = checked_markup(params.get("reply_markup"))
        chat = self.chat(params)
        if document is not None:
            self._service.files[document.id] = document
            if not chat.takes(document.type):
                raise bad_request(f"not enough rights to send {document.type}s to the chat")
        thread = self._thread(chat, params)
        reply_to = self._reply_to(chat, params)
        if thread is None and reply_to is not None and (chat.forum or chat.private):
            thread = reply_to.thread
        if cost:
            self._service.rates.spend(chat.id, private=chat.private, edit=False, count=cost)
        message = self._service.post(
            chat,
            self._service.bot,
            body,
            source=source,
            markup=markup,
            thread=thread,
            reply_to=reply_to or (chat.message(thread) if thread and chat.forum else None),
            silent=bool(params.get("disable_notification")),
            preview=preview,
            document=document,
            album=album,
        )
        return message_json(message)

    def _edit(
        self,
        message: Message,
        body: Formatted,
        source: str,
        markup: Json | None,
        preview: Json | None,
    ) -> Json:
        if message.sender != self._service.bot or not message.editable:
            raise bad_request("message can't be edited")
        if markup is not None and "inline_keyboard" not in markup:
            raise bad_request("inline keyboard expected")
        same = (message.body.text, message.body.entities) == (body.text, body.entities)
        if same and markup == message.markup:
            raise bad_request(NOT_MODIFIED)
        chat = message.chat
        self._service.rates.spend(chat.id, private=chat.private, edit=True)
        message.edits.append(message.body.text)
        message.body, message.source, message.markup = body, source, markup
        message.preview = preview
        message.edited = self._service.now()
        self._service.changed.notify_all()
        return message_json(message)

    def _file(self, kind: str, given: object, files: dict[str, Document]) -> Document:
        key = str(given).removeprefix("attach://")
        document = files.get(key) or self._service.files.get(str(given))
        if document is None:
            raise bad_request(f"there is no {kind} in the request")
        if not document.content:
            raise bad_request("file must be non-empty")
        if kind == "document":
            return document
        assert kind == "photo", "no other kind is sent"
        return checked_photo(document)


def _text(params: Json, key: str) -> str:
    return str(params.get(key) or "")


def _given(entity: Any) -> Entity:
    user = entity.get("user") or {}
    return Entity(
        type=entity["type"],
        offset=entity["offset"],
        length=entity["length"],
        url=entity.get("url"),
        user=user.get("id"),
        language=entity.get("language"),
        custom_emoji_id=entity.get("custom_emoji_id"),
        unix_time=entity.get("unix_time"),
        date_time_format=entity.get("date_time_format"),
    )
