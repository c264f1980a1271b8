"""Which system this is."""

from __future__ import annotations

import sys

MACOS: bool = sys.platform == "darwin"
