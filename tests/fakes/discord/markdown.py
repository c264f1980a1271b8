"""Discord's markdown as its clients show it: what a person reads, and what is marked up in it.

After the rules of the clients as they are known from others' parsers, in their order: escapes, code
blocks, code, links, mentions, times, bold, italics, quotes, headings and lists at a line's start.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

from chatbridge.core.cards.phrases import format_time

_UNDERSCORED = r"\b_((?:__|\\[\s\S]|[^\\_])+?)_\b"
_STARRED = r"\*(?=\S)((?:\*\*|\\[\s\S]|\s+(?:\\[\s\S]|[^\s*\\]|\*\*)|[^\s*\\])+?)\*(?!\*)"
_MENTION = r"<@!?\d+>|<@&\d+>|<#\d+>|@(?:everyone|here)|<a?:\w+:\d+>|</[^>]+:\d+>"
_RULES = (
    ("escape", re.compile(r"\\([^0-9A-Za-z\s])")),
    ("codeblock", re.compile(r"(?i)```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n][\s\S]*?)\n*```")),
    ("code", re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)")),
    ("url", re.compile(r"https?://[^\s<]+[^<.,:;\"')\]\s]")),
    ("masked", re.compile(r"\[((?:\[[^\]]*\]|[^\[\]])*)\]\(\s*<?((?:[^\s\\]|\\.)*?)>?\s*\)")),
    ("mention", re.compile(_MENTION)),
    ("time", re.compile(r"<t:(-?\d+)(?::([tTdDfFR]))?>")),
    ("spoiler", re.compile(r"\|\|([\s\S]+?)\|\|")),
    ("strong", re.compile(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)")),
    ("underline", re.compile(r"__((?:\\[\s\S]|[^\\])+?)__(?!_)")),
    ("strike", re.compile(r"~~(?=\S)([\s\S]*?\S)~~(?!_)")),
    ("em", re.compile(f"{_UNDERSCORED}|{_STARRED}")),
)
_LINE_RULES = (
    ("quote", re.compile(r">(?:>>)? ")),
    ("subtext", re.compile(r"-# (?=\S)")),
    ("heading", re.compile(r"#{1,3} +(?=\S)")),
    ("list", re.compile(r"[ \t]*(?:[*+-]|\d{1,10}[.)]) +(?=\S)")),
)
_PLAIN = re.compile(r"[^\\`h\[<@|*_~\n]+")
"""No rule begins with any of these."""
NESTED = ("strong", "em", "underline", "strike", "spoiler")


@dataclass(slots=True)
class Read:
    text: str = ""
    marks: list[tuple[str, str]] = field(default_factory=list)
    """What is marked up, and what it shows."""

    def named(self, name: str) -> list[str]:
        return [text for mark, text in self.marks if mark == name]

    def plain(self, text: str) -> str:
        return text

    def marked(self, name: str, text: str) -> str:
        self.marks.append((name, text))
        return text


def read(source: str, *, now: float = 0.0) -> Read:
    found = Read()
    found.text = _inside(source, found, now, at_start=True)
    return found


class Html(Read):
    """What is marked up is in an element of that name."""

    def plain(self, text: str) -> str:
        return html.escape(text, quote=False)

    def marked(self, name: str, text: str) -> str:
        return f'<span class="{name}">{text}</span>'


def as_html(source: str, *, now: float) -> str:
    return _inside(source, Html(), now, at_start=True)


def plain(source: str, *, now: float = 0.0) -> str:
    return read(source, now=now).text


def _inside(source: str, found: Read, now: float, *, at_start: bool) -> str:
    shown, at, line_start = [], 0, at_start
    while at < len(source):
        if line_start and (rule := next((r for r in _LINE_RULES if r[1].match(source, at)), None)):
            name, form = rule
            match = form.match(source, at)
            assert match
            end = source.find("\n", at)
            rest = source[match.end() : end if end >= 0 else len(source)]
            found.marked(name, rest)
            shown.append(found.plain(match[0]) if name == "list" else "")
            at = match.end()
            line_start = False
            continue
        if match := _PLAIN.match(source, at):
            shown.append(found.plain(match[0]))
            at, line_start = match.end(), False
            continue
        for name, form in _RULES:
            if match := form.match(source, at):
                shown.append(_shown(name, match, found, now))
                at = match.end()
                break
        else:
            shown.append(found.plain(source[at]))
            at += 1
        line_start = source[at - 1] == "\n"
    return "".join(shown)


def _shown(name: str, match: re.Match[str], found: Read, now: float) -> str:
    if name == "escape":
        return found.plain(match[1])
    if name in NESTED:
        inside = _inside(match[1] or match[match.lastindex or 1], found, now, at_start=False)
        return found.marked(name, inside)
    if name == "time":
        at = float(match[1])
        text = format_time(at, now=now) if now else datetime.fromtimestamp(at, UTC).isoformat()
    elif name == "codeblock":
        text = match[2]
    elif name == "code":
        text = re.sub(r"^ (?= *`)|(?<=`) $|(?<=` ) $", "", match[2])
    else:
        text = match[0]
    return found.marked(name, found.plain(text))
