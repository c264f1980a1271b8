"""Which asks a person's words or taps can be for, where they do not say it themselves."""

from __future__ import annotations

from chatbridge.channels.chat.card_visibility import Attention
from chatbridge.core.asks.transitions import takes_late_answer
from chatbridge.core.forms.typed_input import takes_text
from chatbridge.core.model import Ask, Post
from chatbridge.core.ports import Inbox

LOOKED_BACK = 50
"""How many ended asks are looked at for one that may be meant."""


async def answerable(inbox: Inbox) -> list[Ask]:
    """The open ones, and those that a person is answering late."""
    ended = await inbox.history(limit=LOOKED_BACK)
    late = [ask for ask in ended if ask.draft.late and takes_late_answer(ask)]
    return [*await inbox.open_asks(), *late]


async def shown_on(inbox: Inbox, surface: str) -> list[tuple[Ask, Post]]:
    """Those of them that a text beside the cards on this surface may be for, with their posts. An
    ask that is answered late only counts while it waits for text."""
    found = []
    for ask in await answerable(inbox):
        if ask.open or takes_text(ask):
            post = await inbox.post(ask.id, surface=surface)
            if post is not None:
                found.append((ask, post))
    return found


async def any_unseen(inbox: Inbox, surface: str, attention: Attention) -> bool:
    """Whether words on this surface may be for an ask of which it is not known what its card shows:
    it may be out without anybody having heard so; or an earlier hub has shown it, and it has ended
    since."""
    for ask in await inbox.behind(surface=surface):
        if ask.open:
            unseen = takes_text(ask) and await inbox.post(ask.id, surface=surface) is None
        else:
            unseen = not (ask.approval or attention.knows(ask))
        if unseen:
            return True
    return False
