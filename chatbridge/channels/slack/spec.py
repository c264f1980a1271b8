"""What the rest of the program knows of Slack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatbridge.channels.spec import AccountLock, ChannelSpec, bot_setup, bot_spec
from chatbridge.extras import Extra

if TYPE_CHECKING:
    from chatbridge.channels.slack.settings import Slack

EXTRA = Extra("slack", modules=("slack_sdk", "aiohttp"), package="slack-sdk aiohttp")


def account_lock(app: str) -> AccountLock:
    why = "Slack would send each tap to only one of them"
    setting = "slack.bot_token and slack.app_token to its tokens"
    return AccountLock(id=app, called=f"the Slack app {app}", why=why, setting=setting)


SLACK: ChannelSpec[Slack] = bot_spec(
    "slack",
    "Slack",
    setup=bot_setup(
        "slack",
        choice="an app in your workspace",
        tokens_in="both tokens of the app",
        chats="channels to use, if not a conversation with each",
        pair_hint="Open the app in Slack, and send it the code as a message.",
        test_place="in Slack",
        test_hint="Nothing heard? Turn notifications on for the app in Slack",
    ),
    account=lambda table: f"app {table.app}",
    lock=lambda table: account_lock(table.app),
    tokens=("bot_token", "app_token"),
    extra=EXTRA,
)
