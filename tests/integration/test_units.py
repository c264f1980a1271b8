"""The units in systemd/: nothing that systemd warns about, and the system's well locked up."""

from __future__ import annotations

import subprocess

import pytest

from chatbridge.cli.service import unit_files
from tests.fakes.program import ROOT

pytestmark = pytest.mark.systemd

UNITS = sorted((ROOT / "systemd").glob("*.s[eo]*[ect]"))


def test_all_four_units_are_there_and_the_package_has_the_same_files() -> None:
    assert [unit.name for unit in UNITS] == [
        "chatbridge-system.service",
        "chatbridge-system.socket",
        "chatbridge.service",
        "chatbridge.socket",
    ]
    packaged = ROOT / "chatbridge" / "cli" / "service" / "units"
    assert packaged.resolve() == ROOT / "systemd"
    assert unit_files.contents().keys() == {"chatbridge.service", "chatbridge.socket"}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_has_nothing_to_say_about_a_unit(unit: object) -> None:
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_system_service_is_exposed_to_two_at_most() -> None:
    unit = str(ROOT / "systemd" / "chatbridge-system.service")
    words = ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", unit]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-300:]
    assert "Overall exposure level" in done.stdout
