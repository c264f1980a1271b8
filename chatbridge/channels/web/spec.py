"""What the rest of the program knows of the web inbox."""

from __future__ import annotations

from chatbridge.channels.spec import ChannelSpec
from chatbridge.channels.web.settings import Web
from chatbridge.setting_rules import is_no_more, is_same, is_same_or

WEB = ChannelSpec(
    name="web",
    settings=Web,
    is_on=lambda table: table.enabled,
    build="chatbridge.channels.web.channel:build",
    check="chatbridge.channels.web.doctor:check",
    unwatched="no page was open",
    limits={"enabled": is_no_more, "host": is_same, "url": is_same_or(None)},
    watched_settings=("enabled", "host", "url"),
)
