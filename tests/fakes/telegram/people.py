"""The person's side: somebody who looks at one chat, reads, taps and writes.

Everything here may be called from any thread and waits with a bound. What a phone shows is handed
out as a picture of that moment (`Card`); `now` and `until` give the next ones. In a test whose
event loop also runs the program under test: `await asyncio.to_thread(phone.sees, "…")`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

from tests.fakes.telegram.chats import (
    CHANCE,
    EMPTY,
    TOPIC_COLOUR,
    ChatRecord,
    Document,
    Message,
    User,
    permissions,
)
from tests.fakes.telegram.entities import Entity, formatted
from tests.fakes.telegram.media import sides_of
from tests.fakes.telegram.service import Query, Service


@dataclass(frozen=True, slots=True)
class Key:
    """A button."""

    text: str
    data: str | None
    style: str | None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A message as it was shown at one moment."""

    id: int
    chat_id: int
    sender: str
    from_bot: bool
    text: str
    html: str
    """The source that the bot sent."""
    entities: tuple[Entity, ...]
    lost: tuple[Entity, ...]
    """Formatting that the bot asked for and Telegram dropped."""
    rows: tuple[tuple[str, ...], ...]
    keys: tuple[Key, ...]
    force_reply: str | None
    """The placeholder of the answer it asks for; None: it asks for none."""
    silent: bool
    reply_to: int | None
    thread: int | None
    date: int
    edited: int | None
    edits: tuple[str, ...]
    """The texts that it showed before."""
    reactions: tuple[str, ...]
    document: Document | None
    """Its file, of whichever kind."""
    album: str | None
    deleted: bool

    def parts(self, type: str) -> tuple[str, ...]:
        """The pieces of its text that are bold, code, …"""
        return tuple(it.of(self.text) for it in self.entities if it.type == type)


def picture(message: Message) -> Card:
    markup = message.markup or {}
    rows = [
        [Key(it["text"], it.get("callback_data"), it.get("style"), it.get("url")) for it in row]
        for row in markup.get("inline_keyboard", ())
    ]
    placeholder = markup.get("input_field_placeholder", "") if "force_reply" in markup else None
    return Card(
        id=message.id,
        chat_id=message.chat.id,
        sender=message.sender.name,
        from_bot=message.sender.is_bot,
        text=message.body.text,
        html=message.source,
        entities=message.body.entities,
        lost=message.body.lost,
        rows=tuple(tuple(key.text for key in row) for row in rows),
        keys=tuple(key for row in rows for key in row),
        force_reply=placeholder,
        silent=message.silent,
        reply_to=message.reply_to.id if message.reply_to else None,
        thread=message.thread,
        date=message.date,
        edited=message.edited,
        edits=tuple(message.edits),
        reactions=message.reactions,
        document=message.document,
        album=message.album,
        deleted=message.deleted,
    )


def file(content: bytes, *, name: str = "", kind: str = "", type: str = "document") -> Document:
    """Something that a person sends. Only a document, a video, … is sent with its name."""
    sides = sides_of(content) or (640, 480)
    number = f"AgAC{CHANCE.getrandbits(96):024x}"
    return Document(name=name, content=content, kind=kind, id=number, type=type, sides=sides)


class Tap:
    """A pressed button, and what the bot says to it."""

    def __init__(self, service: Service, query_id: str) -> None:
        self._service = service
        self.id = query_id

    @property
    def _query(self) -> Query:
        return self._service.queries[self.id]

    @property
    def toast(self) -> str | None:
        """What popped up; None as long as the button still spins."""
        return self._query.answer

    @property
    def alert(self) -> bool:
        return self._query.alert

    def answered(self) -> str:
        """Wait until the button has stopped spinning; what popped up."""
        query = self._query
        self._service.until(
            lambda: query.answer is not None, lambda: "the tap was not answered in time"
        )
        assert query.answer is not None
        return query.answer


class Phone:
    """One person who looks at one chat."""

    def __init__(self, service: Service, chat: ChatRecord, person: User) -> None:
        assert person.id in chat.people, f"{person.name} is not in this chat"
        self._service = service
        self._chat = chat
        self.person = person

    @property
    def messages(self) -> tuple[Card, ...]:
        """All that somebody wrote and nobody deleted, oldest first."""
        with self._service.changed:
            there = self._chat.messages.values()
            return tuple(picture(it) for it in there if not (it.deleted or it.service))

    def sees(self, what: str | Callable[[Card], bool]) -> Card:
        """Wait for a message of the bot that has this text, or fits; the newest of them."""
        found: list[Card] = []

        def there() -> bool:
            for message in reversed(self._chat.messages.values()):
                if message.deleted or message.service or not message.sender.is_bot:
                    continue
                if isinstance(what, str) and what not in message.body.text:
                    continue
                card = picture(message)
                if isinstance(what, str) or what(card):
                    found.append(card)
                    return True
            return False

        self._service.until(there, lambda: f"{what!r} never came. {self._look()}")
        return found[0]

    def now(self, card: Card) -> Card:
        """The same message as it is now."""
        with self._service.changed:
            return picture(self._chat.messages[card.id])

    def until(self, card: Card, condition: Callable[[Card], bool]) -> Card:
        """Wait until an edit makes it so."""
        message = self._chat.messages[card.id]
        found: list[Card] = []

        def there() -> bool:
            current = picture(message)
            if condition(current):
                found.append(current)
            return bool(found)

        self._service.until(there, lambda: f"it stayed {picture(message)}")
        return found[0]

    def gone(self, card: Card) -> None:
        """Wait until it is deleted."""
        self.until(card, lambda card: card.deleted)

    def tap(self, card: Card, label: str) -> Tap:
        """Press the button with this label, or the only one that begins with it, as shown now."""
        with self._service.changed:
            keys = () if self.now(card).deleted else self.now(card).keys
            exact = [key for key in keys if key.text == label]
            fitting = exact or [key for key in keys if key.text.startswith(label)]
            shown = [key.text for key in keys]
            assert len(fitting) == 1, f"{len(fitting)} buttons are {label!r}; there are {shown}"
            assert fitting[0].data is not None, f"{label!r} sends nothing to the bot"
            return self.press(card, fitting[0].data)

    def press(self, card: Card, data: str) -> Tap:
        """Send any callback data for this message, as an older drawing of it would."""
        with self._service.changed:
            return Tap(self._service, self._service.tap(self._chat, card.id, self.person, data))

    def say(self, text: str, *, reply_to: Card | None = None, thread: int | None = None) -> Card:
        """Write a message."""
        return self._post(text, None, None, reply_to=reply_to, thread=thread)

    def send(
        self,
        *files: Document,
        caption: str = "",
        reply_to: Card | None = None,
        thread: int | None = None,
        cut: bool = False,
    ) -> Card:
        """Send a file, or several as an album, whose first message this returns. The service hands
        an album out at once; with `cut`, its first message to who waits, and then the others."""
        album = str(CHANCE.randrange(10**16, 10**17)) if len(files) > 1 else None
        with self._service.changed, nullcontext() if cut else self._service.updates.gathered():
            sent: list[Card] = []
            for file in files:
                self._service.files[file.id] = file
                text = "" if sent else caption
                sent.append(self._post(text, file, album, reply_to=reply_to, thread=thread))
            return sent[0]

    def _post(
        self,
        text: str,
        file: Document | None,
        album: str | None,
        *,
        reply_to: Card | None,
        thread: int | None,
    ) -> Card:
        service, chat = self._service, self._chat
        with service.changed:
            assert chat.migrated_to is None, "the group has become a supergroup: write there"
            answered = chat.message(reply_to.id) if reply_to else None
            assert reply_to is None or answered is not None, "one cannot reply to what is gone"
            if answered is not None and thread is None:
                thread = answered.thread
            assert thread is None or thread in chat.topics, f"there is no topic {thread}"
            if answered is None and thread is not None and chat.forum and not chat.private:
                answered = chat.message(thread)  # so Telegram marks what stands in a topic
            message = service.post(
                chat,
                self.person,
                formatted(text) if text or file is None else EMPTY,
                thread=thread,
                reply_to=answered,
                document=file,
                album=album,
            )
            service.tell_bot(message)
            return picture(message)

    def edit(self, card: Card, text: str) -> None:
        """Change an own message."""
        with self._service.changed:
            message = self._chat.messages[card.id]
            assert message.sender == self.person, "this message is somebody else's"
            message.edits.append(message.body.text)
            message.body, message.edited = formatted(text), self._service.now()
            self._service.tell_bot(message, "edited_message")
            self._service.changed.notify_all()

    def delete(self, card: Card) -> None:
        """Remove a message for all. The bot hears nothing of it."""
        with self._service.changed:
            self._service.delete(self._chat.messages[card.id])

    def block(self) -> None:
        """Stop the bot, in a private chat."""
        assert self._chat.private, "a group throws the bot out: kick_bot"
        with self._service.changed:
            self._chat.refusal = "Forbidden: bot was blocked by the user"
            self._service.membership(self._chat, self.person, was="member", now="kicked")

    def unblock(self) -> None:
        with self._service.changed:
            self._chat.refusal = None
            self._service.membership(self._chat, self.person, was="kicked", now="member")

    def _look(self) -> str:
        lines = [f"  {card.sender}: {card.text!r} {list(card.rows)}" for card in self.messages]
        return "The chat shows:\n" + "\n".join(lines or ["  nothing"])


class Chat:
    """A chat from outside: who is in it, and what can be done to it."""

    def __init__(self, service: Service, record: ChatRecord) -> None:
        self._service = service
        self._record = record

    @property
    def id(self) -> int:
        return self._record.id

    def phone(self, person: User) -> Phone:
        return Phone(self._service, self._record, person)

    def had(self, message_id: int) -> None:
        """The bot has sent a message with this number, long before the test."""
        with self._service.changed:
            self._service.last_id = message_id - 1
            self._service.post(self._record, self._service.bot, formatted("…"))

    @property
    def topics(self) -> dict[int, str]:
        with self._service.changed:
            return dict(self._record.topics)

    def open_topic(self, name: str, by: User) -> int:
        """A person opens a topic; its thread id."""
        with self._service.changed:
            assert self._record.forum, "this chat has no topics"
            thread = self._service.open_topic(self._record, name, by, TOPIC_COLOUR)
            self._service.tell_bot(self._record.messages[thread])
            return thread

    def delete_topic(self, thread: int) -> None:
        """A person deletes a topic with all that is in it. The bot hears nothing of it."""
        with self._service.changed:
            assert self._service.close_topic(self._record, thread), f"no topic {thread}"

    def migrate(self) -> Chat:
        """Let the group become a supergroup: the new chat. The old one keeps its messages."""
        assert self._record.type == "group", "only a basic group can become a supergroup"
        with self._service.changed:
            someone = next(iter(self._record.people.values()))
            return Chat(self._service, self._service.migrate(self._record, someone))

    def kick_bot(self) -> None:
        """Throw the bot out of a group."""
        with self._service.changed:
            kind = self._record.type
            someone = next(iter(self._record.people.values()))
            self._record.refusal = f"Forbidden: bot was kicked from the {kind} chat"
            self._service.membership(self._record, someone, was="member", now="kicked")

    def forbid(self, kind: str) -> None:
        """An administrator lets the bot send texts, and no files of this kind ("photos")."""
        with self._service.changed:
            may = {**permissions(True), f"can_send_{kind}": False}
            more = {"is_member": True, "until_date": 0}
            self._record.membership = {"status": "restricted", **may, **more}

    def mute_bot(self, *, everybody: bool = False) -> None:
        """An administrator takes the right to write away: from the bot, or from all members."""
        with self._service.changed:
            assert not self._record.private, "in private there is nobody to do so"
            if everybody:
                self._record.everybody_may_write = False
            else:
                may = {**permissions(False), "is_member": True, "until_date": 0}
                self._record.membership = {"status": "restricted", **may}
