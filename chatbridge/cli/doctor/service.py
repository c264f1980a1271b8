"""The systemd user service, where there is systemd: whether it runs, and outlives a log-out."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from chatbridge.channels.checks import Finding, fine, problem, remark
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.service import manager, unit_files

NAME = "service"
LOGS = "chatbridge service logs"
INSTALL = "chatbridge service install"


async def service(_situation: DoctorContext) -> Sequence[Finding]:
    return await asyncio.to_thread(_look)


def _look() -> list[Finding]:
    if why_not := manager.available():
        return [fine(NAME, why_not.partition(". ")[0])]
    found = manager.properties()
    if found.get("LoadState") != "loaded":
        return [fine(NAME, "not installed: the hub starts with the first agent")]
    details = {
        "state": found.get("ActiveState", ""),
        "enabled": found.get("UnitFileState", ""),
        "file": found.get("FragmentPath", ""),
    }
    enabled = found.get("UnitFileState", "").startswith("enabled")
    how = "enabled" if enabled else "installed"
    if found.get("ActiveState") != "active":
        said = found.get("StatusText") or found.get("ActiveState", "")
        return [problem(NAME, f"{how}, but not running: {said}", LOGS, **details)]
    if not enabled:
        what = "running, but it does not start with this computer"
        return [remark(NAME, what, INSTALL, **details)]
    if _is_old(found.get("FragmentPath", "")):
        what = "its unit files are not those that this chatbridge would write"
        return [remark(NAME, what, INSTALL, **details)]
    lingers = manager.lingers()
    if lingers is False:
        what = "enabled, but it ends when you log out, and questions wait"
        return [remark(NAME, what, f"{INSTALL} --linger", **details)]
    known = ", lingering on" if lingers else ""
    return [fine(NAME, f"enabled{known}", **details, lingering=lingers)]


def _is_old(used: str) -> bool:
    """Only of files that `chatbridge service install` has written: a package has its own."""
    folder = unit_files.folder()
    if os.path.dirname(used) != folder:
        return False
    try:
        for name, content in unit_files.contents().items():
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                if file.read() != content:
                    return True
    except FileNotFoundError:
        return True
    except (OSError, UnicodeDecodeError):
        return False
    return False
