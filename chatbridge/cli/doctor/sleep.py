"""Whether this computer would go to sleep in the night: as systemd, the kernel and GNOME say on
Linux, and pmset on macOS."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from chatbridge.channels.checks import Finding, fine, problem, remark
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.doctor.tonight import NIGHT
from chatbridge.cli.ui.wording import duration

POWER_SUPPLIES = Path("/sys/class/power_supply")
SLEEP_TARGET = "/etc/systemd/system/sleep.target"
SLEEP_SCHEMA = "org.gnome.settings-daemon.plugins.power"
CAFFEINATE = "caffeinate -is -t 36000    (ten hours, in a terminal of its own; leave the lid open)"
LOOK_SECONDS = 5.0


def on_linux(_context: DoctorContext) -> list[Finding]:
    name = "sleep"
    if os.path.realpath(SLEEP_TARGET) == os.devnull:
        return [fine(name, "switched off on this computer")]
    if _is_kept_awake():
        return [fine(name, "another program keeps this computer awake")]
    battery, plugged = _power()
    if battery and not plugged:
        return [problem(name, "this computer runs on battery", "plug it in")]
    after = _sleeps_after() if battery or _has_desktop() else None
    if after is not None:
        what = f"this computer goes to sleep after {duration(after)} without input"
        fix = "switch that off, or: systemd-inhibit --what=sleep:idle sleep 10h"
        return [problem(name, what, fix)]
    if battery:
        return [fine(name, "plugged in; leave the lid open")]
    return [fine(name, "nothing was found that would put this computer to sleep")]


def _power() -> tuple[bool, bool]:
    """Whether there is a battery of the computer's own, and whether it is plugged in."""
    types: list[str] = []
    online = False
    for supply in POWER_SUPPLIES.glob("*"):
        said = {it: _said(supply / it) for it in ("type", "scope", "online")}
        if said["scope"] != "Device":  # that of a mouse
            types.append(said["type"])
            online = online or (said["type"] != "Battery" and said["online"] == "1")
    return "Battery" in types, online or "Battery" not in types


def _said(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _has_desktop() -> bool:
    return any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "XDG_CURRENT_DESKTOP")))


def _sleeps_after() -> float | None:
    """Seconds until GNOME suspends a computer that is plugged in; None: never, or unknown."""
    if _output("gsettings", "get", SLEEP_SCHEMA, "sleep-inactive-ac-type") != "'suspend'":
        return None
    said = _output("gsettings", "get", SLEEP_SCHEMA, "sleep-inactive-ac-timeout").split()
    return float(said[-1]) if said and said[-1].isdecimal() and int(said[-1]) else None


def _is_kept_awake() -> bool:
    for line in _output("systemd-inhibit", "--list", "--no-legend", "--no-pager").splitlines():
        *words, mode = line.split() or [""]
        if mode == "block" and any("sleep" in word.split(":") for word in words):
            return True
    return False


def _output(*words: str) -> str:
    """Empty where there is no such program, or it fails."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
            timeout=LOOK_SECONDS, env={**os.environ, "LC_ALL": "C"}, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


# ── macOS ─────────────────────────────────────────────────────────────────────────────────────────


def on_macos(_context: DoctorContext) -> list[Finding]:
    name = "sleep"
    now = _output("pmset", "-g")
    if re.search(r"^\s*SleepDisabled\s+1$", now, re.MULTILINE):
        return [fine(name, "switched off on this computer")]
    source = re.search("Now drawing from '([^']+)'", _output("pmset", "-g", "batt"))
    if source and source[1] == "Battery Power":
        return [problem(name, "this computer runs on battery", "plug it in")]
    profiles = sleep_minutes(_output("pmset", "-g", "custom"))
    minutes = profiles.get(source[1] if source else "AC Power")
    if minutes is None:
        what = "pmset did not say when this computer goes to sleep"
        return [remark(name, what, CAFFEINATE)]
    if minutes and not is_kept_awake(_output("pmset", "-g", "assertions")):
        what = f"this computer goes to sleep after {duration(60 * minutes)} without input"
        return [problem(name, what, CAFFEINATE)]
    if minutes:
        return [fine(name, "another program keeps this computer awake; leave the lid open")]
    if "Battery Power" in profiles:
        return [fine(name, "plugged in; leave the lid open")]
    return [fine(name, "never, by the settings of this computer")]


def sleep_minutes(said: str) -> dict[str, int]:
    """From what `pmset -g custom` says: for each source of power how many minutes without input it
    takes until the computer sleeps, and 0 for never. It does not while the display is on."""
    found: dict[str, int] = {}
    for profile in re.split(r"^(?=\S.*:$)", said, flags=re.MULTILINE):
        values = dict(re.findall(r"^ +(\w+) +(\d{1,6})\b", profile, re.MULTILINE))
        if "sleep" in values:
            own, display = int(values["sleep"]), int(values.get("displaysleep", 0))
            found[profile.partition(":")[0]] = max(own, display) if own else 0
    return found


def is_kept_awake(said: str) -> bool:
    """From what `pmset -g assertions` says: whether a program keeps this computer awake all night.
    One that lets go earlier does not, and neither do macOS's own daemons (powerd while the display
    is on, sharingd, coreaudiod …), which do so for a moment."""
    _, _, listed = said.partition("Listed by owning process:")
    for held in re.split(r"^(?=\s*pid \d+\()", listed, flags=re.MULTILINE):
        owner = re.match(r"\s*pid \d+\(([^)]*)\)", held)
        if not owner or re.fullmatch("[a-z_.]+d", owner[1]):
            continue
        if not re.search("Prevent(UserIdle)?SystemSleep|NoIdleSleepAssertion", held):
            continue
        ends = re.search(r"Timeout will fire in (\d{1,9}) secs", held)
        if ends is None or int(ends[1]) >= NIGHT:
            return True
    return False
