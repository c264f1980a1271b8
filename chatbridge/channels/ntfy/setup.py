"""ntfy's part of `chatbridge setup`: a topic, and whether answers come back through another."""

from __future__ import annotations

import argparse
import asyncio
from functools import partial
from secrets import token_urlsafe
from typing import Any

from pydantic import ValidationError

from chatbridge.channels.ntfy.api import Api
from chatbridge.channels.ntfy.settings import Ntfy
from chatbridge.channels.ntfy.spec import NTFY
from chatbridge.cli.config_file import change
from chatbridge.cli.hub.control import restart_hub
from chatbridge.cli.setup.state import Setup, Work, ask_on_the_phone, first_problem, read_secret
from chatbridge.cli.ui import prompts
from chatbridge.cli.ui.running import WrongUsage
from chatbridge.core.errors import ChatbridgeError
from chatbridge.settings import secrets

ABOUT = """\
ntfy rings your phone. You answer in the inbox, or in a chat.
  1. Install the ntfy app, and subscribe there to  {topic}
     at {server}. For another server: chatbridge setup --help
  2. Keep the topic to yourself: who knows it can read your questions.

It can take answers, too. Nobody knows whose they are, so approvals stay elsewhere.
"""


def ask(setup: Setup) -> None:
    now = setup.settings.table(NTFY)
    topic = now.topic or f"chatbridge-{token_urlsafe(9)}"
    prompts.explain(ABOUT.format(topic=topic, server=now.server))
    answers = prompts.confirm("Take answers there, too?", default=now.answers)
    while True:
        try:
            _save(setup, {"topic": topic, "answers": answers})
            break
        except ChatbridgeError as error:  # the phone may have the topic already
            said = partial(prompts.bad, prompts.shown(str(error)), "Press Enter to try again.")
            if not prompts.enter_or_escape(said):
                raise KeyboardInterrupt from None
    prompts.good("a test message is on its way to your phone")
    restart_hub()
    if answers:
        ask_on_the_phone(NTFY)


def plan(setup: Setup, given: argparse.Namespace) -> list[Work]:
    found = {name: getattr(given, f"ntfy_{name}") for name in ("topic", "server", "answers")}
    changes = {name: value for name, value in found.items() if value}
    token = read_secret(given.ntfy_token_file) if given.ntfy_token_file else ""
    if not changes and not token:
        return []
    if not _table(setup, changes, token).topic:
        raise WrongUsage("--ntfy-topic is needed, too")
    return [lambda: _save(setup, changes, token)]


def _table(setup: Setup, changes: dict[str, Any], token: str) -> Ntfy:
    now = setup.settings.table(NTFY).model_dump() | changes
    try:
        return Ntfy.model_validate(now | ({"token": token} if token else {}))
    except ValidationError as error:
        raise WrongUsage(f"ntfy: {first_problem(error)}") from None


def _save(setup: Setup, changes: dict[str, Any], token: str = "") -> None:
    asyncio.run(_try(_table(setup, changes, token)))
    if token:
        secrets.keep(setup.path, "ntfy", "token", value=token)
    change(setup.path, {("ntfy", name): value for name, value in changes.items()})
    setup.keeps("the ntfy topic")


async def _try(table: Ntfy) -> None:
    async with Api(table) as api:
        try:
            await api.publish(topic=table.topic, title="chatbridge", message="It rings here.")
        except ChatbridgeError as error:
            raise ChatbridgeError(f"{error}. Nothing was written.") from None
