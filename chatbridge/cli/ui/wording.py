"""Paths and numbers as commands write them."""

from __future__ import annotations

import os


def shown(path: str | os.PathLike[str]) -> str:
    """A path as people write it."""
    text, home = os.fspath(path), os.path.expanduser("~")
    inside = os.path.isabs(home) and text.startswith(home.rstrip("/") + "/")
    return "~" + text[len(home.rstrip("/")) :] if inside else text


def counted(number: int, word: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
