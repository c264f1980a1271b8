"""This computer's clock against that of the chat services: deadlines are times of day."""

from __future__ import annotations

import asyncio
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from chatbridge.channels.checks import Finding, fine, problem, remark
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.ui.wording import lasted

NAME = "clock"
ANSWER_SECONDS = 5.0
WRONG_FROM_SECONDS = 60.0
ZONE = "/etc/localtime"


async def clock(context: DoctorContext) -> Sequence[Finding]:
    zone = zone_name()
    services = _services(context)
    found = await asyncio.gather(*(_ahead(context, address) for address in services))
    compared = {at: ahead for at, ahead in zip(services, found, strict=True) if ahead is not None}
    for address, ahead in compared.items():
        if abs(ahead) > WRONG_FROM_SECONDS:
            how = "ahead of" if ahead > 0 else "behind"
            host = urlsplit(address).hostname
            what = f"{lasted(abs(ahead))} {how} {host}: questions end at the wrong time"
            fix = "set it: timedatectl set-ntp true"
            return [problem(NAME, what, fix, ahead=round(ahead))]
    if zone is None:
        what = "no time zone is set, so the times on cards are UTC"
        return [remark(NAME, what, "timedatectl set-timezone Europe/Berlin, or yours")]
    said = "right" if compared else "not compared with a chat's"
    return [fine(NAME, f"{said}, {zone}", zone=zone)]


def zone_name() -> str | None:
    """As the C library finds it; None if nobody has set one."""
    given = os.environ.get("TZ")
    if given:
        return given.removeprefix(":")
    if not os.path.exists(ZONE):
        return None
    _, _, name = os.path.realpath(ZONE).rpartition("/zoneinfo/")
    return name or "time zone set"


def _services(context: DoctorContext) -> list[str]:
    settings = context.settings
    found = [spec.server(settings.table(spec)) for spec in settings.active_channels()]
    return [address for address in found if address]


async def _ahead(context: DoctorContext, address: str) -> float | None:
    """By how many seconds our clock is ahead of that one; None if it does not say."""
    before = context.clock.time()
    date = await asyncio.to_thread(_date_of, address)
    after = context.clock.time()
    if date is None:
        return None
    # The other clock was read at some moment in between, and rounds its seconds down.
    if before - 1 <= date <= after:
        return 0.0
    return after - date if date > after else before - date


def _date_of(address: str) -> float | None:
    try:
        try:
            with urllib.request.urlopen(f"{address}/", timeout=ANSWER_SECONDS) as answer:  # noqa: S310
                said = answer.headers["Date"]
        except urllib.error.HTTPError as error:
            with error:
                said = error.headers["Date"]
        return parsedate_to_datetime(said).timestamp()
    except (OSError, ValueError, TypeError):
        return None
