"""Settings of a hub that asks people over a fake Telegram or a real Synapse."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
