"""The systemd user service: put in place, looked at, taken away. Nothing else assumes systemd.

What the wizard uses of it is named here; `command` is `chatbridge service`.
"""

from __future__ import annotations

from chatbridge.cli.service.install import install
from chatbridge.cli.service.manager import available, is_running

__all__ = ["available", "install", "is_running"]
