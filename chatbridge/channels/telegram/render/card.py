"""What Telegram can do, and messages as it takes them: HTML, and rows of buttons."""

from __future__ import annotations

from chatbridge.channels.chat import card as cards
from chatbridge.channels.chat.capabilities import CONTINUED, Buttons, Capabilities, Continuations
from chatbridge.channels.chat.outcome import PROJECT_LENGTH
from chatbridge.channels.chat.runs import Run, Text, split, width, write
from chatbridge.channels.telegram.client.uploads import FILES
from chatbridge.channels.telegram.render.html import LIMIT
from chatbridge.core.cards.card import Card
from chatbridge.core.cards.outcome_text import MAX_NAME_CHARACTERS
from chatbridge.core.text import isolated, one_line, shortened

TELEGRAM: Capabilities[Text] = Capabilities(
    channel="telegram",
    write=write,
    size=width,
    card=3_200,  # the rest of Telegram's 4,096 is for the longest frame there can be
    lengths=CONTINUED,
    code=3_000,
    output=3_500,
    buttons=Buttons(
        most_options=90,  # Telegram takes 100 buttons; the rest is for the form's own
        private=(30, 14),
        group=(27, 12),  # avatars take room
    ),
    continuations=Continuations(split=split, size=LIMIT - 100, most=4, options=2_000),
    files=FILES,
)


def draw_prompt(card: Card, *, mention: tuple[int, str] | None) -> Text:
    """The message that is replied to. `mention`: whose turn it is in a group, by id and name."""
    project = Run(isolated(shortened(card.project, PROJECT_LENGTH)), ("b",))
    what = cards.prompt_subject(card)
    if mention is None:
        return (Run(f"{what.capitalize()} for "), project, Run(":"))
    person, name = mention
    called = isolated(shortened(one_line(name), MAX_NAME_CHARACTERS) or "You")
    link = f'a href="tg://user?id={person}"'
    return (Run(called, (link,)), Run(f", {what} for "), project, Run(":"))
