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


def shadowed(folder: Path, code: str) -> str:
    """A folder for PYTHONPATH from which chatbridge is imported as ever, after this code has run.
    Hubs that links start get no other folder of that variable than chatbridge's own."""
    package = folder / "chatbridge"
    package.mkdir(parents=True)
    own = (ROOT / "chatbridge" / "__init__.py").read_text()
    path = f"__path__.append({str(ROOT / 'chatbridge')!r})"
    (package / "__init__.py").write_text(f"{code}\n{own}\n{path}\n")
    return str(folder)
