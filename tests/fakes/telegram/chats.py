"""People, chats and messages, as the service keeps them, and their JSON."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.telegram.entities import Entity, Formatted, entity_json

Json = dict[str, Any]
EMPTY = Formatted(text="")
TOPIC_COLOUR = 7322096
CHANCE = random.SystemRandom()
"""Not everybody's: Hypothesis sets that one to the same state for each example."""


_NAMED = ("document", "video", "audio", "animation")
_MORE: dict[str, Json] = {
    "document": {},
    "video": {"width": 640, "height": 480, "duration": 3},
    "animation": {"width": 64, "height": 48, "duration": 1},
    "audio": {"duration": 3},
    "voice": {"duration": 3},
    "video_note": {"length": 240, "duration": 3},
    "sticker": {
        "type": "regular",
        "width": 512,
        "height": 512,
        "is_animated": False,
        "is_video": False,
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    id: int
    name: str
    username: str | None = None
    is_bot: bool = False

    def json(self) -> Json:
        data: Json = {"id": self.id, "is_bot": self.is_bot, "first_name": self.name}
        if self.username:
            data["username"] = self.username
        if not self.is_bot:
            data["language_code"] = "en"
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    name: str
    content: bytes
    kind: str
    id: str
    type: str = "document"
    """As which kind of message it was sent: photo, voice, …"""
    sides: tuple[int, int] = (0, 0)

    def json(self) -> Json:
        data: Json = {
            "file_id": self.id,
            "file_unique_id": self.id[-12:],
            "file_size": len(self.content),
        }
        if self.type == "photo":
            width, height = self.sides
            small = {"file_id": f"{self.id}s", "file_unique_id": "s", "file_size": 900}
            return {
                "photo": [
                    {**small, "width": width // 4 or 1, "height": height // 4 or 1},
                    {**data, "width": width, "height": height},
                ]
            }
        data |= _MORE[self.type]
        if self.type in _NAMED:
            data["file_name"] = self.name
        if self.type != "sticker" and self.type != "video_note":
            data["mime_type"] = self.kind
        # An animation is told as a document as well, for bots that know no animations.
        return {self.type: data, **({"document": data} if self.type == "animation" else {})}


@dataclass(slots=True, kw_only=True, eq=False)
class Message:
    id: int
    chat: ChatRecord
    sender: User
    date: int
    body: Formatted = EMPTY
    source: str = ""
    """The text as the bot sent it, before parsing."""
    markup: Json | None = None
    thread: int | None = None
    reply_to: Message | None = None
    silent: bool = False
    preview: Json | None = None
    document: Document | None = None
    """Its file, of whichever kind."""
    album: str | None = None
    service: Json = field(default_factory=dict)
    edited: int | None = None
    edits: list[str] = field(default_factory=list)
    """The texts it had before."""
    reactions: tuple[str, ...] = ()
    deleted: bool = False

    @property
    def editable(self) -> bool:
        return self.markup is None or "inline_keyboard" in self.markup


@dataclass(slots=True, kw_only=True, eq=False)
class ChatRecord:
    id: int
    type: str
    title: str = ""
    people: dict[int, User]
    forum: bool = False
    privacy: bool = True
    topics: dict[int, str] = field(default_factory=dict)
    messages: dict[int, Message] = field(default_factory=dict)
    refusal: str | None = None
    """Why the bot may not write here: blocked or kicked."""
    migrated_to: int | None = None
    everybody_may_write: bool = True
    """What the group allows its members, bots included."""
    membership: Json = field(default_factory=lambda: {"status": "member"})
    """How the bot is in it, as getChatMember says."""

    @property
    def private(self) -> bool:
        return self.type == "private"

    @property
    def writable(self) -> bool:
        """For the bot, in a group: an administrator may always write."""
        if self.membership["status"] == "administrator":
            return True
        return self.everybody_may_write and self.membership.get("can_send_messages", True)

    def takes(self, kind: str) -> bool:
        """Whether the bot may send files of this kind here."""
        return bool(self.membership.get(f"can_send_{kind}s", True))

    def json(self) -> Json:
        if self.private:
            (person,) = self.people.values()
            data: Json = {"id": self.id, "type": self.type, "first_name": person.name}
            if person.username:
                data["username"] = person.username
            return data
        data = {"id": self.id, "type": self.type, "title": self.title}
        if self.type == "group":
            data["all_members_are_administrators"] = False
        if self.forum:
            data["is_forum"] = True
        return data

    def message(self, message_id: int) -> Message | None:
        message = self.messages.get(message_id)
        return None if message is None or message.deleted else message


def permissions(write: bool) -> Json:
    """What members of a group may do."""
    may = ("messages", "audios", "documents", "photos", "videos", "video_notes", "voice_notes")
    rest = ("polls", "other_messages")
    return {
        **dict.fromkeys((f"can_send_{what}" for what in (*may, *rest)), write),
        "can_add_web_page_previews": write,
        "can_react_to_messages": write,
        "can_edit_tag": False,
        "can_change_info": False,
        "can_invite_users": True,
        "can_pin_messages": False,
        "can_manage_topics": False,
    }


def message_json(message: Message, *, replies: bool = True) -> Json:
    """As the Bot API gives it, with what it replies to one level deep."""
    data: Json = {"message_id": message.id}
    if message.thread is not None:
        data["message_thread_id"] = message.thread
    data["from"] = message.sender.json()
    data["chat"] = message.chat.json()
    data["date"] = message.date
    if message.edited is not None:
        data["edit_date"] = message.edited
    reply_to = message.reply_to
    if replies and reply_to is not None and not reply_to.deleted:
        data["reply_to_message"] = message_json(reply_to, replies=False)
    data |= message.service
    kind = "text"
    if message.document is not None:
        data |= message.document.json()
        kind = "caption"
    if message.album is not None:
        data["media_group_id"] = message.album
    if message.body.text:
        data[kind] = message.body.text
        if message.body.entities:
            name = "entities" if kind == "text" else "caption_entities"
            data[name] = [_entity(entity, message.chat) for entity in message.body.entities]
    if message.preview:
        data["link_preview_options"] = message.preview
    if message.markup is not None and "inline_keyboard" in message.markup:
        data["reply_markup"] = message.markup
    if message.thread is not None:
        data["is_topic_message"] = True
    return data


def _entity(entity: Entity, chat: ChatRecord) -> Json:
    if entity.user is None:
        return entity_json(entity)
    person = chat.people.get(entity.user) or User(id=entity.user, name="Somebody")
    return entity_json(entity, user=person.json())


def gone_json(chat: ChatRecord, message_id: int) -> Json:
    """A message that the bot may not see any more."""
    return {"chat": chat.json(), "message_id": message_id, "date": 0}
