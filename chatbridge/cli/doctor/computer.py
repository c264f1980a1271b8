"""The service, where there can be one: whether it runs, and outlives a log-out. And this computer's
clock against that of the chat services: deadlines are times of day."""

from __future__ import annotations

import asyncio
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

from chatbridge.channels.checks import Finding, fine, problem, remark
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.service.manager import Manager
from chatbridge.cli.ui.wording import lasted
from chatbridge.system.platform import MACOS

INSTALL = "chatbridge service install"
ANSWER_SECONDS = 5.0
WRONG_FROM_SECONDS = 60.0
ZONE = "/etc/localtime"
IN_SETTINGS = "set it in System Settings, General, Date & Time"
SET_CLOCK = IN_SETTINGS if MACOS else "set it: timedatectl set-ntp true"
SET_ZONE = IN_SETTINGS if MACOS else "timedatectl set-timezone Europe/Berlin, or yours"


def service(context: DoctorContext) -> list[Finding]:
    name, manager = "service", context.manager
    if why_not := manager.available():
        return [fine(name, why_not.partition(". ")[0])]
    found = manager.state()
    if not found.installed:
        what = "not installed: the hub starts with the first agent"
        return [fine(name, what, installed=False)]
    details = {"state": found.word, "enabled": found.enabled, "file": found.file}
    if not found.running:
        said = f"{'enabled' if found.enabled else 'installed'}, but not running: "
        said += found.why or found.word
        mend = INSTALL if _is_old(manager, found.file) else "chatbridge service logs"
        return [problem(name, said, mend, **details)]
    if not found.enabled:
        when = "with this computer" if manager.lingering else "when you log in"
        what = f"running, but it does not start {when}"
        return [remark(name, what, INSTALL, **details)]
    if _is_old(manager, found.file):
        what = f"its {'unit files are' if manager.lingering else 'file is'} out of date"
        return [remark(name, what, INSTALL, **details)]
    if manager.lingering is None:
        return [fine(name, "enabled; it stops when you log out", **details)]
    lingers = manager.lingering.is_on()
    if lingers is False:
        what = "enabled, but it stops when you log out, and questions wait"
        return [remark(name, what, f"{INSTALL} --linger", **details)]
    known = ", lingering on" if lingers else ""
    return [fine(name, f"enabled{known}", **details, lingering=lingers)]


def _is_old(manager: Manager, used: str) -> bool:
    """Only of files that `chatbridge service install` has written: a package has its own."""
    wanted = manager.files()
    if used not in wanted:
        return False
    try:
        return any(Path(path).read_text(encoding="utf-8") != it for path, it in wanted.items())
    except FileNotFoundError:
        return True
    except (OSError, UnicodeDecodeError):
        return False


async def clock(context: DoctorContext) -> Sequence[Finding]:
    name, settings = "clock", context.settings
    servers = [spec.server(settings.table(spec)) for spec in settings.active_channels()]
    addresses = [address for address in servers if address]
    found = await asyncio.gather(*(_ahead(context, address) for address in addresses))
    for address, ahead in zip(addresses, found, strict=True):
        if ahead is not None and abs(ahead) > WRONG_FROM_SECONDS:
            how = "ahead of" if ahead > 0 else "behind"
            host = urlsplit(address).hostname
            what = f"{lasted(abs(ahead))} {how} {host}: questions end at the wrong time"
            return [problem(name, what, SET_CLOCK, ahead=round(ahead))]
    zone = settings.quiet.zone or _zone_name()
    if zone is None:
        what = "no time zone is set, so the times on cards are UTC"
        return [remark(name, what, SET_ZONE)]
    compared = any(ahead is not None for ahead in found)
    said = "correct" if compared else "not compared with a chat service"
    return [fine(name, f"{said}, {zone}", zone=zone)]


def _zone_name() -> str | None:
    """As the C library finds it; None if nobody has set one."""
    if given := os.environ.get("TZ"):
        return given.removeprefix(":")
    if not os.path.exists(ZONE):
        return None
    return os.path.realpath(ZONE).rpartition("/zoneinfo/")[2] or "time zone set"


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
