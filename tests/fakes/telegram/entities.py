"""A text as Telegram keeps it: cleaned, trimmed, with entities counted in UTF-16 units.

What the real service drops without a word (formatting inside code, quotes inside quotes) is
dropped here, too, and reported as `lost`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.fakes.telegram.replies import bad_request

STYLES = ("bold", "italic", "underline", "strikethrough", "spoiler")
QUOTES = ("blockquote", "expandable_blockquote")
CODES = ("code", "pre")
_RANK = {"blockquote": 0, "expandable_blockquote": 0, "pre": 10, "code": 20, "custom_emoji": 99}
"""Which of two entities over the same text counts as the outer one."""
_REMOVED = dict.fromkeys(map(ord, "\r\u2028\u2029\u202a\u202b\u202c\u202d\u202e"))
_BLANKED = dict.fromkeys([*range(9), 11, 12, *range(14, 32)], " ")
_CLEANED = re.compile("[\x00-\x08\x0b-\x1f\u2028-\u202e]")
_NOTHING = re.compile("[\\s\u200b-\u200f\u2060-\u2064\u2800\u3164\ufeff\U000e0020-\U000e007f]*")
_FOUND = re.compile(
    r"(?P<bot_command>(?<![\w/<>])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/]))"
    r"|(?P<url>(?<!\w)https?://[^\s<>\"]+[^\s<>\".,;:!?)])"
    r"|(?P<mention>(?<!\w)@[A-Za-z0-9_]{4,32}\b)"
)


def width(text: str) -> int:
    """How many UTF-16 units a text has."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    type: str
    offset: int
    length: int
    url: str | None = None
    user: int | None = None
    language: str | None = None
    custom_emoji_id: str | None = None
    unix_time: int | None = None
    date_time_format: str | None = None

    @property
    def end(self) -> int:
        return self.offset + self.length

    def of(self, text: str) -> str:
        """The part of the text that it covers."""
        units = text.encode("utf-16-le")[2 * self.offset : 2 * self.end]
        return units.decode("utf-16-le", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Formatted:
    text: str
    entities: tuple[Entity, ...] = ()
    lost: tuple[Entity, ...] = ()
    """What the source asked for and Telegram does not do."""


def formatted(text: str, entities: Sequence[Entity] = ()) -> Formatted:
    """Clean, trim and find what Telegram finds by itself (commands, addresses, mentions).

    :raises Refusal: nothing is left.
    """
    if _CLEANED.search(text):
        text, entities = _clean(text, entities)
    text, entities = _trim(text, entities)
    if _NOTHING.fullmatch(text):
        raise bad_request("text must be non-empty")
    kept, lost = _fitting(text, entities)
    if "/" in text or "@" in text:
        kept = _with_found(text, kept)
    order = sorted(kept, key=lambda entity: (entity.offset, -entity.length))
    return Formatted(text=text, entities=tuple(order), lost=tuple(lost))


def _clean(text: str, entities: Sequence[Entity]) -> tuple[str, list[Entity]]:
    def place(offset: int) -> int:
        before = text.encode("utf-16-le")[: 2 * offset].decode("utf-16-le", "replace")
        return width(before.translate(_REMOVED))

    moved = [_between(entity, place(entity.offset), place(entity.end)) for entity in entities]
    return text.translate(_REMOVED).translate(_BLANKED), [it for it in moved if it.length > 0]


def _between(entity: Entity, begin: int, end: int) -> Entity:
    return dataclasses.replace(entity, offset=begin, length=end - begin)


def _trim(text: str, entities: Sequence[Entity]) -> tuple[str, list[Entity]]:
    text = text.rstrip(" \n\t")
    end = width(text)
    cut = [_between(it, it.offset, min(it.end, end)) for it in entities if it.offset < end]
    # In front, blanks go only as far as the first entity.
    first = min((entity.offset for entity in cut), default=end)
    gone = 0
    while gone < first and text[gone] in " \n":
        gone += 1
    return text[gone:], [_between(it, it.offset - gone, it.end - gone) for it in cut]


def _fitting(text: str, entities: Sequence[Entity]) -> tuple[list[Entity], list[Entity]]:
    order = sorted(
        (entity for entity in entities if entity.of(text).strip()),
        key=lambda entity: (entity.offset, -entity.length, _RANK.get(entity.type, 50)),
    )
    quotes: list[Entity] = []
    solids: list[Entity] = []
    styles: list[Entity] = []
    lost: list[Entity] = []
    for entity in order:
        if entity.type in STYLES:
            styles.append(entity)
            continue
        same = quotes if entity.type in QUOTES else solids
        (lost if any(_meet(entity, it) for it in same) else same).append(entity)
    lost += [it for it in solids if not all(_inside(it, quote) for quote in quotes)]
    # A language belongs to a pre; on code alone it means nothing.
    solids = [
        dataclasses.replace(it, language=None) if it.type == "code" else it
        for it in solids
        if all(_inside(it, quote) for quote in quotes)
    ]
    codes = [entity for entity in solids if entity.type in CODES]
    drawn: list[Entity] = []
    for entity in styles:
        if any(it.type == entity.type and it.end >= entity.end for it in drawn):
            continue
        parts = _outside(entity, codes)
        drawn += parts
        if not parts:
            lost.append(entity)
    return [*quotes, *solids, *drawn], lost


def _meet(one: Entity, other: Entity) -> bool:
    return one.offset < other.end and other.offset < one.end


def _inside(entity: Entity, quote: Entity) -> bool:
    """Whether a quote holds it, or has nothing to do with it."""
    return not _meet(entity, quote) or (quote.offset <= entity.offset and entity.end <= quote.end)


def _outside(entity: Entity, codes: Sequence[Entity]) -> list[Entity]:
    """A style, less what of it lies on code."""
    parts, begin = [], entity.offset
    for code in codes:
        if _meet(entity, code):
            if code.offset > begin:
                parts.append(_between(entity, begin, code.offset))
            begin = code.end
    if begin < entity.end:
        parts.append(_between(entity, begin, entity.end))
    return parts


def _with_found(text: str, kept: list[Entity]) -> list[Entity]:
    solid = [it for it in kept if it.type not in STYLES and it.type not in QUOTES]
    found = []
    for match in _FOUND.finditer(text):
        assert match.lastgroup is not None
        entity = Entity(
            type=match.lastgroup,
            offset=width(text[: match.start()]),
            length=width(match.group()),
        )
        if not any(_meet(entity, it) for it in solid):
            found.append(entity)
    return [*kept, *found]


def entity_json(entity: Entity, *, user: dict[str, Any] | None = None) -> dict[str, Any]:
    """`user` is the person whom a text_mention names."""
    data = {key: value for key, value in dataclasses.asdict(entity).items() if value is not None}
    if data.pop("user", None) is not None:
        data["user"] = user
    return data
