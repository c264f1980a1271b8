"""Imports that take a good part of a start."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

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
