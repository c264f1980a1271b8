"""Durations as people write them: `90`, `"15min"`, `"8h"`."""

from __future__ import annotations

import math
import re

_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
LONGEST = 3650 * _UNITS["d"]
"""Longer durations would lead to dates that cannot be formatted."""


def parse(text: str) -> float:
    """Seconds, of `90`, `90 s`, `15min`, `8h` or `90d`. :raises ValueError: it is no duration."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h|d)?\s*", text)
    found = float(match[1]) * _UNITS[match[2] or "s"] if match is not None else math.inf
    if not math.isfinite(found):
        raise ValueError('give seconds, or a number with a unit such as "15min", "8h", "90d"')
    return found


def parse_period(text: str) -> float:
    """Seconds, as `parse` reads them. :raises ValueError: also if it is nothing, or too long."""
    found = parse(text)
    if not 0 < found <= LONGEST:
        raise ValueError(f"give more than nothing, and at most {LONGEST / _UNITS['d']:.0f}d")
    return found


def seconds(value: object) -> object:
    """A text as `parse` reads it, and anything else as it is; for a validator."""
    if isinstance(value, bool):
        raise ValueError("true and false are no time")
    return parse(value) if isinstance(value, str) else value
