"""What the rest of the program knows of Telegram."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatbridge.channels.spec import AccountLock, ChannelSpec, bot_setup, bot_spec

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


TELEGRAM: ChannelSpec[Telegram] = bot_spec(
    "telegram",
    "Telegram",
    setup=bot_setup(
        "telegram",
        choice="free, needs the app",
        tokens_in="the bot's token",
        chats="chats to use, if not their own",
        pair_hint="Scan this, then press Start in Telegram.",
        test_place="on your phone",
        test_hint="Nothing heard? Unmute the chat in Telegram",
        chat="chat",
    ),
    account=lambda table: f"bot {bot_id(table)}",
    lock=lambda table: account_lock(bot_id(table)),
    chats="chat_id",
)
