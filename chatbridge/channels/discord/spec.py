"""What the rest of the program knows of Discord."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from chatbridge.channels.spec import AccountLock, ChannelSpec, SetupSpec
from chatbridge.extras import Extra
from chatbridge.setting_rules import is_same, is_some_of, is_within

if TYPE_CHECKING:
    from chatbridge.channels.discord.settings import Discord

EXTRA = Extra(name="discord", modules=("aiohttp",), package="aiohttp")


def bot_id(table: Discord) -> str:
    """The public part of the token: its first part is the bot's id in base64."""
    if table.token is None:
        return ""
    from base64 import urlsafe_b64decode

    first = table.token.get_secret_value().partition(".")[0].rstrip("=")
    try:
        return urlsafe_b64decode(first + "=" * (-len(first) % 4)).decode("ascii")
    except ValueError:
        return first[:20]


def account_lock(bot: str) -> AccountLock:
    return AccountLock(
        id=bot,
        called=f"the Discord bot {bot}",
        why="two would ask everything twice",
        setting="discord.token to its token",
    )


def _add_flags(flags: argparse._ArgumentGroup) -> None:
    flags.add_argument("--discord-token-file", metavar="FILE", help="the bot's token")
    flags.add_argument(
        "--discord-user", metavar="ID", nargs="+", default=[], help="people who may answer"
    )
    flags.add_argument(
        "--discord-channel",
        metavar="ID",
        nargs="+",
        default=[],
        help="channels to use, if not direct messages",
    )


DISCORD: ChannelSpec[Discord] = ChannelSpec(
    name="discord",
    table="chatbridge.channels.discord.settings:Discord",
    is_on=lambda table: table.token is not None,
    build="chatbridge.channels.discord.channel:DiscordChannel",
    check="chatbridge.channels.discord.doctor:check",
    setup=SetupSpec(
        choice="a bot of your own on a server of yours",
        flag="--discord-token-file",
        add_flags=_add_flags,
        ask="chatbridge.channels.discord.setup:ask",
        plan="chatbridge.channels.discord.setup:plan",
        test_place="in Discord",
        test_hint="Nothing heard? Unmute the bot's chat in Discord",
    ),
    extra=EXTRA,
    account=lambda table: f"bot {bot_id(table)}",
    server=lambda table: table.api_base,
    lock=lambda table: account_lock(bot_id(table)),
    people="allowed_users",
    names="chatbridge.channels.discord.doctor:names",
    chats="channel_id",
    named_by=("token", "allowed_users"),
    # Another server could bring taps that nobody made.
    file_default=("api_base",),
    limits={"allowed_users": is_within, "channel_id": is_some_of, "api_base": is_same},
    watched_settings=("channel_id",),
    link_settings=("token", "channel_id"),
)
