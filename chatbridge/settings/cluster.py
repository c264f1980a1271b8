"""The table of several hubs with one database: `[cluster]`."""

from __future__ import annotations

import re
import socket
from typing import Annotated

from pydantic import AfterValidator

from chatbridge.settings.tools import ListenAddress, SettingsTable

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


def _hub_name(value: str | None) -> str | None:
    if value is not None and not NAME.fullmatch(value):
        raise ValueError(
            "accepted: 1 to 40 letters, digits, dots, dashes and underscores, with a letter or "
            "digit first"
        )
    return value


class Cluster(SettingsTable):
    listen: ListenAddress = None
    """None: this hub passes nothing on, and nobody passes anything on to it."""
    address: ListenAddress = None
    """Where the others reach it; None: where it listens."""
    name: Annotated[str | None, AfterValidator(_hub_name)] = None
    """None: the computer's."""

    @property
    def published(self) -> str:
        return self.address or self.listen or ""

    @property
    def hub(self) -> str:
        computer = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())[:40].lstrip("._-")
        return self.name or computer or "hub"
