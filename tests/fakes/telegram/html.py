"""Telegram's HTML: a small language with errors of its own, which are counted in bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.fakes.telegram.entities import Entity, width
from tests.fakes.telegram.replies import Refusal, bad_request

KINDS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "span": "spoiler",
    "a": "text_link",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
    "tg-emoji": "custom_emoji",
    "tg-time": "date_time",
}
_NAMED = {b"lt": "<", b"gt": ">", b"amp": "&", b"quot": '"'}
_SPACE = b" \t\r\n\v\0"
_REFERENCE = re.compile(rb"&(?:#x([0-9a-fA-F]*)|#([0-9]*)|([a-zA-Z]*));?")
_MARKED = re.compile(rb"[<&]")
_TAG_NAME = re.compile(rb"[^ \t\r\n\v\0>]*")
_ATTRIBUTE_NAME = re.compile(rb"[^ \t\r\n\v\0=>/\"']*")
_TOKEN = re.compile(rb"[a-zA-Z0-9.-]*")
_SPACES = re.compile(rb"[ \t\r\n\v]*")
_USER_LINK = re.compile(r"tg://user\?id=(\d+)")


@dataclass(slots=True, kw_only=True)
class _Open:
    tag: str
    attributes: dict[str, str]
    offset: int
    piece: int


def parse_html(source: str, *, times: bool = True) -> tuple[str, list[Entity]]:
    """The text and its entities, as they are nested in the source. Without `times` the server is
    one that does not know `tg-time` yet.

    :raises Refusal:
    """
    return _Parser(source.encode("utf-8", "surrogatepass") + b"\0", times=times).run()


def _error(text: str) -> Refusal:
    return bad_request(f"can't parse entities: {text}")


class _Parser:
    def __init__(self, source: bytes, *, times: bool) -> None:
        self.source = source
        self.times = times
        self.at = 0
        self.pieces: list[str] = []
        self.offset = 0
        self.open: list[_Open] = []
        self.entities: list[Entity] = []

    def run(self) -> tuple[str, list[Entity]]:
        end = len(self.source) - 1
        while self.at < end:
            found = _MARKED.search(self.source, self.at)
            stop = found.start() if found else end
            if stop > self.at:
                self._write(self.source[self.at : stop].decode("utf-8", "surrogatepass"))
                self.at = stop
            if found is None:
                break
            if self.source[stop : stop + 1] == b"&":
                self._write(self._reference() or self._literal())
            elif self.source[stop + 1 : stop + 2] == b"/":
                self._end_tag()
            else:
                self._start_tag()
        if self.open:
            raise _error(f'Can\'t find end tag corresponding to start tag "{self.open[-1].tag}"')
        return self._text(), self.entities

    def _text(self) -> str:
        text = "".join(self.pieces)
        try:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            raise _error(
                "Text contains invalid Unicode characters after decoding HTML entities, check for "
                "unmatched surrogate code units"
            ) from None

    def _write(self, text: str) -> None:
        self.pieces.append(text)
        self.offset += width(text)

    def _literal(self) -> str:
        self.at += 1
        return "&"

    def _reference(self) -> str | None:
        """The character that `&…;` at this place stands for, if it is one of the known ones."""
        found = _REFERENCE.match(self.source, self.at)
        assert found is not None
        sixteen, ten, name = found.groups()
        if name is not None:
            char = _NAMED.get(name)
        else:
            digits = sixteen if ten is None else ten
            code = int(digits or b"0", 16 if ten is None else 10)
            length = found.end() - self.at - found.group().endswith(b";")
            char = chr(code) if 0 < code < 0x10FFFF and length < 10 else None
        if char is not None:
            self.at = found.end()
        return char

    def _start_tag(self) -> None:
        begin = self.at
        name = _TAG_NAME.match(self.source, begin + 1)
        assert name is not None
        self.at = name.end()
        if self._here == b"\0":
            raise _error(f"Unclosed start tag at byte offset {begin}")
        tag = name.group().decode("utf-8", "replace").lower()
        if tag not in KINDS or (tag == "tg-time" and not self.times):
            raise _error(f'Unsupported start tag "{tag}" at byte offset {begin}')
        attributes = self._attributes(tag, begin)
        self.at += 1
        if tag == "span" and attributes.get("class") != "tg-spoiler":
            raise _error(f'Tag "span" must have class "tg-spoiler" at byte offset {begin}')
        self.open.append(
            _Open(tag=tag, attributes=attributes, offset=self.offset, piece=len(self.pieces))
        )

    @property
    def _here(self) -> bytes:
        return self.source[self.at : self.at + 1]

    def _skip_spaces(self) -> None:
        found = _SPACES.match(self.source, self.at)
        assert found is not None
        self.at = found.end()

    def _attributes(self, tag: str, begin: int) -> dict[str, str]:
        attributes: dict[str, str] = {}
        unclosed = _error(f'Unclosed start tag "{tag}" at byte offset {begin}')
        while self._here != b">":
            self._skip_spaces()
            if self._here == b">":
                break
            name = _ATTRIBUTE_NAME.match(self.source, self.at)
            assert name is not None
            if not name.group():
                raise _error(f'Empty attribute name in the tag "{tag}" at byte offset {begin}')
            self.at = name.end()
            self._skip_spaces()
            key = name.group().decode("utf-8", "replace")
            if self._here != b"=":
                if self._here == b"\0":
                    raise unclosed
                attributes[key] = ""
                continue
            self.at += 1
            self._skip_spaces()
            if self._here == b"\0":
                raise unclosed
            attributes[key] = self._value()
            if self._here == b"\0":
                raise _error(f"Unclosed start tag at byte offset {begin}")
        return attributes

    def _value(self) -> str:
        quote = self._here
        if quote not in (b"'", b'"'):
            begin = self.at
            token = _TOKEN.match(self.source, begin)
            assert token is not None
            self.at = token.end()
            if self._here not in (*(bytes((code,)) for code in _SPACE), b">"):
                raise _error(f"Unexpected end of name token at byte offset {begin}")
            return token.group().decode().lower()
        self.at += 1
        value: list[str] = []
        while self._here not in (quote, b"\0"):
            if self._here == b"&":
                value.append(self._reference() or self._literal())
                continue
            stop = re.compile(b"[&\0" + quote + b"]").search(self.source, self.at)
            assert stop is not None
            value.append(self.source[self.at : stop.start()].decode("utf-8", "replace"))
            self.at = stop.start()
        if self._here == quote:
            self.at += 1
        return "".join(value)

    def _end_tag(self) -> None:
        begin = self.at
        if not self.open:
            raise _error(f"Unexpected end tag at byte offset {begin}")
        name = _TAG_NAME.match(self.source, begin + 2)
        assert name is not None
        self.at = name.end()
        self._skip_spaces()
        if self._here != b">":
            raise _error(f"Unclosed end tag at byte offset {begin}")
        self.at += 1
        found, expected = name.group().decode("utf-8", "replace").lower(), self.open[-1].tag
        if found and found != expected:
            raise _error(
                f'Unmatched end tag at byte offset {begin}, expected "</{expected}>", '
                f'found "</{found}>"'
            )
        closed = self.open.pop()
        if self.offset > closed.offset:
            self._close(closed, self.offset - closed.offset)

    def _close(self, tag: _Open, length: int) -> None:
        kind, offset, known = KINDS[tag.tag], tag.offset, tag.attributes
        if kind == "text_link":
            address = known.get("href") or "".join(self.pieces[tag.piece :])
            if user := _USER_LINK.match(address):
                self._add("text_mention", offset, length, user=int(user[1]))
            elif link := _checked_link(address):
                self._add(kind, offset, length, url=link)
        elif kind == "code":
            language = known.get("class", "").removeprefix("language-")
            has_one = known.get("class", "").startswith("language-") and language
            self._code(offset, length, language if has_one else None)
        elif kind == "pre":
            self._pre(offset, length)
        elif kind == "blockquote":
            name = "expandable_blockquote" if "expandable" in known else kind
            self._add(name, offset, length)
        elif kind == "custom_emoji":
            emoji = known.get("emoji-id", "")
            if not emoji.isdecimal() or int(emoji) == 0:
                raise _error("Invalid custom emoji identifier specified")
            self._add(kind, offset, length, custom_emoji_id=emoji)
        elif kind == "date_time":
            self._date_time(offset, length, known.get("unix", ""), known.get("format", ""))
        else:
            self._add(kind, offset, length)

    def _add(
        self,
        type: str,
        offset: int,
        length: int,
        *,
        url: str | None = None,
        user: int | None = None,
        language: str | None = None,
        custom_emoji_id: str | None = None,
    ) -> None:
        self.entities.append(
            Entity(
                type=type,
                offset=offset,
                length=length,
                url=url,
                user=user,
                language=language,
                custom_emoji_id=custom_emoji_id,
            )
        )

    def _last(self, type: str, offset: int, length: int) -> Entity | None:
        """The entity just closed, if it is this one."""
        last = self.entities[-1] if self.entities else None
        fits = last is not None and (last.type, last.offset, last.length) == (type, offset, length)
        return last if fits else None

    def _code(self, offset: int, length: int, language: str | None) -> None:
        if language and self._last("pre", offset, length):
            self.entities.pop()
            self._add("pre", offset, length, language=language)
        else:
            self._add("code", offset, length, language=language)

    def _pre(self, offset: int, length: int) -> None:
        inner = self._last("code", offset, length)
        if inner is not None and inner.language:
            self.entities.pop()
        self._add("pre", offset, length, language=inner.language if inner else None)

    def _date_time(self, offset: int, length: int, unix: str, format: str) -> None:
        if format not in ("r", "R") and not set(format) <= set("tTdDwW"):
            raise _error("Invalid date format used")
        if unix.isdecimal() and 0 < int(unix) < 2**31:
            self.entities.append(
                Entity(
                    type="date_time",
                    offset=offset,
                    length=length,
                    unix_time=int(unix),
                    date_time_format=format or None,
                )
            )


def _checked_link(address: str) -> str | None:
    """The address as Telegram keeps it, or None where it makes no link of it."""
    if re.match(r"(?i)(https?|tg|ton|tonsite)://[^\s/]", address):
        return address
    if re.match(r"(?i)[\w-]+(\.[\w-]+)*\.[a-z]{2,}(/|$|\?|:\d)", address):
        return f"http://{address}"
    return None
