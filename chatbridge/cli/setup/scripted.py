"""`chatbridge setup --non-interactive`: what the flags say, all checked before any is written.

A program that runs as the owner can do this as well as the owner can; docs/security.md says what
that means.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from chatbridge import extras, settings
from chatbridge.cli.config_file import change, config_file
from chatbridge.cli.connect import Plan, plan, write
from chatbridge.cli.connect.plans import LEAST
from chatbridge.cli.hub.stop import restart_hub
from chatbridge.cli.people.people import people_in
from chatbridge.cli.service import available, install
from chatbridge.cli.setup import agents, matrix, telegram
from chatbridge.cli.setup.discovery import homeserver_of, is_user_id
from chatbridge.cli.setup.matrix_bot import Bot
from chatbridge.cli.setup.state import Setup
from chatbridge.core.errors import ChatbridgeError, RetryLater, SettingsError, TokenRejected
from chatbridge.durations import seconds

Work = Callable[[], None]
LARGEST = 4096


def run(given: argparse.Namespace) -> int:
    """:raises ChatbridgeError: nothing was written, unless the message says otherwise."""
    path = config_file()
    setup = Setup(path=path, settings=settings.load(path))
    if all(not value for name, value in vars(given).items() if name != "non_interactive"):
        raise ChatbridgeError(
            "There is nothing to do. Name at least one of --telegram-token-file, --matrix-user, "
            "--web-only, --wait, --service, --connect"
        )
    _check_service(given)
    waiting = _wait(setup, given)
    longest = None if given.wait is None else max(agents.longest(given.wait), LEAST)
    plans = [plan(client, wait=longest) for client in given.connect]
    # Matrix last: a password makes a new device.
    steps = [*waiting, *_telegram(setup, given), *_matrix(setup, given)]
    try:
        for step in steps:
            step()
        if steps:
            restart_hub(start=False)
        if given.service:
            install(linger=True, say=print)
        for it in plans:
            _write(it)
    except ChatbridgeError as error:
        if not setup.kept:
            raise
        raise ChatbridgeError(f"{error}. {setup.summary}") from error
    print(setup.summary if setup.kept else "Done.")
    if given.web_only:
        print("For a link to the inbox: chatbridge inbox")
    return 0


# ── what is checked first; what is returned is done afterwards ────────────────────────────────────


def _telegram(setup: Setup, given: argparse.Namespace) -> list[Work]:
    people, chats = given.telegram_user, given.telegram_chat
    if given.telegram_token_file is None and not (people or chats):
        return []
    token = _telegram_token(setup, given.telegram_token_file)
    listed = people_in(setup.path)
    try:
        # In the file's own form: numbers, and each once.
        new = settings.Telegram.model_validate({"allowed_users": people, "chat_id": chats})
    except ValidationError as error:
        raise ChatbridgeError(f"--telegram-user, --telegram-chat: {_problem(error)}") from None
    allowed = list(dict.fromkeys([*listed.allowed, *new.allowed_users]))
    in_chats = list(dict.fromkeys([*listed.chats, *new.chat_id]))

    def work() -> None:
        if token is not None:
            telegram.save_token(setup, token)
        changes: dict[tuple[str, ...], Any] = {}
        if allowed:  # an empty list would keep a variable from naming people
            changes["telegram", "allowed_users"] = allowed
        if in_chats:
            changes["telegram", "chat_id"] = in_chats
        change(setup.path, changes)
        if new.allowed_users or new.chat_id:
            setup.keeps("who may answer on Telegram")

    return [work]


def _telegram_token(setup: Setup, file: str | None) -> str | None:
    if file is None:
        if setup.settings.telegram.token is None:
            raise ChatbridgeError("There is no bot yet: --telegram-token-file FILE is needed, too")
        return None
    token = telegram.token_in(_secret(file))
    if token is None:
        raise ChatbridgeError(f"There is no bot's token in {_named(file)}. {telegram.AGAIN}")
    try:
        _, webhook = asyncio.run(telegram.look(token, setup.settings.telegram.api_base))
    except TokenRejected:
        raise ChatbridgeError(f"{telegram.UNKNOWN} {telegram.AGAIN}") from None
    except RetryLater as error:
        raise ChatbridgeError(f"{error}. Nothing was written") from None
    if webhook:
        raise ChatbridgeError(f"{telegram.WEBHOOK} Run chatbridge setup in a terminal to remove it")
    return token


def _matrix(setup: Setup, given: argparse.Namespace) -> list[Work]:
    file = given.matrix_token_file or given.matrix_password_file
    wanted = (given.matrix_homeserver, given.matrix_user, file)
    if not any((*wanted, given.matrix_room, given.matrix_allow)):
        return []
    extras.need(extras.MATRIX)
    if given.matrix_user is None or file is None:
        raise ChatbridgeError(
            "For Matrix both are needed: --matrix-user, and --matrix-token-file or "
            "--matrix-password-file"
        )
    for user in (given.matrix_user, *given.matrix_allow):
        if not is_user_id(user):
            raise ChatbridgeError(f"{user!r} is no user id, such as @ada:example.org")
    try:
        settings.Matrix.model_validate({"room_id": given.matrix_room})
    except ValidationError as error:
        raise ChatbridgeError(f"--matrix-room: {_problem(error)}") from None
    secret = _secret(file)
    homeserver = asyncio.run(homeserver_of(given.matrix_homeserver or given.matrix_user))
    with Bot(homeserver, given.matrix_user) as bot:
        if given.matrix_password_file:
            token = bot.log_in(secret)
        else:
            token = secret.strip()
            bot.use(token)

    def work() -> None:
        rooms, people = list(given.matrix_room), list(given.matrix_allow)
        matrix.save(setup, bot, token, rooms=rooms, people=people)

    return [work]


def _wait(setup: Setup, given: argparse.Namespace) -> list[Work]:
    if given.wait is None:
        return []
    try:
        wait = float(str(seconds(given.wait)))
    except ValueError as error:
        raise ChatbridgeError(f"--wait {given.wait!r}: {error}") from None
    if wait < setup.settings.min_timeout:
        raise ChatbridgeError(
            f"--wait {given.wait!r}: {setup.settings.min_timeout:g} s is the least"
        )
    return [lambda: agents.save_wait(setup, given.wait)]


def _problem(error: ValidationError) -> str:
    """Without the value: it may be a token in the wrong place."""
    return error.errors(include_input=False)[0]["msg"].removeprefix("Value error, ")


def _check_service(given: argparse.Namespace) -> None:
    if given.service and (why_not := available()) is not None:
        raise ChatbridgeError(why_not)


def _write(planned: Plan) -> None:
    for file in planned.changes:
        print(f"  {file.summary()}")
    write(planned)


# ── secrets ───────────────────────────────────────────────────────────────────────────────────────


def _secret(file: str) -> str:
    """:raises SettingsError: without what is in it."""
    try:
        if file == "-":
            found = sys.stdin.read(LARGEST)
        else:
            with Path(file).open(encoding="utf-8") as opened:
                found = opened.read(LARGEST)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise SettingsError(f"{_named(file)} cannot be read: {why}") from None
    if not found.strip():
        raise SettingsError(f"{_named(file)} is empty")
    return found.rstrip("\r\n")


def _named(file: str) -> str:
    """Not what somebody may have given instead of a file's name: a token."""
    if file == "-":
        return "standard input"
    return "what was given as a file" if telegram.token_in(file) else file
