"""The systemd user service. Nothing else assumes systemd.

command: `chatbridge service`, which writes and removes the units
unit_files: the units as this installation needs them
manager: talks to systemd through its own commands
"""

from __future__ import annotations

from chatbridge.cli.service.command import install
from chatbridge.cli.service.manager import available, is_running

__all__ = ["available", "install", "is_running"]
