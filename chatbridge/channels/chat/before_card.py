"""What comes before a new card: the parts of a long question, what has to be read first, and files.

What is out is not sent again if the card then fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from chatbridge.channels.chat.attachments import Uploads, of_ask
from chatbridge.channels.chat.capabilities import T
from chatbridge.channels.chat.card_memory import CardMemory
from chatbridge.channels.chat.card_messages import ALL_SENT, SentFiles
from chatbridge.channels.chat.scene import Scene
from chatbridge.channels.chat.writer import ChatWriter, Outgoing
from chatbridge.core.ports import Clock


@dataclass(frozen=True, slots=True)
class Before:
    """What is out before a card is sent."""

    topic: str | None = None
    messages: tuple[str, ...] = ()
    uploads: tuple[str, ...] = ()
    files: SentFiles = ALL_SENT


async def send_before(
    chat: ChatWriter[T],
    scene: Scene[T],
    memory: CardMemory[T],
    room: str,
    *,
    files: SentFiles | None,
    clock: Clock,
) -> Before:
    """`files`: what became of them, if they have been sent: they come once."""
    ask, place = scene.ask, (room, scene.ask.id)
    new = partial(Outgoing, room=room, project=ask.project)
    topic = await chat.open_topic(room, ask.project)
    out = memory.before.get(place, [])
    for what in [*scene.before, *scene.first][len(out) :]:
        key = ("before", chat.name, ask.id, str(len(out)))
        sent = await chat.send(new(what=what, key=key, topic=topic))
        topic = sent.topic
        out = memory.before[place] = [*out, sent.id]
    if files is not None or not ask.files:
        return Before(topic, tuple(out), files=files or ALL_SENT)
    uploads = memory.uploads.setdefault(place, {})
    files = await Uploads(
        chat=chat,
        new=partial(new, topic=topic),
        key=("file", chat.name, ask.id),
        clock=clock,
        out=uploads,
    ).run(of_ask(ask))
    return Before(topic, tuple(out), tuple(uploads.values()), files)
