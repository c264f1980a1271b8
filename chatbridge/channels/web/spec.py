"""What the rest of the program knows of the web inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatbridge.channels.spec import ChannelSpec
from chatbridge.setting_rules import is_loopback, is_no_more, is_same, is_same_or

if TYPE_CHECKING:
    from chatbridge.channels.web.settings import Web


def _page(table: Web, address: str) -> str | None:
    """One that listens everywhere has no address of its own."""
    here = is_loopback(table.host) or address.startswith("http://127.0.0.1:")
    return table.url or (None if here else address)


WEB: ChannelSpec[Web] = ChannelSpec(
    name="web",
    table="chatbridge.channels.web.settings:Web",
    is_on=lambda table: table.enabled,
    build="chatbridge.channels.web.channel:build",
    check="chatbridge.channels.web.doctor:check",
    is_elsewhere=lambda table: bool(table.url) or not is_loopback(table.host),
    page=_page,
    unwatched="no page was open",
    limits={"enabled": is_no_more, "host": is_same, "url": is_same_or(None)},
    watched_settings=("enabled", "host", "url"),
    own_remarks=("Notifications do not reach a browser:",),
)
