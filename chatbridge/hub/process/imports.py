"""Imports that take a good part of a start."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

FULL_COLLECTIONS_APART = 100
"""Ten times Python's own. One looks at all that is in memory, tens of milliseconds with a thousand
questions open; next to nothing here is garbage that the younger generations' do not find."""


@contextmanager
def heavy_imports() -> Iterator[None]:
    """Modules are no garbage: looking for some in them takes a twelfth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*gc.get_threshold()[:2], FULL_COLLECTIONS_APART)
        gc.enable()


def import_heavy(module: str) -> None:
    """In a thread."""
    if module not in sys.modules:  # else there would be garbage among what is kept for good
        with heavy_imports():
            import_module(module)
