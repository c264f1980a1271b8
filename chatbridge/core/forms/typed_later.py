"""Words for more time and for snoozing, as they are typed in a chat and in a terminal: `+15`,
`+1h`, `until 08:00`, `snooze 1h`, `snooze until 08:00`.

A number without a unit is nobody's time, except that `+15` has always been 15 minutes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chatbridge.core.forms import form

_HOURS, _MINUTES = r"(?P<hours>\d{1,3}) ?(?:h|hr|hrs|hours?)", r"(?: ?(?:m|min|mins|minutes?))"
_DURATION = re.compile(
    rf"(?:for )?(?:{_HOURS}(?: ?(?P<rest>\d{{1,2}}){_MINUTES}?)?|(?P<minutes>\d{{1,4}}){_MINUTES}"
    r"|(?P<days>\d{1,3}) ?(?:d|days?))",
    re.ASCII,
)
_CLOCK = re.compile(r"(?:until|till|to) (?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))?", re.ASCII)
_BARE_CLOCK = re.compile(r"\d{1,2}:\d{2}", re.ASCII)
_SNOOZE = re.compile(r"snooze (?P<when>.+)")
_PLUS = re.compile(r"\+ ?(?P<when>.+)")
NextTime = Callable[[int], float]
"""When it is this minute of the day for the next time, where the owner lives."""
WRITE_TIME = "Write a time such as 45min, 1h or until 08:00."


def read_snooze(when: str, next_time: NextTime) -> form.Snooze | form.SnoozeUntil | None:
    """What `1h`, `45 min`, `until 08:00` or `08:00` means; None: it is no time."""
    if minutes := _duration(when):
        return form.Snooze(minutes=minutes)
    until = _clock(when, next_time)
    return None if until is None else form.SnoozeUntil(until=until)


def read_extend(when: str, next_time: NextTime) -> form.Extend | form.ExtendUntil | None:
    """The same for more time."""
    if minutes := _duration(when):
        return form.Extend(minutes=minutes)
    until = _clock(when, next_time)
    return None if until is None else form.ExtendUntil(until=until)


def read_plus(said: str) -> form.Extend | None:
    """`+15` and `+1h`: so short that nobody means anything else."""
    found = _PLUS.fullmatch(said)
    minutes = _duration("15min" if found["when"] == "15" else found["when"]) if found else None
    return form.Extend(minutes=minutes) if minutes else None


def read_later(said: str, next_time: NextTime) -> form.Later | None:
    """What these words ask for, in lower case and as one line; None: they are no such words."""
    if found := _SNOOZE.fullmatch(said):
        return read_snooze(found["when"], next_time)
    return read_plus(said) or (
        read_extend(said, next_time) if said.startswith(("until ", "till ")) else None
    )


def _duration(text: str) -> int | None:
    """Minutes; None also for none at all."""
    found = _DURATION.fullmatch(text.strip().casefold())
    if found is None:
        return None
    names = ("days", "hours", "rest", "minutes")
    days, hours, rest, minutes = (int(found[name] or 0) for name in names)
    return (days * 24 + hours) * 60 + rest + minutes or None


def _clock(text: str, next_time: NextTime) -> int | None:
    """When it is this time of the day next, in minutes since the epoch."""
    said = " ".join(text.casefold().split())
    found = _CLOCK.fullmatch(f"until {said}" if _BARE_CLOCK.fullmatch(said) else said)
    hour, minute = (int(found["hour"]), int(found["minute"] or 0)) if found else (24, 0)
    if hour > 23 or minute > 59:
        return None
    return int(next_time(hour * 60 + minute) // 60)
