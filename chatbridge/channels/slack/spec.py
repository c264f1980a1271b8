"""What the rest of the program knows of Slack."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from chatbridge.channels.spec import AccountLock, ChannelSpec, SetupSpec
from chatbridge.extras import Extra
from chatbridge.setting_rules import is_same, is_some_of, is_within

if TYPE_CHECKING:
    from chatbridge.channels.slack.settings import Slack

EXTRA = Extra("slack", modules=("slack_sdk", "aiohttp"), package="slack-sdk aiohttp")


def account_lock(app: str) -> AccountLock:
    return AccountLock(
        id=app,
        called=f"the Slack app {app}",
        why="Slack would send each tap to only one of them",
        setting="slack.bot_token and slack.app_token to its tokens",
    )


def _add_flags(flags: argparse._ArgumentGroup) -> None:
    flags.add_argument("--slack-token-file", metavar="FILE", help="both tokens of the app")
    flags.add_argument(
        "--slack-user", metavar="ID", nargs="+", default=[], help="people who may answer"
    )
    flags.add_argument(
        "--slack-channel",
        metavar="ID",
        nargs="+",
        default=[],
        help="channels to use, if not a conversation with each",
    )


SLACK: ChannelSpec[Slack] = ChannelSpec(
    name="slack",
    table="chatbridge.channels.slack.settings:Slack",
    is_on=lambda table: table.on,
    build="chatbridge.channels.slack.channel:SlackChannel",
    check="chatbridge.channels.slack.doctor:check",
    setup=SetupSpec(
        choice="an app in your workspace",
        flag="--slack-token-file",
        add_flags=_add_flags,
        ask="chatbridge.channels.slack.setup:ask",
        plan="chatbridge.channels.slack.setup:plan",
        pair_hint="Open the app in Slack, and send it the code as a message.",
        test_place="in Slack",
        test_hint="Nothing heard? Turn notifications on for the app in Slack",
    ),
    extra=EXTRA,
    pairs_by_code=True,
    account=lambda table: f"app {table.app}",
    server=lambda table: table.api_base,
    lock=lambda table: account_lock(table.app),
    people="allowed_users",
    names="chatbridge.channels.slack.doctor:names",
    chats="channel_id",
    named_by=("bot_token", "app_token", "allowed_users"),
    # Another server could bring taps that nobody made.
    file_default=("api_base",),
    limits={"allowed_users": is_within, "channel_id": is_some_of, "api_base": is_same},
    watched_settings=("channel_id",),
    link_settings=("bot_token", "app_token", "channel_id"),
)
