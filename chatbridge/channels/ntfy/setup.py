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
from chatbridge.cli.setup.state import Setup, Work, ask_on_the_phone, read_secret
from chatbridge.cli.ui import prompts
from chatbridge.cli.ui.running import WrongUsage
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import one_line
from chatbridge.setting_rules import first_problem
from chatbridge.settings import secrets

ABOUT = """\
ntfy rings your phone. You answer in the inbox, or in a chat.
  1. Install the ntfy app, and subscribe there to  {topic}
     at {server}. For another server: chatbridge setup --help
  2. Keep the topic to yourself: who knows it can read your questions.

It can take answers, too. Nobody knows whose they are, so approvals stay elsewhere.
"""
FLAGS = ("topic", "server", "token_file", "answers")


def ask(setup: Setup) -> None:
    now = setup.settings.table(NTFY)
    topic = now.topic or f"chatbridge-{token_urlsafe(9)}"
    prompts.explain(ABOUT.format(topic=topic, server=now.server))
    answers = prompts.confirm("Take answers there, too?", default=now.answers)
    while True:
        try:
            _save(setup, {"topic": topic, "answers": answers})
            break
        except ChatbridgeError as error:  # the phone may have this topic already
            why = one_line(f"{error}. Nothing was written.")
            if not prompts.enter_or_escape(partial(prompts.bad, why, "Press Enter to try again.")):
                raise KeyboardInterrupt from None
    prompts.good("a test message is on its way to your phone")
    restart_hub()
    if answers:
        ask_on_the_phone(NTFY)


def plan(setup: Setup, given: argparse.Namespace) -> list[Work]:
    changes = {name: value for name in FLAGS if (value := getattr(given, f"ntfy_{name}"))}
    if not changes:
        return []
    if file := changes.pop("token_file", None):
        changes["token"] = read_secret(file)
    if not _table(setup, changes).topic:
        raise WrongUsage("--ntfy-topic is needed, too")
    return [lambda: _save(setup, changes)]


def _table(setup: Setup, changes: dict[str, Any]) -> Ntfy:
    try:
        return Ntfy.model_validate(setup.settings.table(NTFY).model_dump() | changes)
    except ValidationError as error:
        raise WrongUsage(f"ntfy: {first_problem(error)}") from None


def _save(setup: Setup, changes: dict[str, Any]) -> None:
    asyncio.run(_ring(_table(setup, changes)))
    if token := changes.get("token"):
        secrets.keep(setup.path, "ntfy", "token", value=token)
        changes = changes | {"token": None}  # it may be in the file by hand
    change(setup.path, {("ntfy", name): value for name, value in changes.items()})
    setup.keeps("the ntfy topic")


async def _ring(table: Ntfy) -> None:
    async with Api(table) as api:
        await api.publish(topic=table.topic, title="chatbridge", message="It rings here.")
