"""`chatbridge snooze`, `extend` and `quiet`.

The hub knows the zone and what is allowed. Here a text that says no time is refused.
"""

from __future__ import annotations

import argparse

from chatbridge.cli.hub.hub_client import ask_hub, is_set_up
from chatbridge.cli.ui.running import WrongUsage, printable, say
from chatbridge.core.text import one_line, shortened


def snooze(given: argparse.Namespace) -> int:
    return _postpone("snooze", given)


def extend(given: argparse.Namespace) -> int:
    return _postpone("extend", given)


def _postpone(do: str, given: argparse.Namespace) -> int:
    from chatbridge.core.forms.typed_times import WRITE_TIME, read_snooze

    when = " ".join(given.when)
    if read_snooze(when, float) is None:
        raise WrongUsage(f"{shortened(one_line(when), 40)!r} is no time. {WRITE_TIME}")
    say(ask_hub(do, start=is_set_up(), id=given.id, when=when)["said"])
    return 0


def quiet(given: argparse.Namespace) -> int:
    from chatbridge.core.forms.typed_times import SAY_QUIET, read_duration, read_until

    words = " ".join(given.words)
    said = words.casefold().removeprefix("on").strip()
    if said not in ("", "off") and read_duration(said) is None and read_until(said) is None:
        raise WrongUsage(f"{shortened(one_line(words), 40)!r} says no time. {SAY_QUIET}")
    print(printable(str(ask_hub("quiet", start=is_set_up(), words=words)["said"])))
    return 0
