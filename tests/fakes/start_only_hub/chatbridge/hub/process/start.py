"""A hub that only starts: it notes how, and reports what the file `report` says."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main(argv: list[str]) -> int:
    state = Path(os.environ["CHATBRIDGE_STATE_DIR"])
    descriptors = {int(name) for name in os.listdir("/proc/self/fd")}
    started = {
        "argv": argv,
        "cwd": os.getcwd(),
        "pid": os.getpid(),
        "parent": os.getppid(),
        "session": os.getsid(0),
        "environment": dict(os.environ),
        "open": sorted(it for it in descriptors if it <= 3 or _is_pipe(it)),
    }
    with (state / "starts").open("a") as file:
        file.write(json.dumps(started) + "\n")
    report = state / "report"
    if not report.exists():
        sys.stderr.write("Traceback\nRuntimeError: no report today\n")
        return 1
    os.write(int(argv[argv.index("--report-fd") + 1]), report.read_bytes())
    return 0


def _is_pipe(descriptor: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").startswith("pipe:")
    except OSError:
        return False
