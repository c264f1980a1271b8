"""Which channels the settings ask for, and how each is built. Imports none before it is built."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from chatbridge import bounded_read, extras, runtime_paths
from chatbridge.core.errors import SettingsError
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.pairing import Pairing
from chatbridge.core.ports import Channel, Clock, Health
from chatbridge.hub.process.lock import Lock, bot_held, matrix_bot, telegram_bot
from chatbridge.hub.process.log import hide
from chatbridge.settings import Matrix, Settings, Telegram, Web
from chatbridge.settings.secrets import place_of


def channels_of(
    settings: Settings,
    *,
    config: Path | None,
    lock: Lock,
    clock: Clock,
    health: Health,
    pairing: Pairing,
    codes: LoginCodes,
) -> dict[str, Callable[[], Channel]]:
    """By name, those that are set up."""
    found: dict[str, Callable[[], Channel]] = {}
    if settings.web.enabled:
        found["web"] = lambda: _web(settings.web, lock, clock, health, codes)
    if settings.telegram.token is not None:
        found["telegram"] = lambda: _telegram(settings.telegram, config, clock, pairing)
    if settings.matrix.on:
        found["matrix"] = lambda: _matrix(settings.matrix, config, lock, clock)
    return found


def _web(web: Web, lock: Lock, clock: Clock, health: Health, codes: LoginCodes) -> Channel:
    from chatbridge.channels.web.channel import WebChannel

    token = web.token.get_secret_value() if web.token else web_token(lock.state)
    hide(token)
    return WebChannel(
        host=web.host,
        port=web.port,
        url=web.url,
        token=token,
        clock=clock,
        announce=lock.inbox_at,
        health=health,
        codes=codes,
    )


def _telegram(telegram: Telegram, config: Path | None, clock: Clock, pairing: Pairing) -> Channel:
    from chatbridge.channels.telegram.channel import TelegramChannel

    assert telegram.token is not None
    token = telegram.token.get_secret_value()
    return TelegramChannel(
        token=token,
        allowed=telegram.allowed_users,
        chats=telegram.chat_id,
        topics=telegram.topics,
        pairing=pairing,
        base=telegram.api_base,
        hint=place_of(config or Path(runtime_paths.config_path()), "telegram", "token"),
        clock=clock,
        hold=lambda: bot_held(telegram_bot(token.partition(":")[0])),
    )


def _matrix(matrix: Matrix, config: Path | None, lock: Lock, clock: Clock) -> Channel:
    extras.need(extras.MATRIX)
    from chatbridge.channels.matrix.account.log_in import Account
    from chatbridge.channels.matrix.channel import MatrixChannel

    assert matrix.homeserver is not None
    assert matrix.user_id is not None
    user_id, token, password = matrix.user_id, matrix.access_token, matrix.password
    named = "access_token" if token else "password"
    return MatrixChannel(
        account=Account(
            homeserver=matrix.homeserver,
            user_id=user_id,
            access_token=token.get_secret_value() if token else None,
            password=password.get_secret_value() if password else None,
            hint=place_of(config or Path(runtime_paths.config_path()), "matrix", named),
        ),
        folder=lock.state / "matrix",
        allowed=matrix.allowed_users,
        rooms=matrix.room_id,
        reactions=matrix.reactions,
        clock=clock,
        hold=lambda: bot_held(matrix_bot(user_id)),
        hide=hide,
    )


def web_token(state: Path) -> str:
    """The inbox's token, made on the first start."""
    path = Path(runtime_paths.token_path(str(state)))
    try:
        if found := bounded_read.read(path, most=4096).decode("ascii").strip():
            return found
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise SettingsError(
            f"the inbox's token cannot be read from {path}: {why}. Remove it: the next hub makes "
            "a new one, and browsers log in again"
        ) from None
    token = secrets.token_urlsafe(32)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(file, "w", encoding="ascii") as out:
        out.write(token + "\n")
    return token
