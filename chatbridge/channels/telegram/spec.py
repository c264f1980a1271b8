"""What the rest of the program knows of Telegram."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from chatbridge.channels.spec import AccountLock, ChannelSpec, SetupSpec
from chatbridge.setting_rules import is_same, is_some_of, is_within

if TYPE_CHECKING:
    from chatbridge.channels.telegram.settings import Telegram


def bot_id(table: Telegram) -> str:
    """The public part of the token; empty without one."""
    return table.token.get_secret_value().partition(":")[0] if table.token else ""


def account_lock(bot: str) -> AccountLock:
    return AccountLock(
        id=bot,
        called=f"the Telegram bot {bot}",
        why="Telegram lets only one do so",
        setting="telegram.token to its token",
    )


def _add_flags(flags: argparse._ArgumentGroup) -> None:
    flags.add_argument("--telegram-token-file", metavar="FILE", help="the bot's token")
    flags.add_argument(
        "--telegram-user", metavar="ID", nargs="+", default=[], help="people who may answer"
    )
    flags.add_argument(
        "--telegram-chat",
        metavar="ID",
        nargs="+",
        default=[],
        help="chats to use, if not their own",
    )


TELEGRAM: ChannelSpec[Telegram] = ChannelSpec(
    name="telegram",
    table="chatbridge.channels.telegram.settings:Telegram",
    is_on=lambda table: table.token is not None,
    build="chatbridge.channels.telegram.channel:TelegramChannel",
    check="chatbridge.channels.telegram.doctor:check",
    setup=SetupSpec(
        choice="free, needs the app",
        flag="--telegram-token-file",
        add_flags=_add_flags,
        ask="chatbridge.channels.telegram.setup:ask",
        plan="chatbridge.channels.telegram.setup:plan",
        test_place="on your phone",
        test_hint="Nothing heard? Unmute the chat in Telegram",
    ),
    pairs_by_code=True,
    account=lambda table: f"bot {bot_id(table)}",
    server=lambda table: table.api_base,
    lock=lambda table: account_lock(bot_id(table)),
    people="allowed_users",
    names="chatbridge.channels.telegram.doctor:names",
    chats="chat_id",
    named_by=("token", "allowed_users"),
    # Another server could bring taps that nobody made.
    file_default=("api_base",),
    limits={"allowed_users": is_within, "chat_id": is_some_of, "api_base": is_same},
    watched_settings=("chat_id",),
    link_settings=("token", "chat_id"),
)
