"""How the file is read by who does not write. Imports nothing that takes time."""

from __future__ import annotations

from pathlib import Path


def mode_to_read(path: Path) -> str:
    """The mode in which not a byte of it changes. With a log beside it the newest is still in
    there, and only a connection that takes part in locking reads it; without one, "immutable" makes
    sure that none is created."""
    return "mode=ro" if path.with_name(path.name + "-wal").exists() else "immutable=1"


def text_or_bytes(stored: bytes) -> str | bytes:
    """A damaged text as its bytes: else one row of it would fail the whole statement."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return stored
