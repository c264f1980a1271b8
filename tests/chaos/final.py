"""How things are at the end: the store, the cards on every channel, what was left and what leaked.

Reads only; the one thing that it does is to tap a Telegram card that nobody could know of.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.chaos.messages import MESSAGE
from tests.chaos.night import (
    ANOTHER_FIRST,
    LastCard,
    SeenNotice,
    StoredAsk,
    StoredMessage,
    StoredNotice,
)
from tests.chaos.notices import CHATS, NOTICE
from tests.chaos.person_buttons import ANYWAY, BESIDE, DISCARD, ButtonChat, Message
from tests.chaos.person_matrix import CARD, Room
from tests.chaos.riddles import KEY
from tests.chaos.sites import Rows

Json = dict[str, Any]
Database = Callable[..., list[Rows]]
"""What some statements find."""

RETIRED_WITHIN = 15.0
SUMMARY, BELOW = "☀️", "continued below"


def stored(database: Database) -> tuple[StoredAsk, ...]:
    """:raises NotReadable:"""
    rows, posts = database(
        "SELECT * FROM asks ORDER BY seq", "SELECT ask, surface, revision FROM posts"
    )
    shown: dict[int, dict[str, int]] = {}
    for post in posts:
        shown.setdefault(post["ask"], {})[post["surface"]] = post["revision"]
    return tuple(_stored(row, shown.get(row["seq"], {})) for row in rows)


def _stored(row: Mapping[str, Any], shown: dict[str, int]) -> StoredAsk:
    found = KEY.search(row["questions"])
    outcome = json.loads(row["outcome"] or row["late"] or "{}")
    return StoredAsk(
        id=row["id"],
        riddle=found[0] if found else "",
        status=row["status"],
        values=tuple(_values(answer) for answer in outcome.get("answers", ())),
        delivered=row["delivered_at"] is not None,
        kept=bool(row["kept"]) and row["delivered_at"] is None,
        revision=row["revision"],
        shown=shown,
    )


def _values(answer: Json) -> tuple[str, ...]:
    own = answer.get("custom_text")
    return (*answer["values"], own) if own is not None else tuple(answer["values"])


def stored_notices(database: Database) -> tuple[StoredNotice, ...]:
    """:raises NotReadable:"""
    rows, posts = database(
        "SELECT seq, message, at FROM notices ORDER BY seq",
        "SELECT notice, surface FROM notice_posts",
    )
    shown: dict[int, list[str]] = {}
    for post in posts:
        shown.setdefault(post["notice"], []).append(post["surface"])
    return tuple(
        StoredNotice(notice=found[0], at=row["at"], shown=tuple(shown.get(row["seq"], ())))
        for row in rows
        if (found := NOTICE.search(row["message"]))
    )


def stored_messages(database: Database) -> tuple[StoredMessage, ...]:
    """:raises NotReadable:"""
    (rows,) = database(
        "SELECT text, project_name, state, surface != '' AND shown < revision AS behind"
        " FROM owner_messages ORDER BY seq"
    )
    return tuple(
        StoredMessage(
            key=found[0],
            project=row["project_name"],
            state=row["state"],
            behind=bool(row["behind"]),
        )
        for row in rows
        if (found := MESSAGE.search(row["text"]))
    )


def all_shown(notices: Iterable[StoredNotice]) -> bool:
    return all(
        {*CHATS} <= {surface.partition(":")[0] for surface in notice.shown} for notice in notices
    )


def agree(asks: Iterable[StoredAsk]) -> bool:
    """Whether nothing is open, and every surface shows how it ended."""
    return all(
        ask.status != "open" and all(seen == ask.revision for seen in ask.shown.values())
        for ask in asks
    )


# ── cards ─────────────────────────────────────────────────────────────────────────────────────────


async def strays_retired(phone: ButtonChat, ended: set[str]) -> None:
    """A lost reply may have left a second card that nobody could know of: a tap on it says that
    it is over, and takes it away."""
    for stray in _live(phone, ended):
        await phone.tap(stray.id, stray.buttons[0].data)
    until = asyncio.get_running_loop().time() + RETIRED_WITHIN
    while _live(phone, ended) and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(0.3)
        await phone.look()


def _live(phone: ButtonChat, asks: set[str]) -> list[Message]:
    return [message for message in phone.messages.values() if message.ask in asks]


def button_cards(phone: ButtonChat) -> Iterator[LastCard]:
    for message in phone.messages.values():
        if message.from_bot and message.key and _is_card(message):
            yield LastCard(
                channel=phone.channel,
                riddle=message.key,
                where=f"message {message.id}",
                text=message.text,
                live=tuple(b.text for b in message.buttons if b.code not in DISCARD + ANYWAY),
            )


def _is_card(message: Message) -> bool:
    """Not a question which card is meant, a list, a summary, a card that has gone on below, or a
    word about something written."""
    if message.text.startswith(SUMMARY) or message.text.endswith(BELOW):
        return False
    return message.reply_to is None and not any(b.code in BESIDE for b in message.buttons)


def matrix_cards(room: Room) -> Iterator[LastCard]:
    """The roots; steps in their threads say no more than that they are over."""
    bot = room.place.bot
    for message in room.timeline.messages():
        if message.sender != bot or CARD not in message.original or message.redacted:
            continue
        found = KEY.search(message.original.get("body", ""))
        if found:
            seeds = tuple(emoji for emoji, who in message.reactions.items() if bot in who)
            retired = message.thread is not None or message.body.endswith(BELOW)
            if seeds or not retired:
                yield LastCard(
                    channel="matrix",
                    riddle=found[0],
                    where=message.event_id,
                    text=message.body,
                    live=seeds,
                )


def said_to_be_second(phones: Iterable[ButtonChat]) -> Iterator[tuple[str, str]]:
    """All night long: what is said to a text that has been taken, too."""
    for phone in phones:
        for word in phone.bots_own():
            written = phone.messages.get(word.reply_to or 0)
            if written is not None and word.text.startswith(ANOTHER_FIRST):
                yield phone.channel, written.text


# ── notices ───────────────────────────────────────────────────────────────────────────────────────


def seen_notices(phones: Iterable[ButtonChat], room: Room) -> Iterator[SeenNotice]:
    """As the chats show them; a list shows several."""
    for channel, where, text in _said(phones, room):
        for notice in NOTICE.findall(text):
            yield SeenNotice(channel=channel, notice=notice, where=where, text=text)


def summaries(phones: Iterable[ButtonChat], room: Room) -> Iterator[tuple[str, str]]:
    for channel, _, text in _said(phones, room):
        if text.startswith(SUMMARY):
            yield channel, text.splitlines()[0]


def _said(phones: Iterable[ButtonChat], room: Room) -> Iterator[tuple[str, str, str]]:
    """All that the bots say: the channel, the message, its text."""
    for phone in phones:
        yield from ((phone.channel, f"message {it.id}", it.text) for it in phone.bots_own())
    for it in room.timeline.messages():
        if it.sender == room.place.bot:
            yield "matrix", it.event_id, it.body


# ── what was written ──────────────────────────────────────────────────────────────────────────────


def leaks(secrets: dict[str, str], outputs: Iterable[Path]) -> Iterator[str]:
    for file in outputs:
        try:
            content = file.read_bytes()
        except OSError:
            continue
        for name, secret in secrets.items():
            if secret.encode() in content:
                yield f"{name} is in {file.name}"


def hubs(outputs: Iterable[Path]) -> int:
    """How many came up, as the log says."""
    logs = (file for file in outputs if file.name == "hub.log")
    return sum(file.read_bytes().count(b" ready pid=") for file in logs)
