"""Runs as markdown, in which nothing of others is marked up, for services that read it.

Escapes make a text longer than its runs, so this owns how long it is then, and where it is split.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from chatbridge.channels.chat import document as doc
from chatbridge.channels.chat import runs
from chatbridge.channels.chat.runs import Run, Text, units

_ADDRESS = re.compile(r"(https?://[^\s<]+[^<.,:;\"')\]\s])")
"""What a service turns into a link to the letter, marks and backslashes in it included."""
_MARKS = re.compile(r"[\\*_`~|<\[]|@(?=everyone|here)")
_LINE_STARTS = re.compile(r"^([ \t]*\d*)(?=(?<=\d)[.)]|(?<!\d)[-+>#])", re.MULTILINE)
_LANGUAGE = re.compile(r'code class="language-([A-Za-z0-9_+#.-]+)"')


@dataclass(frozen=True, slots=True)
class MarkdownWriter:
    limit: int
    """The longest text, in UTF-16 units."""
    time: Callable[[str, str], str]
    """How the service shows a time, from its seconds since 1970 and the form `t`, `wt` or `dt`."""

    def to_markdown(self, text: Text) -> str:
        """The text with its marks; without them, and cut, if there is no room for them."""
        written = self._written(text)
        if units(written) > self.limit:
            bare = "".join(run.text for run in text)
            written = escape(bare)
            if units(written) > self.limit:
                written = escape(runs.ends_of(bare, head=self.limit // 2 - 1, tail=0)[0]) + "…"
        return written

    def _written(self, text: Text) -> str:
        found = []
        for box, inside in groupby(text, _box):
            if box == "quote":
                found.append("> " + self._inline(inside).replace("\n", "\n> "))
            elif box is not None:
                found.append(_fenced("".join(run.text for run in inside), box))
            else:
                found.append(self._inline(inside))
        return "".join(found)

    def _inline(self, text: Iterable[Run]) -> str:
        """Bold around italics around the rest: marks that are closed and opened again are read as
        others."""
        pieces = []
        for bold, inside in groupby(text, lambda run: "b" in run.tags):
            groups = groupby(inside, lambda run: "i" in run.tags)
            parts = [(italic, "".join(map(self._piece, runs))) for italic, runs in groups]
            around = ["", *(part for _, part in parts), ""]
            marked = "".join(
                _marked(part, _italic(around[i - 1], around[i + 1])) if italic else part
                for i, (italic, part) in enumerate(parts, 1)
            )
            pieces.append(_marked(marked, "**") if bold else marked)
        return "".join(pieces)

    def _piece(self, run: Run) -> str:
        if (time := runs.time_of(run)) is not None:
            return self.time(*time)
        return _code(run.text) if "code" in run.tags else escape(run.text)

    def size(self, text: Text) -> int:
        return units(self._written(text))

    def split(
        self, document: doc.Document, size: int, title: Callable[[int, int], doc.Line]
    ) -> Sequence[Text]:
        """In parts that fit also with all that has to be escaped in them."""
        while True:
            parts = runs.split(document, size, title)
            if all(units(self._written(part)) <= self.limit for part in parts):
                return parts
            size = size * 3 // 4


def _box(run: Run) -> str | None:
    """A quote, or a block of code by the line that opens it."""
    if "pre" in run.tags:
        return next((f"```{m[1]}" for tag in run.tags if (m := _LANGUAGE.fullmatch(tag))), "```")
    return "quote" if any(tag.startswith(runs.QUOTE) for tag in run.tags) else None


def _fenced(code: str, opening: str) -> str:
    return escape(code) if "```" in code else f"{opening}\n{code}\n```"


def _italic(before: str, after: str) -> str:
    """Underscores mark whole words only, and asterisks beside others are read as bold."""
    return "*" if re.search(r"\w$", before) or re.match(r"\w", after) else "_"


def _marked(text: str, mark: str) -> str:
    """Marks with a blank inside are none. One in an address, where nothing can be escaped, would
    end ours there, and a backslash keep it open: what follows would be read as markdown."""
    if any({mark[0], "\\"} & {*address} for address in _ADDRESS.findall(text)):
        return text
    bare = text.strip()
    return text.replace(bare, f"{mark}{bare}{mark}") if bare else text


def _code(text: str) -> str:
    if "`" not in text:
        return f"`{text}`"
    return escape(text) if "``" in text else f"`` {text} ``"


def escape(text: str) -> str:
    """What is shown as this text and as nothing else. Addresses stay: they are taken to the
    letter."""
    parts = _ADDRESS.split(text)
    return "".join(part if i % 2 else _escaped(part) for i, part in enumerate(parts))


def _escaped(text: str) -> str:
    return _LINE_STARTS.sub(r"\1\\", _MARKS.sub(r"\\\g<0>", text))


def write(document: doc.Document, *, now: float) -> Text:
    return runs.write(tuple(map(_roomy, document)), now=now)


def _roomy(block: doc.Block) -> doc.Block:
    """Code that cannot stand in a block of code is escaped, which may double it."""
    if isinstance(block, doc.Group):
        return replace(block, blocks=tuple(map(_roomy, block.blocks)))
    if isinstance(block, doc.Code) and block.limit is not None and "```" in block.text:
        return replace(block, limit=block.limit // 2)
    return block
