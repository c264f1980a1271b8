"""How Discord shows what the kit says: markdown in which nothing of others is marked up, and rows
of buttons and selects.

A text of up to 2,000 characters is a message's content, which notifications show. A longer one is a
text component, of which a message takes 4,000 characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chatbridge.channels.chat.capabilities import (
    CONTINUED,
    Buttons,
    Capabilities,
    Continuations,
    Files,
)
from chatbridge.channels.chat.document import File, Key, Rows
from chatbridge.channels.chat.incoming import Modal
from chatbridge.channels.chat.keyboard import (
    DANGER,
    PRIMARY,
    SUCCESS,
    is_picked,
    option_keys,
    takes_several,
)
from chatbridge.channels.chat.markdown_writer import MarkdownWriter, escape, write
from chatbridge.channels.chat.runs import Text, units
from chatbridge.channels.sockets.files import captions
from chatbridge.core.text import clipped, one_line

Body = dict[str, Any]

CONTENT, LIMIT = 2_000, 4_000
"""Of a message's content, and of the text components of one."""
A_ROW, ROWS, OPTIONS = 5, 5, 25
LABEL, OPTION_LABEL, TITLE, DESCRIPTION, PLACEHOLDER = 80, 100, 45, 100, 100
FILE_BYTES, FILES, ALTERNATIVE = 20 * 1024 * 1024, 10, 1_024
MOST_BUTTONS_FOR_OPTIONS = 5
SUPPRESS_EMBEDS, EPHEMERAL, SILENT, VOICE, COMPONENTS_V2 = 1 << 2, 1 << 6, 1 << 12, 1 << 13, 1 << 15
ROW, BUTTON, SELECT, INPUT, TEXT_DISPLAY, LABELLED = 1, 2, 3, 4, 10, 18
STYLES = {PRIMARY: 1, None: 2, SUCCESS: 3, DANGER: 4}
LINK = 5
NO_MENTIONS = {"parse": [], "replied_user": False}


MARKDOWN = MarkdownWriter(LIMIT, lambda at, shown: f"<t:{at}:{'t' if shown == 't' else 'f'}>")
DISCORD: Capabilities[Text] = Capabilities(
    channel="discord",
    write=write,
    size=MARKDOWN.size,
    card=3_100,  # the rest is for the longest frame there can be
    lengths=CONTINUED,
    code=2_200,
    output=1_800,
    buttons=Buttons(most_options=OPTIONS, private=(38, 18), group=(38, 18), boxes=False),
    continuations=Continuations(split=MARKDOWN.split, size=LIMIT - 100, most=4, options=1_500),
    files=Files(largest=FILE_BYTES, album=FILES),
)


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


def body(text: Text, rows: Rows = (), *, flags: int = 0, long: bool = False) -> Body:
    """A message. `long`: it has been one of text components before, and has to stay so."""
    written, shown = MARKDOWN.to_markdown(text), components(rows)
    common: Body = {"allowed_mentions": NO_MENTIONS}
    if not long and units(written) <= CONTENT:
        return {
            "content": written,
            "components": shown,
            "flags": flags | SUPPRESS_EMBEDS,
            **common,
        }
    part = {"type": TEXT_DISPLAY, "content": written}
    return {"components": [part, *shown], "flags": flags | COMPONENTS_V2, **common}


def with_files(files: Sequence[File], *, flags: int) -> Body:
    """A message that has these files. Discord shows those that are pictures."""
    described = [clipped(one_line(file.caption), ALTERNATIVE) for file in files]
    listed = [
        {"id": i, "filename": one_line(file.name)} | ({"description": text} if text else {})
        for i, (file, text) in enumerate(zip(files, described, strict=True))
    ]
    return {
        "content": clipped(escape(captions(files)), CONTENT),
        "attachments": listed,
        "flags": flags | SUPPRESS_EMBEDS,
        "allowed_mentions": NO_MENTIONS,
    }


def ephemeral(text: str) -> Body:
    """What only the person sees who did something."""
    return {"content": text, "flags": EPHEMERAL, "allowed_mentions": NO_MENTIONS}


def components(rows: Rows) -> list[Body]:
    """Options as a select if there are many, or several can be picked; the rest as buttons."""
    options, others = option_keys(rows)
    found: list[list[Body]] = []
    if len(options) > MOST_BUTTONS_FOR_OPTIONS or takes_several(options):
        found.append([_select(options[:OPTIONS])])
    else:
        others = rows
    shown = [[_button(key) for key in row] for row in others if row]
    left = ROWS - len(found)
    if len(shown) > left or any(len(row) > A_ROW for row in shown):
        flat = [button for row in shown for button in row]
        shown = [flat[i : i + A_ROW] for i in range(0, len(flat), A_ROW)]
    return [{"type": ROW, "components": row} for row in (*found, *shown[:left])]


def _button(key: Key) -> Body:
    label = clipped(key.text, LABEL)
    if key.url:
        return {"type": BUTTON, "style": LINK, "label": label, "url": key.url}
    return {"type": BUTTON, "style": STYLES[key.style], "label": label, "custom_id": key.data}


def _select(options: Sequence[Key]) -> Body:
    several = takes_several(options)
    return {
        "type": SELECT,
        "custom_id": options[0].data,
        "placeholder": "Pick any number" if several else "Pick one",
        "min_values": 0 if several else 1,
        "max_values": len(options) if several else 1,
        "options": [
            {
                "label": clipped(key.text, OPTION_LABEL),
                "value": key.data,
                "default": is_picked(key),
            }
            for key in options
        ],
    }


def modal(asked: Modal) -> Body:
    field = {
        "type": LABELLED,
        "label": asked.label,
        "description": clipped(asked.question, DESCRIPTION),
        "component": {
            "type": INPUT,
            "custom_id": "text",
            "style": 2,
            "max_length": LIMIT,
            "placeholder": clipped(asked.placeholder, PLACEHOLDER),
        },
    }
    title = clipped(asked.project or "chatbridge", TITLE)
    return {"custom_id": asked.data, "title": title, "components": [field]}
