"""Edits text of any kind: what is ours is between two marks, each on a line of its own.

Removing what was put in restores the text to the byte, whatever its last line looks like.
"""

from __future__ import annotations

import re
from typing import Any

from chatbridge.cli.connect.editing import Keys, Unparsable, newline_of

OURS: Keys = ("ours",)
BEGIN, END = "<!-- chatbridge:begin -->", "<!-- chatbridge:end -->"
_BLOCK = re.compile(
    rf"(?P<gap>\r?\n|\A){re.escape(BEGIN)}(?P<newline>\r?\n)(?P<text>.*?){re.escape(END)}"
    r"(?:\r?\n|\Z)",
    re.DOTALL,
)


class Marked:
    """The editor of this format."""

    def load(self, text: str) -> dict[str, Any]:
        found = _block(text)
        if found is None:
            return {"others": text}
        ours = found["text"].replace(found["newline"], "\n")
        return {"others": self.remove(text, OURS), OURS[0]: ours}

    def put(self, text: str, keys: Keys, value: Any) -> str:
        found = _block(text)
        newline = found["newline"] if found else newline_of(text)
        block = f"{BEGIN}\n{value}{END}\n".replace("\n", newline)
        if found is None:
            return f"{text}{newline}{block}" if text else block
        return text[: found.end("gap")] + block + text[found.end() :]

    def remove(self, text: str, keys: Keys) -> str:
        found = _block(text)
        if found is None:
            return text
        before, rest = text[: found.start()], text[found.end() :]
        if rest and before and not before.endswith("\n"):
            before = text[: found.end("gap")]  # two lines of the owner's stay two
        elif found["gap"] != found["newline"]:
            before += found["gap"].removesuffix(found["newline"])
        return self.remove(before + rest, keys)

    def bare(self, text: str, keys: Keys) -> bool:
        return False


def _block(text: str) -> re.Match[str] | None:
    """:raises Unparsable: a mark is missing."""
    found = _BLOCK.search(text)
    lone = next((it for it in (BEGIN, END) if it in text), None)
    if found is None and lone is not None:
        line = text.count("\n", 0, text.index(lone)) + 1
        raise Unparsable(f"“{BEGIN}” and “{END}” do not match", line)
    return found
