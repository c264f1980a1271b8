"""Processes with a network of their own, as in an agent's sandbox."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache


@cache
def no_namespaces() -> str | None:
    """Why there can be none here; None if there can."""
    if shutil.which("unshare") is None:
        return "there is no program unshare"
    done = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True)
    return None if done.returncode == 0 else "network namespaces cannot be made here (needs root)"
