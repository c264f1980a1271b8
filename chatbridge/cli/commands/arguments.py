"""What arguments of several commands share: one of them, and functions that check a value, as
`argparse` calls them. What these need is imported when there is a value to check."""

from __future__ import annotations

import argparse
import time

from chatbridge.cli.ui.running import argument

ATTACH = argument(
    "--attach",
    action="append",
    default=[],
    metavar="FILE",
    help="a file to show with it, repeated",
)


def count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 1_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 1000")
    return int(text)


def period(text: str) -> float:
    from chatbridge.durations import parse_period

    try:
        return parse_period(_with_unit(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time; give how far back, as in 12h or 30d, at most 3650d"
        ) from None


def since(text: str) -> float:
    """Seconds since the epoch."""
    from chatbridge.core.nights.hours import parse_clock
    from chatbridge.core.nights.summary import last_time
    from chatbridge.durations import parse_period

    now = time.time()
    try:
        if ":" in text:
            return last_time(parse_clock(text), now=now)
        return now - parse_period(_with_unit(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time; give the time of day, as in 22:30, or how long ago, as in 8h"
        ) from None


def _with_unit(text: str) -> str:
    """Seconds are too short for what people mean by a bare number."""
    return text if text.strip()[-1:].isalpha() else ""


def client(name: str) -> str:
    from chatbridge.cli.connect.catalogue import UnknownClient, client_of

    try:
        return client_of(name).name
    except UnknownClient as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def address(value: str) -> str:
    from chatbridge.settings.tools import host_and_port

    try:
        host_and_port(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return value
