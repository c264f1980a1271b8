"""`chatbridge hub`, but without the pace that chats ask for, and with a sampler of its main thread:
what the hub itself can do, and where its time goes.

Every 5 ms it notes what the event loop is in: by the innermost module of chatbridge, else by the
library. Written to the file named by the first argument, in counts of five seconds each.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from types import FrameType

import chatbridge
from chatbridge.core.delivery.queue import RateLimiter
from chatbridge.hub.process import start

EVERY = 0.005
SLOT = 5
IDLE = "idle"
LIBRARIES = "site-packages"
PACKAGE = Path(chatbridge.__file__).parent
DEEP = ("channels", "core", "hub", "store")
"""Folders whose parts are told apart."""


def _place(frame: FrameType | None) -> str:
    library = ""
    while frame is not None:
        own, other = _of_file(frame.f_code.co_filename)
        if own:
            return own
        library = library or other
        frame = frame.f_back
    return library or IDLE


@cache
def _of_file(name: str) -> tuple[str, str]:
    """Which part of chatbridge this is, or which library."""
    path = Path(name)
    if path.is_relative_to(PACKAGE) and not path.is_relative_to(PACKAGE / "hub" / "process"):
        inside = path.relative_to(PACKAGE).with_suffix("").parts
        return "/".join(inside[: 2 if inside[0] in DEEP else 1]), ""
    parts = path.parts
    library = parts[parts.index(LIBRARIES) + 1] if LIBRARIES in parts else ""
    return "", library.removesuffix(".py").replace("uvloop", "")


def _sample(file: Path, main: int) -> None:
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    written = 0
    while True:
        time.sleep(EVERY)
        slot = int(time.time()) // SLOT
        counts[slot][_place(sys._current_frames().get(main))] += 1
        if slot != written:
            written = slot
            part = file.with_suffix(".part")
            part.write_text(json.dumps(counts))
            part.replace(file)


def main() -> int:
    file, *words = sys.argv[1:]
    RateLimiter.spend = lambda self, now, *, edit: None  # type: ignore[method-assign]
    sampling = threading.Thread(
        target=_sample, args=(Path(file), threading.get_ident()), daemon=True
    )
    sampling.start()
    return start.main(words)


if __name__ == "__main__":
    sys.exit(main())
