"""Settings of a hub that asks people over a fake Telegram, Slack, Discord or ntfy, or a real
Synapse."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fakes.discord.server import Discord
    from tests.fakes.slack.server import Slack
    from tests.fakes.synapse import Login, Synapse
    from tests.fakes.telegram.chats import User
    from tests.fakes.telegram.server import BotApi


def telegram_settings(api: BotApi, *people: User, chats: tuple[int, ...] = ()) -> dict[str, str]:
    """For a house whose hub asks these people over this Telegram: in these chats, else in the
    private ones."""
    return {
        "CHATBRIDGE_TELEGRAM__TOKEN": api.token,
        "CHATBRIDGE_TELEGRAM__API_BASE": api.address,
        "CHATBRIDGE_TELEGRAM__ALLOWED_USERS": ",".join(str(person.id) for person in people),
        "CHATBRIDGE_TELEGRAM__CHAT_ID": ",".join(str(chat) for chat in chats),
    }


def matrix_settings(synapse: Synapse, bot: Login, *people: str, room: str) -> dict[str, str]:
    """For a house whose hub asks these people in this room, as a bot with an access token."""
    return {
        "CHATBRIDGE_MATRIX__HOMESERVER": synapse.address,
        "CHATBRIDGE_MATRIX__USER_ID": bot.user_id,
        "CHATBRIDGE_MATRIX__ACCESS_TOKEN": bot.access_token,
        "CHATBRIDGE_MATRIX__ALLOWED_USERS": ",".join(people),
        "CHATBRIDGE_MATRIX__ROOM_ID": room,
    }


def slack_settings(slack: Slack, *people: str, at: str) -> dict[str, str]:
    """For a house whose hub asks these people, each alone, over the Slack at this address."""
    return {
        "CHATBRIDGE_SLACK__BOT_TOKEN": slack.bot_token,
        "CHATBRIDGE_SLACK__APP_TOKEN": slack.app_token,
        "CHATBRIDGE_SLACK__API_BASE": f"{at}/api/",
        "CHATBRIDGE_SLACK__ALLOWED_USERS": ",".join(people),
    }


def discord_settings(discord: Discord, *people: str, at: str) -> dict[str, str]:
    return {
        "CHATBRIDGE_DISCORD__TOKEN": discord.token,
        "CHATBRIDGE_DISCORD__API_BASE": f"{at}/api",
        "CHATBRIDGE_DISCORD__ALLOWED_USERS": ",".join(people),
    }


def ntfy_settings(address: str, *, topic: str, token: str) -> dict[str, str]:
    """Answers come back."""
    return {
        "CHATBRIDGE_NTFY__SERVER": address,
        "CHATBRIDGE_NTFY__TOPIC": topic,
        "CHATBRIDGE_NTFY__TOKEN": token,
        "CHATBRIDGE_NTFY__ANSWERS": "true",
    }
