"""Matrix's part of `chatbridge setup`: an account for the bot, a room, and who may answer there."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from pydantic import ValidationError

from chatbridge.channels.matrix.account.bot import Bot, homeserver_of
from chatbridge.channels.matrix.settings import USER_ID, Matrix
from chatbridge.channels.matrix.spec import MATRIX
from chatbridge.cli.config_file import change, table_in
from chatbridge.cli.hub.control import restart_hub
from chatbridge.cli.people import people_in
from chatbridge.cli.setup.state import Setup, Work, ask_on_the_phone, read_secret
from chatbridge.cli.ui import prompts
from chatbridge.cli.ui.prompts import Choice
from chatbridge.cli.ui.running import WrongUsage
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import one_line
from chatbridge.setting_rules import first_problem
from chatbridge.settings import secrets

ABOUT = """\
Matrix needs an account for the bot, apart from your own:
  1. Register it on your homeserver, for instance with Element
  2. Have its user id at hand (it looks like @bot:example.org)
  3. And its password: it is used once and not kept. A token works, too
"""
NEW_ROOM = ""
LOOK_EVERY = 1.0


def ask(setup: Setup) -> None:
    """Go to an answered question, or as far as the person wants."""
    now = setup.settings.table(MATRIX)
    if now.on and prompts.confirm(f"Keep the bot {now.user_id}?", default=True):
        people = ", ".join(now.allowed_users) or "nobody"
        prompts.say(f"  May answer: {people}")
        if prompts.confirm("Send a test question?", default=True):
            restart_hub()
            ask_on_the_phone(MATRIX)
        return
    prompts.explain(ABOUT)
    user = prompts.text("The bot's user id:", problem=_problem)
    with Bot(_homeserver(user), user) as bot:
        token = _log_in(bot)
        owner = prompts.text("Your own user id:", problem=lambda it: _problem(it, user))
        room = _room(bot, owner)
        save(setup, bot, token, rooms=[room], people=[owner])
        restart_hub()
        if not _joined(bot, room, owner):
            return
    ask_on_the_phone(MATRIX)


def plan(setup: Setup, given: argparse.Namespace) -> list[Work]:
    file = given.matrix_token_file or given.matrix_password_file
    if given.matrix_user is None or file is None:
        raise WrongUsage(
            "for Matrix both are needed: --matrix-user, and --matrix-token-file or "
            "--matrix-password-file"
        )
    for user in (given.matrix_user, *given.matrix_allow):
        if not USER_ID.fullmatch(user):
            raise WrongUsage(f"{user!r} is not a user id, such as @ada:example.org")
    try:
        Matrix.model_validate({"room_id": given.matrix_room})
    except ValidationError as error:
        raise WrongUsage(f"--matrix-room: {first_problem(error)}") from None
    secret = read_secret(file)
    homeserver = asyncio.run(homeserver_of(given.matrix_homeserver or given.matrix_user))
    with Bot(homeserver, given.matrix_user) as bot:
        token = bot.log_in(secret) if given.matrix_password_file else bot.use(secret)
    rooms, people = given.matrix_room, given.matrix_allow
    return [lambda: save(setup, bot, token, rooms=rooms, people=people)]


def save(setup: Setup, bot: Bot, token: str, *, rooms: list[str], people: list[str]) -> None:
    # As the file has it now: who was taken out while the wizard waited stays out.
    now = people_in(setup.path, MATRIX)
    is_same = str(table_in(setup.path, "matrix").get("user_id")).strip() == bot.user_id
    secrets.keep(setup.path, "matrix", "access_token", value=token)
    setup.keeps("the Matrix token")
    changes: dict[tuple[str, ...], Any] = {
        ("matrix", "homeserver"): bot.homeserver,
        ("matrix", "user_id"): bot.user_id,
        ("matrix", "room_id"): _added(now.chats if is_same else (), rooms) or None,
        ("matrix", "access_token"): None,  # where somebody had written them by hand
        ("matrix", "password"): None,
    }
    # An empty list would keep a variable from naming any.
    if allowed := _added(now.allowed, people):
        changes["matrix", "allowed_users"] = allowed
    change(setup.path, changes)
    setup.keeps("the Matrix account and its room" if rooms else "the Matrix account")


def _added(there: tuple[str, ...], new: list[str]) -> list[str]:
    return list(dict.fromkeys([*there, *new]))


def _problem(text: str, bot: str = "") -> str | None:
    """Of the bot's user id or, given that, of the owner's."""
    if bot and text == bot:
        return "That is the bot. Give your own: the one that answers"
    example = "@ada:example.org" if bot else "@bot:example.org"
    return None if USER_ID.fullmatch(text) else f"Give a full user id, such as {example}"


def _homeserver(user: str) -> str:
    given = user
    while True:
        try:
            found = asyncio.run(homeserver_of(given))
        except ChatbridgeError as error:
            prompts.bad(one_line(str(error)))
            given = prompts.text(
                "The homeserver's address:", problem=lambda it: None if it else "An address"
            )
        else:
            prompts.good(f"{found} answers")
            return found


def _log_in(bot: Bot) -> str:
    how = prompts.pick(
        "How does the bot log in?",
        [
            Choice(value="password", title="Password        used once, not kept"),
            Choice(value="token", title="Access token    of a device that nobody else uses"),
        ],
    )
    while True:
        secret = prompts.hidden(f"{how.capitalize()} (not shown):")
        prompts.forget_typed()
        try:
            token = bot.log_in(secret) if how == "password" else bot.use(secret)
        except ChatbridgeError as error:
            prompts.bad(one_line(str(error)))
        else:
            prompts.good(f"logged in as {bot.user_id}")
            return token


def _room(bot: Bot, owner: str) -> str:
    known = {room.id: room for room in bot.rooms()}
    choices = [Choice(value=NEW_ROOM, title="A new one            private, for you and the bot")]
    for room in known.values():
        name, kind = one_line(room.name), "encrypted" if room.encrypted else ""
        choices.append(Choice(value=room.id, title=f"{name[:20]:<20} {kind:<9} {room.id}"))
    picked = prompts.pick("Which room?", choices) if known else NEW_ROOM
    if picked == NEW_ROOM:
        encrypted = prompts.confirm(
            "Encrypt the new room? (end to end; cannot be undone)", default=True
        )
        room_id = bot.make_room(owner, encrypted=encrypted)
        prompts.good(f"room created, {owner} is invited")
        return room_id
    if not known[picked].joined:
        bot.join(picked)
    if not bot.is_in(picked, owner):
        bot.invite(picked, owner)
        prompts.good(f"{owner} is invited")
    return picked


def _joined(bot: Bot, room: str, owner: str) -> bool:
    """Once the owner is there; False: they do it later."""
    if bot.is_in(room, owner):
        return True
    with prompts.keys():
        prompts.say_with_later("  … waiting for you: accept the invitation in your app")
        while prompts.key(LOOK_EVERY) != prompts.ESCAPE:
            if bot.is_in(room, owner):
                prompts.good(f"{owner} is in the room")
                return True
    prompts.say("  Accept the invitation later, and questions will arrive there.")
    return False
