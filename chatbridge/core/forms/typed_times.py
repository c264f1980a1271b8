"""Times as people type them in a chat and in a terminal, and what asks for more time or snoozes:
`+15`, `+1h`, `until 08:00`, `snooze 1h`, `snooze until 08:00`.

A number without a unit is nobody's time, except that `+15` has always been 15 minutes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chatbridge.core.forms import form
from chatbridge.core.nights.hours import parse_clock

_UNITS = {"m": 60.0, "h": 3600.0, "d": 86_400.0}
_MINUTES = r"m|mins?|minutes?"
_DURATION = re.compile(
    rf"(?:for )?(\d{{1,4}}(?:\.\d{{1,3}})?) ?(?:({_MINUTES}|d|days?)"
    rf"|(h|hrs?|hours?)(?: ?(\d{{1,2}}) ?(?:{_MINUTES})?)?)",
    re.ASCII,
)
_UNTIL = re.compile(
    r"(?:(?:until|till|to) )?(\d{1,2}):(\d{2})|(?:until|till|to) (\d{1,2})(?:\.(\d{2}))?", re.ASCII
)
_PLUS = re.compile(r"\+ ?(.+)")
NextTime = Callable[[int], float]
"""When it is this minute of the day for the next time, where the owner lives."""
SAY_QUIET = "Say for how long, such as 2h, or until when, such as until 08:00, or off."
WRITE_TIME = "Write a time such as 45min, 1h or until 08:00."


def read_duration(said: str) -> float | None:
    """Seconds, of `45 min`, `1h`, `1h30`, `1.5h` or `2d`; None: it is no time, or none at all."""
    found = _DURATION.fullmatch(_folded(said))
    if found is None:
        return None
    number, unit, hours, rest = found.groups()
    return float(number) * _UNITS[(unit or hours)[0]] + int(rest or 0) * 60 or None


def read_until(said: str) -> int | None:
    """The minute of the day, of `until 08:00`, `until 8` or `08:00`; None: it is no time."""
    found = _UNTIL.fullmatch(_folded(said))
    try:
        return (
            parse_clock(f"{found[1] or found[3]}:{found[2] or found[4] or '00'}") if found else None
        )
    except ValueError:
        return None


def read_snooze(when: str, next_time: NextTime) -> form.Snooze | form.SnoozeUntil | None:
    """What `1h`, `45 min` or `until 08:00` means; None: it is no time."""
    if minutes := _minutes(when):
        return form.Snooze(minutes=minutes)
    at = read_until(when)
    return None if at is None else form.SnoozeUntil(until=int(next_time(at) // 60))


def read_extend(when: str, next_time: NextTime) -> form.Extend | form.ExtendUntil | None:
    """The same for more time."""
    if minutes := _minutes(when):
        return form.Extend(minutes=minutes)
    at = read_until(when)
    return None if at is None else form.ExtendUntil(until=int(next_time(at) // 60))


def read_plus(said: str) -> form.Extend | None:
    """`+15` and `+1h`: so short that nobody means anything else."""
    found = _PLUS.fullmatch(said)
    minutes = _minutes("15min" if found[1] == "15" else found[1]) if found else None
    return form.Extend(minutes=minutes) if minutes else None


def read_later(said: str, next_time: NextTime) -> form.Later | None:
    """What these words ask for, in lower case and as one line; None: they are no such words."""
    if said.startswith("snooze "):
        return read_snooze(said.removeprefix("snooze "), next_time)
    if said.startswith(("until ", "till ")):
        return read_extend(said, next_time)
    return read_plus(said)


def _minutes(said: str) -> int | None:
    return int((read_duration(said) or 0.0) // 60) or None


def _folded(said: str) -> str:
    return " ".join(said.casefold().split())
