"""chatbridge as a process of its own: how tests start it, and the little that clients tell it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHATBRIDGE = (sys.executable, "-m", "chatbridge")


def bare(environment: dict[str, str]) -> dict[str, str]:
    """PATH, where chatbridge is, and this: real clients give their servers no more."""
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environment}
