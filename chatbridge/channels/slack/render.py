"""What Slack can do, and messages as it takes them.

Texts are rich text blocks: nothing in them is parsed, so no link, mention or mark can be put in.
Only the line of a notification is escaped.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from chatbridge.channels.chat.capabilities import CONTINUED, Buttons, Capabilities, Continuations
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
from chatbridge.channels.chat.runs import QUOTE, Run, Tags, Text, split, width, write
from chatbridge.core.text import clipped, shortened

Json = dict[str, Any]

LIMIT = 4_000
"""Slack recommends no longer message; at about 13,200 characters of blocks it takes none."""
SOURCE_LIMIT = 11_000
"""Of the text's block as JSON. Above, its styles are left out."""
LABEL, CHOICE, NOTIFIED = 75, 75, 150
MOST_BUTTONS, MOST_BOXES, A_ROW = 10, 10, 25
TYPED = 3_000
"""The longest text that a modal takes. A thread takes more."""
FIELD, INPUT, SUBMITTED, ANSWER = "field", "text", "chatbridge", "reply"
_STYLES = {PRIMARY: "primary", SUCCESS: "primary", DANGER: "danger"}
_DATES = {
    "t": "{time}",
    "wt": "{date_short_pretty} {time}",
    "dt": "{date_short_pretty} {time}",
}
_ISOLATES = str.maketrans("", "", "\u2068\u2069")
_MENTION = re.compile(r"<([^<>]*)>")

SLACK: Capabilities[Text] = Capabilities(
    channel="slack",
    write=write,
    size=width,
    card=3_000,
    lengths=CONTINUED,
    code=2_800,
    output=3_000,
    buttons=Buttons(most_options=30, private=(30, 30), group=(30, 30), boxes=False),
    continuations=Continuations(split=split, size=LIMIT - 500, most=4, options=2_000),
)


# ── texts ─────────────────────────────────────────────────────────────────────────────────────────


def text_block(text: Text, *, mentioned: Sequence[str] = ()) -> Json:
    """The text, and below it the people whose phones are to ring in a channel."""
    elements = [*_elements(text)]
    if len(json.dumps(elements)) > SOURCE_LIMIT:
        plain = "".join(run.text for run in text)
        elements = [_section([_text(plain)])]
    if mentioned:
        people: list[Json] = [{"type": "user", "user_id": user} for user in mentioned]
        spaced = [part for each in people for part in (_text(" "), each)][1:]
        elements.append(_section(spaced))
    return {"type": "rich_text", "elements": elements or [_section([_text(" ")])]}


def _elements(text: Text) -> Iterator[Json]:
    """Code and quotes have edges of their own, so the line breaks around them go."""
    groups = [(box, [*found]) for box, found in groupby(text, key=lambda run: _box(run.tags))]
    for i, (box, inside) in enumerate(groups):
        said = [*inside]
        if not box:
            if i > 0:
                said[0] = said[0]._replace(text=said[0].text.removeprefix("\n"))
            if i < len(groups) - 1:
                said[-1] = said[-1]._replace(text=said[-1].text.removesuffix("\n"))
        parts = [_part(run, plain=box == "preformatted") for run in said if run.text]
        if parts:
            yield {"type": f"rich_text_{box or 'section'}", "elements": parts}


def _box(tags: Tags) -> str:
    if "pre" in tags:
        return "preformatted"
    return "quote" if any(tag.startswith(QUOTE) for tag in tags) else ""


def _part(run: Run, *, plain: bool) -> Json:
    names = {"b": "bold", "i": "italic", "code": "code"}
    style = {names[tag]: True for tag in run.tags if tag in names and not plain}
    found = _text(run.text)
    if date := next((tag.split() for tag in run.tags if tag.startswith("time ")), None):
        found = {"type": "date", "timestamp": int(date[1]), "format": _DATES[date[2]]}
        found["fallback"] = run.text
    return found | ({"style": style} if style else {})


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _section(parts: Sequence[Json]) -> Json:
    return {"type": "rich_text_section", "elements": [*parts]}


def notified(text: Text, *, mentioned: Sequence[str] = ()) -> str:
    """What a phone's notification shows. Slack reads marks in it."""
    said = "".join(run.text for run in text).translate(_ISOLATES)
    said = shortened(" ".join(said.split()), NOTIFIED) or "…"
    return " ".join((*(f"<@{user}>" for user in mentioned), escape(said)))


def escape(text: str) -> str:
    return html.escape(text, quote=False)


def typed_text(said: str) -> str:
    """What a person has typed. Slack escapes three signs and puts links and names into marks."""

    def bare(found: re.Match[str]) -> str:
        target, _, label = found[1].partition("|")
        if target[:1] in ("@", "#", "!"):
            name = label or target[1:].partition("^")[0]
            return f"{'#' if target[0] == '#' else '@'}{name.lstrip('@#')}"
        return label or target.removeprefix("mailto:")

    return _MENTION.sub(bare, said).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


# ── buttons ───────────────────────────────────────────────────────────────────────────────────────


def drawn(
    text: Text,
    rows: Rows = (),
    *,
    mentioned: Sequence[str] = (),
    answers: str = "",
    thread: str | None = None,
) -> Json:
    """A message: what a notification shows, and its blocks. A tap brings back which message it
    `answers`, and in which thread."""
    name = f"{ANSWER} {answers} {thread or answers}" if answers else ""
    blocks = [text_block(text, mentioned=mentioned), *_controls(rows, name)]
    return {"text": notified(text, mentioned=mentioned), "blocks": blocks}


def answered_by(block_id: object) -> tuple[str, str] | None:
    """Which message this block answers, and the root of its thread."""
    words = block_id.split(" ") if isinstance(block_id, str) else []
    return (words[1], words[2]) if len(words) == 4 and words[0] == ANSWER else None


def without_buttons(message: Mapping[str, Any]) -> Json:
    blocks = [each for each in message.get("blocks") or () if each.get("type") == "rich_text"]
    return {"text": message.get("text") or "…", "blocks": blocks}


def _controls(rows: Rows, name: str) -> Iterator[Json]:
    """The options apart from the others, which would run on in the same line."""
    options, others = option_keys(rows)
    several = takes_several(options)
    groups = [[key for row in others for key in row]]
    if len(options) > (MOST_BOXES if several else MOST_BUTTONS):
        yield _listed(options, several=several)
    elif several:
        yield {"type": "actions", "elements": [_boxes(options)]}
    else:
        groups.insert(0, [*options])
    for group, keys in enumerate(groups):
        for i in range(0, len(keys), A_ROW):
            part = enumerate(keys[i : i + A_ROW], i)
            buttons = [_button(key, f"{group}.{number}") for number, key in part]
            named = {"block_id": f"{name} {group}.{i}"} if name else {}
            yield {"type": "actions", "elements": buttons, **named}


def _button(key: Key, name: str) -> Json:
    found: Json = {
        "type": "button",
        "action_id": name,
        "text": _plain(key.text, LABEL),
    }
    found |= {"url": key.url} if key.url else {"value": key.data}
    if style := _STYLES.get(key.style or ""):
        found["style"] = style
    return found


def _boxes(options: Sequence[Key]) -> Json:
    choices = [_choice(key) for key in options]
    found: Json = {"type": "checkboxes", "action_id": options[0].data, "options": choices}
    picked = [choice for key, choice in zip(options, choices, strict=True) if is_picked(key)]
    return found | ({"initial_options": picked} if picked else {})


def _listed(options: Sequence[Key], *, several: bool) -> Json:
    found = _boxes(options)
    found["type"] = "multi_static_select" if several else "static_select"
    found["placeholder"] = _plain("Choose…", LABEL)
    if not several:
        return {"type": "actions", "elements": [found]}
    # A menu for several is allowed beside a section only.
    return {"type": "section", "text": _plain("Choose:", LABEL), "accessory": found}


def _choice(key: Key) -> Json:
    return {"text": _plain(key.text, CHOICE), "value": key.data}


def _plain(text: str, limit: int) -> Json:
    return {"type": "plain_text", "text": clipped(text, limit) or "…", "emoji": False}


# ── the modal ─────────────────────────────────────────────────────────────────────────────────────


def modal(form: Modal, *, room: str) -> Json:
    return {
        "type": "modal",
        "callback_id": SUBMITTED,
        "private_metadata": f"{room} {form.data}",
        "title": _plain(form.project or "chatbridge", 24),
        "submit": _plain("Send", 24),
        "close": _plain("Back", 24),
        "blocks": [
            {
                "type": "input",
                "block_id": FIELD,
                "label": _plain(form.question, 150),
                "element": {
                    "type": "plain_text_input",
                    "action_id": INPUT,
                    "multiline": True,
                    "max_length": TYPED,
                    "focus_on_load": True,
                    "placeholder": _plain(form.placeholder, 150),
                },
            }
        ],
    }
