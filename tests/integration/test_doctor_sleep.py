"""`doctor --tonight`: whether the computer would go to sleep, on Linux and on macOS. Programs are
stand-ins that write what the real ones do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.checks import Finding, Mark
from chatbridge.cli.doctor import sleep
from chatbridge.cli.doctor.run import Check
from tests.fakes.doctor import Machine


@pytest.fixture
def power(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the kernel says of batteries. Programs are only those that a test makes."""
    folder = machine.home / "power"
    monkeypatch.setattr(sleep, "POWER_SUPPLIES", folder)
    monkeypatch.setattr(sleep, "SLEEP_TARGET", str(machine.home / "sleep.target"))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_CURRENT_DESKTOP"):
        monkeypatch.delenv(name, raising=False)
    machine.set(PATH=str(machine.home / "bin"))
    return folder


def supply(power: Path, name: str, **said: str) -> None:
    (power / name).mkdir(parents=True)
    for key, value in said.items():
        (power / name / key).write_text(f"{value}\n")


def program(machine: Machine, name: str, script: str) -> None:
    path = machine.home / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


async def one(machine: Machine, look: Callable[..., Any]) -> Finding:
    (found,) = await machine.look(Check("sleep", look))
    return found


# ── Linux ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_computer_without_battery_or_desktop_stays_awake(
    machine: Machine, power: Path
) -> None:
    supply(power, "mouse", type="Battery", scope="Device")
    found = await one(machine, sleep.on_linux)
    assert found.mark is Mark.FINE
    assert found.what.startswith("nothing was found")


async def test_a_laptop_is_to_be_plugged_in(machine: Machine, power: Path) -> None:
    supply(power, "BAT0", type="Battery")
    supply(power, "AC", type="Mains", online="0")
    assert (await one(machine, sleep.on_linux)).what == "this computer runs on battery"
    (power / "AC/online").write_text("1\n")
    assert (await one(machine, sleep.on_linux)).what == "plugged in; leave the lid open"


async def test_a_desktop_that_suspends_is_told_until_something_keeps_it_awake(
    machine: Machine, power: Path
) -> None:
    machine.set(DISPLAY=":0")
    program(machine, "gsettings", "case $3 in *type) echo \"'suspend'\";; *) echo 1200;; esac")
    found = await one(machine, sleep.on_linux)
    assert (found.mark, found.what) == (
        Mark.PROBLEM,
        "this computer goes to sleep after 20 min without input",
    )
    program(
        machine,
        "systemd-inhibit",
        'echo "NetworkManager 0 root 9 NetworkManager sleep turns off networks delay"\n'
        'echo "gsd 7 ada 8 gsd-power handle-lid-switch A screen block"',
    )
    assert (await one(machine, sleep.on_linux)).mark is Mark.PROBLEM
    program(
        machine, "systemd-inhibit", 'echo "me 7 ada 9 systemd-inhibit sleep:idle Unknown block"'
    )
    assert (await one(machine, sleep.on_linux)).mark is Mark.FINE


async def test_sleep_that_is_masked_is_well(machine: Machine, power: Path) -> None:
    supply(power, "BAT0", type="Battery")
    (machine.home / "sleep.target").symlink_to("/dev/null")
    assert (await one(machine, sleep.on_linux)).what == "switched off on this computer"


# ── macOS ─────────────────────────────────────────────────────────────────────────────────────────

LAPTOP = """\
Battery Power:
 Sleep On Power Button 1
 lowpowermode         1
 standby              1
 ttyskeepawake        1
 hibernatemode        3
 powernap             0
 hibernatefile        /var/vm/sleepimage
 displaysleep         2
 womp                 0
 networkoversleep     0
 sleep                1
 lessbright           1
 tcpkeepalive         1
 disksleep            10
AC Power:
 Sleep On Power Button 1
 lowpowermode         0
 standby              1
 ttyskeepawake        1
 hibernatemode        3
 powernap             1
 hibernatefile        /var/vm/sleepimage
 displaysleep         10
 womp                 1
 networkoversleep     0
 sleep                1
 tcpkeepalive         1
 disksleep            10
"""
NOW = """\
System-wide power settings:
Currently in use:
 standby              1
 Sleep On Power Button 1
 hibernatefile        /var/vm/sleepimage
 sleep                1 (sleep prevented by powerd, sharingd)
 displaysleep         10
"""
DAEMONS = """\
2026-11-18 13:20:57 -0600
Assertion status system-wide:
   BackgroundTask                 0
   UserIsActive                   1
   PreventUserIdleDisplaySleep    0
   PreventSystemSleep             0
   PreventUserIdleSystemSleep     1
   NetworkClientActive            0
Listed by owning process:
   pid 145(WindowServer): [0x00044f2f00099212] 00:00:00 UserIsActive named: "com.apple.iohideventsystem.queue.tickle"
	Timeout will fire in 600 secs Action=TimeoutActionRelease
   pid 80(powerd): [0x00044f2f00019216] 00:22:34 PreventUserIdleSystemSleep named: "Powerd - Prevent sleep while display is on"
   pid 346(sharingd): [0x00000a65000187b1] 00:00:51 PreventUserIdleSystemSleep named: "Handoff"
"""  # noqa: E501 - as pmset writes it
CAFFEINATE = """\
   pid 98217(caffeinate): [0x00045477000194b3] 00:00:03 PreventUserIdleSystemSleep named: "caffeinate command-line tool"
	Details: caffeinate asserting for {seconds} secs
	Localized=THE CAFFEINATE TOOL IS PREVENTING SLEEP.
	Timeout will fire in {seconds} secs Action=TimeoutActionRelease
Kernel Assertions: 0x4=USB
"""  # noqa: E501
PLUGGED, UNPLUGGED = "Now drawing from 'AC Power'\n", "Now drawing from 'Battery Power'\n"


def pmset(
    machine: Machine,
    *,
    batt: str = PLUGGED,
    custom: str = LAPTOP,
    assertions: str = DAEMONS,
    now: str = NOW,
) -> None:
    folder = machine.home / "pmset.said"
    folder.mkdir(exist_ok=True)
    for name, text in {"batt": batt, "custom": custom, "assertions": assertions, "": now}.items():
        (folder / f"-g {name}".strip()).write_text(text)
    program(machine, "pmset", f"exec /bin/cat '{folder}'/\"$*\"")


async def test_a_mac_that_would_sleep_is_to_be_kept_awake_all_night(
    machine: Machine, power: Path
) -> None:
    pmset(machine)
    found = await one(machine, sleep.on_macos)
    assert found.mark is Mark.PROBLEM
    assert found.what == "this computer goes to sleep after 10 min without input"
    assert found.fix[0].startswith("caffeinate -is -t 36000 ")
    pmset(machine, assertions=DAEMONS + CAFFEINATE.format(seconds=300))
    assert (await one(machine, sleep.on_macos)).mark is Mark.PROBLEM
    pmset(machine, assertions=DAEMONS + CAFFEINATE.format(seconds=36000))
    assert (await one(machine, sleep.on_macos)).mark is Mark.FINE


async def test_a_macbook_is_to_be_plugged_in(machine: Machine, power: Path) -> None:
    pmset(machine, batt=UNPLUGGED, assertions=DAEMONS + CAFFEINATE.format(seconds=36000))
    found = await one(machine, sleep.on_macos)
    assert (found.what, found.fix) == ("this computer runs on battery", ("plug it in",))


@pytest.mark.parametrize(
    ("said", "what"),
    [
        (
            {"custom": LAPTOP.replace(" sleep                1\n tcp", " sleep       0\n tcp")},
            "plugged in; leave the lid open",
        ),
        (
            {"custom": "AC Power:\n displaysleep         10\n sleep                0\n"},
            "never, by the settings of this computer",
        ),
        (
            {"now": NOW.replace("settings:\nC", "settings:\n SleepDisabled\t\t1\nC")},
            "switched off on this computer",
        ),
    ],
)
async def test_a_mac_that_never_sleeps_is_well(
    machine: Machine, power: Path, said: dict[str, str], what: str
) -> None:
    pmset(machine, **said)
    found = await one(machine, sleep.on_macos)
    assert (found.mark, found.what) == (Mark.FINE, what)


async def test_a_mac_that_says_nothing_is_not_called_well(machine: Machine, power: Path) -> None:
    assert (await one(machine, sleep.on_macos)).mark is Mark.REMARK
    pmset(machine, custom="AC Power:\n sleeps\n", batt="?\n")
    assert (await one(machine, sleep.on_macos)).mark is Mark.REMARK


@given(st.text())
def test_whatever_pmset_writes_can_be_read(said: str) -> None:
    assert all(minutes >= 0 for minutes in sleep.sleep_minutes(said).values())
    sleep.is_kept_awake(f"Listed by owning process:\n{said}")
