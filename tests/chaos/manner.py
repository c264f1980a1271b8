"""What kind of night it is: how many ask, how often something breaks, how the person answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    name: str
    agents: int
    pause: float
    """Seconds from one fault to the next, on average."""
    rests: float = 15.0
    """So many seconds an agent works at most before it asks again."""
    tells: float = 0.15
    """How often an agent has something to tell before that."""
    texts: float = 0.0
    """How often a riddle is one question for a text, whatever else would have been drawn."""
    beside: float = 0.3
    """How often such a text is written beside the cards, and not as a reply."""
    stays: float = 0.0
    """For about so many seconds the person stays with one chat; 0: they are everywhere."""
    decides: float = 9.0
    """So many seconds the person thinks at most about what they see."""
    prefers_chats: float = 0.95
    """How often the person waits for a chat with what only the inbox shows."""
    patience: float = 30.0
    """How many seconds the person waits at most for a card on Discord: with a message a second it
    often comes last."""


BUSY = Manner(name="busy", agents=20, pause=3.5)
TYPED = Manner(
    name="typed",
    agents=2,
    pause=20.0,
    rests=6.0,
    tells=0.03,  # else two agents of one project would tell more than they may in a minute
    texts=0.7,
    beside=0.9,
    stays=150.0,
)
"""So quiet that it is often clear what a text beside the cards is for: the bot takes it without
asking, and has to know when it is not clear."""
CROWDED = Manner(
    name="crowded",
    agents=40,
    pause=3.5,
    rests=6.0,
    tells=0.05,  # else chats that take a message a second had minutes to catch up with
    decides=3.0,
    prefers_chats=0.88,
    patience=6.0,
)
"""More questions than the chats' limits let through: many end before each chat has shown them."""
MANNERS = {manner.name: manner for manner in (BUSY, TYPED, CROWDED)}
