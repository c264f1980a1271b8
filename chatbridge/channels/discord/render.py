"""How Discord shows what the kit says: markdown in which nothing of others is marked up, and rows
of buttons and selects.

A text of up to 2,000 characters is a message's content, which notifications show. A longer one is a
text component, of which a message takes 4,000 characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat import runs
from chatbridge.channels.chat.capabilities import Buttons, Capabilities, Continuations, Lengths
from chatbridge.channels.chat.document import Key, Rows
from chatbridge.channels.chat.keyboard import (
    DANGER,
    PRIMARY,
    SUCCESS,
    is_picked,
    option_keys,
    takes_several,
)
from chatbridge.channels.chat.receiver import Modal
from chatbridge.channels.chat.runs import Run, Text, units
from chatbridge.core.text import clipped

Body = dict[str, Any]

CONTENT, LIMIT = 2_000, 4_000
"""Of a message's content, and of the text components of one."""
A_ROW, ROWS, OPTIONS = 5, 5, 25
LABEL, OPTION_LABEL, TITLE, DESCRIPTION, PLACEHOLDER = 80, 100, 45, 100, 100
MOST_BUTTONS_FOR_OPTIONS = 5
SUPPRESS_EMBEDS, EPHEMERAL, SILENT, COMPONENTS_V2 = 1 << 2, 1 << 6, 1 << 12, 1 << 15
ROW, BUTTON, SELECT, INPUT, TEXT_DISPLAY, LABELLED = 1, 2, 3, 4, 10, 18
STYLES = {PRIMARY: 1, None: 2, SUCCESS: 3, DANGER: 4}
LINK = 5
VIEW_CHANNEL, SEND_MESSAGES, ATTACH_FILES, READ_HISTORY = 1 << 10, 1 << 11, 1 << 15, 1 << 16
"""The permissions that a channel needs."""
NO_MENTIONS = {"parse": [], "replied_user": False}

_ADDRESS = re.compile(r"(https?://[^\s<]+[^<.,:;\"')\]\s])")
"""What Discord turns into a link to the letter, marks and backslashes in it included."""
_MARKS = re.compile(r"[\\*_`~|<\[]|@(?=everyone|here)")
_LINE_STARTS = re.compile(r"^([ \t]*\d*)(?=(?<=\d)[.)]|(?<!\d)[-+>#])", re.MULTILINE)
_LANGUAGE = re.compile(r'code class="language-([A-Za-z0-9_+#.-]+)"')


# ── texts ─────────────────────────────────────────────────────────────────────────────────────────


def to_markdown(text: Text) -> str:
    """The text with its marks; without them, and cut, if there is no room for them."""
    written = _written(text)
    if units(written) > LIMIT:
        bare = "".join(run.text for run in text)
        written = escape(bare)
        if units(written) > LIMIT:
            written = escape(runs.ends_of(bare, head=LIMIT // 2 - 1, tail=0)[0]) + "…"
    return written


def _written(text: Text) -> str:
    found = []
    for box, inside in groupby(text, _box):
        if box == "quote":
            found.append("> " + _inline(inside).replace("\n", "\n> "))
        elif box is not None:
            found.append(_fenced("".join(run.text for run in inside), box))
        else:
            found.append(_inline(inside))
    return "".join(found)


def _box(run: Run) -> str | None:
    """A quote, or a block of code by the line that opens it."""
    if "pre" in run.tags:
        return next((f"```{m[1]}" for tag in run.tags if (m := _LANGUAGE.fullmatch(tag))), "```")
    return "quote" if any(tag.startswith(runs.QUOTE) for tag in run.tags) else None


def _fenced(code: str, opening: str) -> str:
    return escape(code) if "```" in code else f"{opening}\n{code}\n```"


def _inline(text: Iterable[Run]) -> str:
    """Bold around italics around the rest: marks that are closed and opened again are read as
    others."""
    pieces = []
    for bold, inside in groupby(text, lambda run: "b" in run.tags):
        groups = groupby(inside, lambda run: "i" in run.tags)
        parts = [(italic, "".join(map(_piece, runs))) for italic, runs in groups]
        around = ["", *(part for _, part in parts), ""]
        marked = "".join(
            _marked(part, _italic(around[i - 1], around[i + 1])) if italic else part
            for i, (italic, part) in enumerate(parts, 1)
        )
        pieces.append(_marked(marked, "**") if bold else marked)
    return "".join(pieces)


def _italic(before: str, after: str) -> str:
    """Underscores mark whole words only, and asterisks beside others are read as bold."""
    return "*" if re.search(r"\w$", before) or re.match(r"\w", after) else "_"


def _marked(text: str, mark: str) -> str:
    """Marks with a blank inside are none."""
    bare = text.strip()
    return text.replace(bare, f"{mark}{bare}{mark}") if bare else text


def _piece(run: Run) -> str:
    time = next((tag for tag in run.tags if tag.startswith("time ")), None)
    if time is not None:
        _, at, shown = time.split(" ")
        return f"<t:{at}:{'t' if shown == 't' else 'f'}>"
    return _code(run.text) if "code" in run.tags else escape(run.text)


def _code(text: str) -> str:
    if "`" not in text:
        return f"`{text}`"
    return escape(text) if "``" in text else f"`` {text} ``"


def escape(text: str) -> str:
    """What Discord shows as this text and as nothing else. Addresses stay: it takes them to the
    letter."""
    parts = _ADDRESS.split(text)
    return "".join(part if i % 2 else _escaped(part) for i, part in enumerate(parts))


def _escaped(text: str) -> str:
    return _LINE_STARTS.sub(r"\1\\", _MARKS.sub(r"\\\g<0>", text))


def size(text: Text) -> int:
    return units(_written(text))


def write(document: doc.Document, *, now: float) -> Text:
    return runs.write(tuple(map(_roomy, document)), now=now)


def _roomy(block: doc.Block) -> doc.Block:
    """Code that cannot stand in a block of code is escaped, which may double it."""
    if isinstance(block, doc.Group):
        return replace(block, blocks=tuple(map(_roomy, block.blocks)))
    if isinstance(block, doc.Code) and block.limit is not None and "```" in block.text:
        return replace(block, limit=block.limit // 2)
    return block


def split(
    document: doc.Document, size: int, title: Callable[[int, int], doc.Line]
) -> Sequence[Text]:
    """In parts that fit also with all that has to be escaped in them."""
    while True:
        parts = runs.split(document, size, title)
        if all(units(_written(part)) <= LIMIT for part in parts):
            return parts
        size = size * 3 // 4


DISCORD: Capabilities[Text] = Capabilities(
    channel="discord",
    write=write,
    size=size,
    card=3_100,  # the rest is for the longest frame there can be
    lengths=(
        Lengths(question=300, label=200, description=120),
        *(Lengths(question=300, label=label, description=0) for label in (100, 40, 12)),
    ),
    approval_question=200,
    path=160,
    code=2_200,
    ended_code=600,
    output=1_800,
    buttons=Buttons(most_options=OPTIONS, private=(38, 18), group=(38, 18), boxes=False),
    continuations=Continuations(split=split, size=LIMIT - 100, most=4, options=1_500),
)


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


def body(text: Text, rows: Rows = (), *, flags: int = 0, long: bool = False) -> Body:
    """A message. `long`: it has been one of text components before, and has to stay so."""
    written, shown = to_markdown(text), components(rows)
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
