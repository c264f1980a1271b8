"""A card's buttons: which there are, in which rows, and how much of a label fits."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from chatbridge.channels.chat.callback_data import (
    Action,
    Originals,
    QuickAnswer,
    Tap,
    Write,
    crc,
    decode,
    encode,
)
from chatbridge.channels.chat.capabilities import Buttons, Capabilities, Seen, T
from chatbridge.channels.chat.document import Key, Rows
from chatbridge.core.cards.card import Button, Card, Choice, Role
from chatbridge.core.forms import form
from chatbridge.core.model import QuestionType, View
from chatbridge.core.text import isolated

PRIMARY, SUCCESS, DANGER = "primary", "success", "danger"
_STYLES = {
    Role.DROP_OTHER: SUCCESS,
    Role.SEND: PRIMARY,
    Role.SEND_HEARD: PRIMARY,
    Role.RUN_NOW: DANGER,
}

MARKS_PER_COLUMN = 3
"""Marks take no column of their own; a letter of a real script has few."""
WORD_KEEPS = 20
"""A label is cut at a word if that leaves so many columns."""

OFF, ON = "☐\ufe0e", "☑\ufe0e"
"""With U+FE0E both stay text of the same width, and screen readers read them as ballot boxes."""

LABEL_COLUMNS = 30
"""Of a button that has its row to itself, in a message about no single card."""

_BLANK = "\u2800\ufffc"
"""What Telegram takes for empty although Unicode calls it a symbol."""
_RIGHT_TO_LEFT = ("R", "AL", "AN")

_LABELS = {Role.CANCEL_NOW: "Cancel without a reason"}
WRITE_LABEL, WRITE_IT_LABEL = "Write answer…", "Write it…"
ORIGINALS_LABEL = "Originals"
_OURS = (
    "other…|‹ back|skip|send answers|cancel…|cancel without a reason|more time…|answer anyway|"
    "discard|ask back…|explain this|ask it differently|show all|allow more…|"
    "yes, run it|allow once|deny|deny, say why…|take back|write answer…|undo|"
    "i'll take it|let it go|hand over…|"
    "send only this|send only these|remove the file|remove the files|originals"
)
_RESERVED = frozenset(_OURS.split("|"))
"""Labels that an option cannot have for itself: its button has a number then."""
ALLOWING = (Role.ALLOW, Role.RUN_NOW, Role.MORE, Role.MORE_NOW)
_ROWS = (
    *((role,) for role in (Role.SHOW_ALL, Role.ALLOW, Role.RUN_NOW, Role.MORE_NOW)),
    *((role,) for role in (Role.DROP_OTHER, Role.OTHER)),
    (Role.EXPLAIN_NOW, Role.REPHRASE),
    (Role.SEND_ATTACHED, Role.DROP_ATTACHED),
    (Role.SEND_HEARD, Role.BACK, Role.DENY, Role.DENY_WHY, Role.SKIP, Role.DONE),
    (Role.MORE,),
    *((role,) for role in (Role.SEND, Role.CANCEL_NOW, Role.ANYWAY, Role.DISCARD, Role.TAKE_BACK)),
    (Role.UNDO,),
    (Role.TAKE, Role.RELEASE, Role.HAND_OVER),
    (Role.LATER, Role.EXPLAIN, Role.CANCEL),
)
"""The form's own buttons, row by row."""


# ── labels ────────────────────────────────────────────────────────────────────────────────────────


def columns(text: str) -> int:
    return len(text) if text.isascii() else sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def fits(text: str, limit: int) -> bool:
    return columns(text) <= limit and len(text) <= MARKS_PER_COLUMN * limit


def fitted(text: str, limit: int) -> str:
    """`text` in at most `limit` columns: cut at a word if that keeps enough of it."""
    if fits(text, limit):
        return text
    used, end = 0, 0
    while end < MARKS_PER_COLUMN * limit and used + _columns(text[end]) < limit:
        used += _columns(text[end])
        end += 1
    head = text[:end]
    if not text[end].isspace() and " " in head:
        words = head.rsplit(" ", 1)[0]
        if columns(words) >= WORD_KEEPS:
            head = words
    return head.rstrip(" \u200d") + "…"


def beside_ours(text: str) -> str:
    """An agent's words on a button or in a toast: kept apart where they could turn ours around."""
    if text.isascii():
        return text
    turns = any(unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in text)
    return isolated(text) if turns else text


def label_of(choice: Choice) -> str:
    """What an option is called; one whose label shows nothing goes by its number."""
    return choice.label if choice.label.strip(_BLANK + " ") else f"Option {choice.number}"


def _said_by(choice: Choice) -> str:
    return label_of(choice) + (" (recommended)" if choice.recommended else "")


def needs_list(card: Card, chat: Capabilities[T], *, private: bool) -> bool:
    """Whether the options must stand in the text, with numbers that the buttons repeat."""
    if not card.choices:
        return False
    if not chat.buttons or not chat.continuations:
        return card.type is not QuestionType.CONFIRM
    labels = [_said_by(choice) for choice in card.choices]
    drop = card.button(Role.DROP_OTHER)
    seen = {label.casefold() for label in labels}
    alike = len(seen) < len(labels) or bool(seen & _RESERVED)
    if drop:
        alike |= _dropped_label(drop.label).casefold() in seen
    widest, _ = chat.buttons.private if private else chat.buttons.group
    widest -= _box_columns(card, chat.buttons)
    return (
        alike
        or len(card.choices) > chat.buttons.most_options
        or any(choice.description or choice.image for choice in card.choices)
        or not all(fits(label, widest) for label in labels)
    )


def _box_columns(card: Card, buttons: Buttons) -> int:
    has_box = buttons.boxes and card.type is QuestionType.MULTI_SELECT
    return columns(f"{OFF} ") if has_box else 0


def _dropped_label(text: str) -> str:
    return f"Other: {beside_ours(fitted(text, 20))}"


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────


def rows(card: Card, seen: Seen, buttons: Buttons, *, listed: bool) -> Rows:
    """All of a card's buttons. `listed`: the options stand in the text, numbered."""
    if card.snoozed_until is not None:
        show = card.button(Role.SHOW_NOW)
        return ((_key(card, show.label, show.action),),) if show else ()
    lines = enumerate(card.lines, 1)
    edits = [_key(card, f"Edit {i}", line.edit) for i, line in lines if line.edit]
    found = [*_option_rows(card, seen, buttons, listed=listed), *in_rows(edits, 3)]
    alone, _ = buttons.private if seen.private else buttons.group
    for reply in card.replies if not card.only_on else ():
        quick = QuickAnswer(step=card.step, check=crc(reply.text))
        found.append((_key(card, beside_ours(fitted(reply.text, alone)), quick),))
    if takes_typing(card) and not seen.prompted and not card.only_on:
        other = card.approval or card.what_next
        answer = card.view is not View.EXPLAIN and not other
        label = WRITE_LABEL if answer else WRITE_IT_LABEL
        found.append((_key(card, label, Write(step=card.step)),))
    found.extend(_own_rows(card, now=seen.now, without=ALLOWING if seen.unsent else ()))
    if seen.files.shrunk and card.view is View.QUESTION:
        found.append((_key(card, ORIGINALS_LABEL, Originals()),))  # not among the answers
    return tuple(found)


def takes_typing(card: Card) -> bool:
    """Whether the card is there to be typed for, so that a prompt can help."""
    if card.snoozed_until is not None:
        return False
    text = card.view is View.QUESTION and card.type is QuestionType.TEXT
    return text or card.view in (View.OTHER, View.EXPLAIN)


def _key(card: Card, text: str, action: Action, style: str | None = None) -> Key:
    tap = Tap(ask_id=card.ask_id, question=card.number - 1, action=action)
    return Key(text=text, data=encode(tap), style=style)


def _option_rows(
    card: Card, seen: Seen, buttons: Buttons, *, listed: bool
) -> Iterator[tuple[Key, ...]]:
    alone, beside = buttons.private if seen.private else buttons.group
    box = _box_columns(card, buttons)
    keys, two = [], len(card.choices) > 1
    for choice in card.choices[: buttons.most_options]:
        number = f"{choice.number} · " if listed else ""
        words = number + (label_of(choice) if listed else _said_by(choice))
        text = number + beside_ours(fitted(words, alone - box).removeprefix(number))
        if box:
            text = f"{ON if choice.picked else OFF} {text}"
        keys.append(_key(card, text, choice.action, SUCCESS if choice.picked else None))
        two &= fits(words, beside - box)
    return in_rows(keys, 2 if two else 1)


def _own_rows(card: Card, *, now: float, without: Sequence[Role]) -> Iterator[tuple[Key, ...]]:
    """The form's own buttons."""
    buttons = {button.role: button for button in card.buttons if button.role not in without}
    if Role.SHOW_ALL in buttons:
        buttons.pop(Role.DENY_WHY, None)
    if Role.DROP_OTHER in buttons:
        buttons.pop(Role.OTHER, None)
    if card.view is View.REVIEW:  # "Edit" leads everywhere that "Back" would
        buttons.pop(Role.BACK, None)
    for roles in _ROWS:
        found = (_own_key(card, buttons[role], now) for role in roles if role in buttons)
        if row := tuple(key for key in found if key):
            yield row


def _own_key(card: Card, button: Button, now: float) -> Key | None:
    role = button.role
    label, style = _LABELS.get(role, button.label), _STYLES.get(role)
    match role:
        case Role.DROP_OTHER:
            label = f"{ON} {_dropped_label(button.label)}"
        case Role.DONE if any(c.picked for c in card.choices) or card.button(Role.DROP_OTHER):
            style = PRIMARY
        case Role.BACK if card.view is not View.HEARD:  # there it discards
            label = f"‹ {button.label}"
        case Role.TAKE_BACK if card.grant and not card.grant.holds(now):
            return None
        case Role.DISCARD if card.kept_until is not None and card.kept_until <= now:
            return None
    return _key(card, label, button.action, style)


def option_keys(rows: Rows) -> tuple[tuple[Key, ...], Rows]:
    """The buttons of a card that are a question's options, and the rows of the others."""

    def is_option(key: Key) -> bool:
        tap = decode(key.data)
        return isinstance(tap, Tap) and isinstance(tap.action, form.Choose | form.Toggle)

    options = tuple(key for row in rows for key in row if is_option(key))
    others = (tuple(key for key in row if not is_option(key)) for row in rows)
    return options, tuple(filter(None, others))


def takes_several(options: Sequence[Key]) -> bool:
    """Whether more than one of these can be picked."""
    tap = decode(options[0].data) if options else None
    return isinstance(tap, Tap) and isinstance(tap.action, form.Toggle)


def is_picked(key: Key) -> bool:
    """Whether this option of a multi-select is on: its button would take it off."""
    tap = decode(key.data)
    return isinstance(tap, Tap) and isinstance(tap.action, form.Toggle) and not tap.action.on


def distinct(labels: Sequence[str], numbered: Sequence[str]) -> list[str]:
    """Labels cut to fit; those with numbers where two would read the same."""
    short = [fitted(label, LABEL_COLUMNS) for label in labels]
    if len(set(short)) < len(short):
        short = [fitted(label, LABEL_COLUMNS) for label in numbered]
    return [beside_ours(label) for label in short]


def in_rows(keys: Sequence[Key], a_row: int) -> Iterator[tuple[Key, ...]]:
    for i in range(0, len(keys), a_row):
        yield tuple(keys[i : i + a_row])
