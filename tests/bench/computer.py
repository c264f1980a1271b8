"""The machine that figures are of, in words that name no one: no host, no path, no address."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.bench.machine import Json


def computer() -> Json:
    info, kilobytes = _processor(), _first(r"^MemTotal:\s*(\d+) kB$", _text("/proc/meminfo"))
    return {
        "cores": os.cpu_count(),
        "cpu": _first(r"^model name\s*:\s*(.+)$", info) or platform.machine(),
        "architecture": platform.machine(),
        "memory_gb": round(int(kilobytes) / 2**20) if kilobytes else None,
        "system": _first(r'^PRETTY_NAME="?([^"\n]+)', _text("/etc/os-release"))
        or platform.system(),
        "kernel": _first(r"^(\d+\.\d+)", platform.release()) or platform.release(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "disk": _disk(Path(tempfile.gettempdir())),
        "load": round(os.getloadavg()[0], 1),
    }


def in_words(it: Json) -> str:
    memory = f", {it['memory_gb']} GB of memory" if it["memory_gb"] else ""
    return (
        f"{it['cores']} cores of {it['cpu']} ({it['architecture']}){memory}; "
        f"files on {it['disk']}; {it['system']}, Linux {it['kernel']}, {it['python']}"
    )


def _processor() -> str:
    """Of ARM's the kernel tells numbers alone; lscpu knows their names."""
    if lscpu := shutil.which("lscpu"):
        shown = subprocess.run([lscpu], capture_output=True, text=True, env={"LC_ALL": "C"})
        return shown.stdout.replace("Model name", "model name")
    return _text("/proc/cpuinfo")


def _disk(folder: Path) -> str:
    """The file system of a folder, and what its device is as far as the kernel knows."""
    number = folder.stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    mounted = _first(rf"^\d+ \d+ {device} .* - (\S+) ", _text("/proc/self/mountinfo"))
    system, block = mounted or "an unknown file system", Path("/sys/dev/block") / device
    if system == "tmpfs":
        return "tmpfs, in memory"
    if not block.exists():
        return system
    if "virtio" in str(block.resolve()) or block.resolve().name.startswith("xvd"):
        return f"{system} on a virtual disk"  # of which the kernel does not know the kind
    for queue in (block / "queue", block.resolve().parent / "queue"):
        if turning := _text(queue / "rotational").strip():
            return f"{system} on a {'turning' if turning == '1' else 'solid-state'} disk"
    return system


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _first(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1].strip() if found else None
