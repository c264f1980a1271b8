"""Edits text of any kind: what is ours is between two marks, each a comment on its own line.

Removing what was put in restores the text to the byte, whatever its last line looks like.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from chatbridge.cli.connect.editing import Keys, Unparsable, newline_of

OURS: Keys = ("ours",)
BEGIN, END = "<!-- chatbridge:begin -->", "<!-- chatbridge:end -->"


@dataclass(frozen=True, slots=True)
class Marked:
    """The editor of this format."""

    begin: str = BEGIN
    end: str = END

    def load(self, text: str) -> dict[str, Any]:
        found = self._block(text)
        if found is None:
            return {"others": text}
        ours = found["text"].replace(found["newline"], "\n")
        return {"others": self.remove(text, OURS), OURS[0]: ours}

    def put(self, text: str, keys: Keys, value: Any) -> str:
        found = self._block(text)
        newline = found["newline"] if found else newline_of(text)
        block = f"{self.begin}\n{value}{self.end}\n".replace("\n", newline)
        if found is None:
            return f"{text}{newline}{block}" if text else block
        return text[: found.end("gap")] + block + text[found.end() :]

    def remove(self, text: str, keys: Keys) -> str:
        found = self._block(text)
        if found is None:
            return text
        before, rest = text[: found.start()], text[found.end() :]
        if rest and before and not before.endswith("\n"):
            before = text[: found.end("gap")]  # two lines of the owner's stay two
        elif found["gap"] != found["newline"]:
            before += found["gap"].removesuffix(found["newline"])
        return self.remove(before + rest, keys)

    def is_empty(self, text: str, keys: Keys) -> bool:
        return False

    def _block(self, text: str) -> re.Match[str] | None:
        """:raises Unparsable: a mark is missing."""
        found = re.search(
            rf"(?P<gap>\r?\n|\A){re.escape(self.begin)}(?P<newline>\r?\n)"
            rf"(?P<text>.*?){re.escape(self.end)}(?:\r?\n|\Z)",
            text,
            re.DOTALL,
        )
        lone = next((it for it in (self.begin, self.end) if it in text), None)
        if found is None and lone is not None:
            line = text.count("\n", 0, text.index(lone)) + 1
            raise Unparsable(f"“{self.begin}” and “{self.end}” do not match", line)
        return found
