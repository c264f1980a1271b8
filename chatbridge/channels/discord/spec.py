"""What the rest of the program knows of Discord."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatbridge.channels.spec import AccountLock, ChannelSpec, bot_setup, bot_spec
from chatbridge.extras import Extra

if TYPE_CHECKING:
    from chatbridge.channels.discord.settings import Discord

EXTRA = Extra(name="discord", modules=("aiohttp",), package="aiohttp")


def bot_id(table: Discord) -> str:
    """The public part of the token: its first part is the bot's id in base64."""
    from base64 import urlsafe_b64decode

    first = table.token.get_secret_value().partition(".")[0] if table.token else ""
    try:
        return urlsafe_b64decode(f"{first}==").decode("ascii")  # too much padding does no harm
    except ValueError:
        return first[:20]


def account_lock(bot: str) -> AccountLock:
    return AccountLock(
        id=bot,
        called=f"the Discord bot {bot}",
        why="two would ask everything twice",
        setting="discord.token to its token",
    )


DISCORD: ChannelSpec[Discord] = bot_spec(
    "discord",
    "Discord",
    setup=bot_setup(
        "discord",
        choice="a bot of your own, on your server",
        tokens_in="the bot's token",
        chats="channels to use, if not direct messages",
        pair_hint="Open the bot in Discord, and send it the code as a message.",
        test_place="in Discord",
        test_hint="Nothing heard? Unmute the bot's chat in Discord",
    ),
    account=lambda table: f"bot {bot_id(table)}",
    lock=lambda table: account_lock(bot_id(table)),
    extra=EXTRA,
)
