"""The units in systemd/: nothing that systemd warns about, and the system's well locked up."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

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


def test_the_drop_in_for_postgresql_is_installed_as_the_page_says(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "team-database.md").read_text()
    (line,) = re.findall(r"^sudo (install -D .*)$", page, re.MULTILINE)
    *words, source, target = line.split()
    folder = tmp_path / Path(target).parents[1].name
    subprocess.run([*words, ROOT / "systemd" / source, folder / "/".join(target.split("/")[-2:])])
    unit = folder / "chatbridge-system.service"
    for each in UNITS:
        (folder / each.name).write_bytes(each.read_bytes())
    shown = {**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:"}
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, env=shown
    )
    assert (done.returncode, done.stderr) == (0, "")
    (drop_in,) = folder.glob("chatbridge-system.service.d/*.conf")
    drop_in.write_text(drop_in.read_text() + "[Service]\nNonsense=yes\n")
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, env=shown
    )
    assert "Nonsense" in done.stderr, "the drop-in was not read at all"
    credentials = re.findall(r"LoadCredential=chatbridge:%E/(.*)", unit.read_text())
    assert f"/etc/{credentials[0]}/store_password" in page
