"""What Slack can do, and messages as it takes them.

Texts are rich text blocks: nothing in them is parsed, so no link, mention or mark can be put in.
Only the line of a notification is escaped.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from chatbridge.channels.chat import keyboard, runs
from chatbridge.channels.chat.capabilities import (
    CONTINUED,
    Buttons,
    Capabilities,
    Continuations,
    Files,
)
from chatbridge.channels.chat.document import File, Key, Rows
from chatbridge.channels.chat.incoming import Modal
from chatbridge.channels.chat.runs import PRE, QUOTE, Run, Text, characters
from chatbridge.channels.chat.writer import Drawing
from chatbridge.channels.sockets.files import captions
from chatbridge.core.text import clipped, shortened

Json = dict[str, Any]

LIMIT = 4_000
"""Slack recommends no longer message; at about 13,200 characters of blocks it takes none."""
SOURCE_LIMIT = 11_000
"""Of the text's block as JSON. Above, its styles are left out."""
LABEL, NOTIFIED, A_ROW = 75, 150, 25
MOST_OPTIONS = 10  # more of them are a menu
TYPED = 3_000
"""The longest text that a modal takes. A thread takes more."""
FILE_BYTES, FILES = 1_000_000_000, 10
FIELD, INPUT, SUBMITTED, ANSWER = "field", "text", "chatbridge", "reply"
_BOXES = {"": "rich_text_section", PRE: "rich_text_preformatted", QUOTE: "rich_text_quote"}
_STYLES = {"b": "bold", "i": "italic", "code": "code"}
_COLOURS = {keyboard.PRIMARY: "primary", keyboard.SUCCESS: "primary", keyboard.DANGER: "danger"}
_ISOLATES = str.maketrans("", "", "\u2068\u2069")
_MENTION = re.compile(r"<([^<>]*)>")

SLACK: Capabilities[Text] = Capabilities(
    channel="slack",
    write=runs.write,
    size=runs.width,
    card=3_000,
    lengths=CONTINUED,
    code=2_800,
    output=3_000,
    buttons=Buttons(most_options=30, private=(30, 30), group=(30, 30), boxes=False),
    continuations=Continuations(split=runs.split, size=LIMIT - 500, most=4, options=2_000),
    files=Files(largest=FILE_BYTES, album=FILES),
)


# ── texts ─────────────────────────────────────────────────────────────────────────────────────────


def text_block(text: Text, *, mentioned: Sequence[str] = ()) -> Json:
    """The text, and below it the people whose phones are to ring in a channel."""
    elements = [_element(map(_part, inside), box) for box, inside in runs.in_boxes(text)]
    if len(json.dumps(elements)) > SOURCE_LIMIT:
        elements = [_element([_part(Run(characters(text)))])]
    blank = _part(Run(" "))
    if mentioned:
        people: list[Json] = [{"type": "user", "user_id": user} for user in mentioned]
        elements.append(_element([part for each in people for part in (blank, each)][1:]))
    return {"type": "rich_text", "elements": elements or [_element([blank])]}


def _element(parts: Iterable[Json], box: str = "") -> Json:
    return {"type": _BOXES[box], "elements": [*parts]}


def _part(run: Run) -> Json:
    found: Json = {"type": "text", "text": run.text}
    if time := runs.time_of(run):
        shown = "{time}" if time[1] == "t" else "{date_short_pretty} {time}"
        found = {"type": "date", "timestamp": int(time[0]), "format": shown, "fallback": run.text}
    style = {_STYLES[tag]: True for tag in run.tags if tag in _STYLES and PRE not in run.tags}
    return found | ({"style": style} if style else {})


def comment(files: Sequence[File]) -> list[Json]:
    """What is said above files. A picture alone has its caption as its title."""
    if len(files) == 1 and files[0].size:
        return []
    said = captions(files)
    return [text_block((Run(said),))] if said else []


def notified(text: Text, *, mentioned: Sequence[str] = ()) -> str:
    """What a phone's notification shows. Slack reads marks in it."""
    said = " ".join(characters(text).translate(_ISOLATES).split())
    said = html.escape(shortened(said, NOTIFIED) or "…", quote=False)
    return " ".join((*(f"<@{user}>" for user in mentioned), said))


def typed_text(said: str) -> str:
    """What a person has typed. Slack escapes three signs and puts links and names into marks."""

    def bare(found: re.Match[str]) -> str:
        target, _, label = found[1].partition("|")
        if target[:1] in ("@", "#", "!"):
            name = label or target[1:].partition("^")[0]
            return f"{'#' if target[0] == '#' else '@'}{name.lstrip('@#')}"
        return label or target.removeprefix("mailto:")

    return _MENTION.sub(bare, said).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


# ── buttons and the modal ─────────────────────────────────────────────────────────────────────────


def drawn(
    what: Drawing[Text], *, called: Sequence[str] = (), answers: str = "", root: str | None = None
) -> Json:
    """A message: what a notification shows, and its blocks. A tap brings back which message it
    `answers`, and the root of that one's thread."""
    name = f"{ANSWER} {answers} {root or answers}" if answers else ""
    blocks = [text_block(what.text, mentioned=called), *_controls(what.rows, name)]
    return {"text": notified(what.text, mentioned=called), "blocks": blocks}


def answered_by(block_id: object) -> tuple[str, str] | None:
    """Which message this block answers, and the root of its thread."""
    words = block_id.split(" ") if isinstance(block_id, str) else []
    return (words[1], words[2]) if len(words) == 4 and words[0] == ANSWER else None


def without_buttons(message: Mapping[str, Any]) -> Json:
    blocks = [each for each in message.get("blocks") or () if each.get("type") == "rich_text"]
    return {"text": message.get("text") or "…", "blocks": blocks}


def _controls(rows: Rows, name: str) -> Iterator[Json]:
    """The options apart from the others, which would run on in the same line."""
    options, others = keyboard.option_keys(rows)
    groups = [[key for row in others for key in row]]
    if keyboard.takes_several(options) or len(options) > MOST_OPTIONS:
        yield _listed(options)
    else:
        groups.insert(0, [*options])
    for group, keys in enumerate(groups):
        for i in range(0, len(keys), A_ROW):
            part = enumerate(keys[i : i + A_ROW], i)
            buttons = [_button(key, f"{group}.{number}") for number, key in part]
            named = {"block_id": f"{name} {group}.{i}"} if name else {}
            yield {"type": "actions", "elements": buttons, **named}


def _button(key: Key, name: str) -> Json:
    found: Json = {"type": "button", "action_id": name, "text": _plain(key.text, LABEL)}
    found |= {"url": key.url} if key.url else {"value": key.data}
    style = _COLOURS.get(key.style or "")
    return found | ({"style": style} if style else {})


def _listed(options: Sequence[Key]) -> Json:
    """Boxes to check, or a menu of many options."""
    choices = [{"text": _plain(key.text, LABEL), "value": key.data} for key in options]
    found: Json = {"type": "checkboxes", "action_id": options[0].data, "options": choices}
    pairs = zip(options, choices, strict=True)
    if picked := [choice for key, choice in pairs if keyboard.is_picked(key)]:
        found["initial_options"] = picked
    if len(options) > MOST_OPTIONS:
        several = keyboard.takes_several(options)
        found["type"] = "multi_static_select" if several else "static_select"
        found["placeholder"] = _plain("Choose…", LABEL)
        if several:  # such a menu is allowed beside a section only
            return {"type": "section", "text": _plain("Choose:", LABEL), "accessory": found}
    return {"type": "actions", "elements": [found]}


def _plain(text: str, limit: int) -> Json:
    return {"type": "plain_text", "text": clipped(text, limit) or "…", "emoji": False}


def modal(form: Modal, *, room: str) -> Json:
    field = {
        "type": "plain_text_input",
        "action_id": INPUT,
        "multiline": True,
        "max_length": TYPED,
        "focus_on_load": True,
        "placeholder": _plain(form.placeholder, 150),
    }
    label = _plain(form.question, 150)
    return {
        "type": "modal",
        "callback_id": SUBMITTED,
        "private_metadata": f"{room} {form.data}",
        "title": _plain(form.project or "chatbridge", 24),
        "submit": _plain("Send", 24),
        "close": _plain("Back", 24),
        "blocks": [{"type": "input", "block_id": FIELD, "label": label, "element": field}],
    }
