"""`chatbridge quiet`: quiet hours by hand."""

from __future__ import annotations

import argparse

from chatbridge.cli.hub.hub_client import ask_hub, is_set_up
from chatbridge.cli.ui.running import WrongUsage, printable
from chatbridge.core.text import one_line, shortened


def quiet(given: argparse.Namespace) -> int:
    words = " ".join(given.words)
    _check(words)
    reply = ask_hub("quiet", start=is_set_up(), words=words)
    print(printable(str(reply["said"])))
    return 0


def _check(words: str) -> None:
    """Whether the hub, which knows the zone and what is allowed, could understand them."""
    from chatbridge.core.forms.typed_times import SAY_QUIET, read_duration, read_until

    said = words.casefold().removeprefix("on").strip()
    if said not in ("", "off") and read_duration(said) is None and read_until(said) is None:
        raise WrongUsage(f"{shortened(one_line(words), 40)!r} says no time. {SAY_QUIET}")
