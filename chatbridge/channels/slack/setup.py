"""Slack's part of `chatbridge setup`: an app of one's own, and who may answer."""

from __future__ import annotations

import argparse
import asyncio
import json
import re

from pydantic import SecretStr, ValidationError

from chatbridge import extras
from chatbridge.channels.slack.api import SCOPES
from chatbridge.channels.slack.doctor import opened
from chatbridge.channels.slack.settings import APP_TOKEN, BOT_TOKEN, Slack
from chatbridge.channels.slack.spec import EXTRA, SLACK
from chatbridge.cli.config_file import Key, Value, change
from chatbridge.cli.hub.control import restart_hub
from chatbridge.cli.people import listed_names, pair, people_in
from chatbridge.cli.setup.state import Setup, Work, ask_on_the_phone, first_problem, read_secret
from chatbridge.cli.ui import prompts
from chatbridge.cli.ui.running import WrongUsage
from chatbridge.core.errors import ChatbridgeError
from chatbridge.settings import secrets

ABOUT = """\
Slack needs an app of your own:
  1. Open https://api.slack.com/apps?new_app=1, choose “From a manifest” and your
     workspace, and paste this as JSON:

{manifest}

  2. Install the app. Under OAuth & Permissions, copy the token that begins with xoxb-
  3. Under Basic Information, App-Level Tokens, make one with the scope
     connections:write, and copy it: it begins with xapp-
"""
MANIFEST = {
    "display_information": {
        "name": "chatbridge",
        "description": "Brings the questions of your agents, and your answers back.",
    },
    "features": {
        "app_home": {"messages_tab_enabled": True, "messages_tab_read_only_enabled": False},
        "bot_user": {"display_name": "chatbridge", "always_online": True},
        "slash_commands": [
            {
                "command": "/chatbridge",
                "description": "Open questions, and quiet hours",
                "usage_hint": "pending | history | cancel | quiet | help",
            }
        ],
    },
    "oauth_config": {"scopes": {"bot": [*SCOPES]}},
    "settings": {
        "event_subscriptions": {"bot_events": ["message.im", "message.channels", "message.groups"]},
        "interactivity": {"is_enabled": True},
        "socket_mode_enabled": True,
    },
}
TOKENS = re.compile(f"(?<![A-Za-z0-9-])(?:{BOT_TOKEN}|{APP_TOKEN})")
AGAIN = "Copy both again: the one with xoxb- and the one with xapp-."


def ask(setup: Setup) -> None:
    """Go to a paired person and an answered question, or as far as the person wants."""
    extras.need(EXTRA)
    now = setup.settings.table(SLACK)
    team = _checked(now) if now.on else None
    if team is None or not prompts.confirm(f"Keep the app in {team}?", default=True):
        prompts.explain(ABOUT.format(manifest=json.dumps(MANIFEST, indent=1)))
        _save(setup, _asked(now.api_base))
    elif now.allowed_users:
        prompts.say(f"  Paired: {listed_names(SLACK, now)}")
        if not prompts.confirm("Pair another person?", default=False):
            if prompts.confirm("Send a test question?", default=True):
                restart_hub()
                ask_on_the_phone(SLACK)
            return
    restart_hub()
    assert SLACK.setup is not None
    prompts.explain(f"\nNow pair yourself. {SLACK.setup.pair_hint}")
    if pair(SLACK, question="Is that you?", written=lambda it: setup.keeps(f"{it} in Slack")):
        ask_on_the_phone(SLACK)
    else:
        prompts.say("  To do it later: chatbridge pair slack")


def plan(setup: Setup, given: argparse.Namespace) -> list[Work]:
    people, channels, file = given.slack_user, given.slack_channel, given.slack_token_file
    if file is None and not (people or channels):
        return []
    extras.need(EXTRA)
    now = setup.settings.table(SLACK)
    if file is None and not now.on:
        raise WrongUsage("there is no app yet: --slack-token-file FILE is needed, too")
    try:
        new = Slack.model_validate({"allowed_users": people, "channel_id": channels})
    except ValidationError as error:
        raise WrongUsage(f"--slack-user, --slack-channel: {first_problem(error)}") from None
    table = _table(read_secret(file), now.api_base) if file is not None else None
    if file is not None and table is None:
        raise ChatbridgeError(f"There are no two tokens of Slack in that file. {AGAIN}")
    if table is not None and (wrong := asyncio.run(_look(table))[1]):
        raise ChatbridgeError(f"{wrong}. Nothing was written")
    listed = people_in(setup.path, SLACK)

    def work() -> None:
        if table is not None:
            _save(setup, table)
        # An empty list would keep a variable from naming people.
        lists = {
            ("slack", "allowed_users"): [*dict.fromkeys([*listed.allowed, *new.allowed_users])],
            ("slack", "channel_id"): [*dict.fromkeys([*listed.chats, *new.channel_id])],
        }
        change(setup.path, {key: ids for key, ids in lists.items() if ids})
        if people or channels:
            setup.keeps("who may answer in Slack")

    return [work]


def _save(setup: Setup, table: Slack) -> None:
    for name, value in zip(("bot_token", "app_token"), table.tokens, strict=True):
        secrets.keep(setup.path, "slack", name, value=value)
    setup.keeps("the app's tokens")
    changes: dict[Key, Value] = {("slack", "bot_token"): None, ("slack", "app_token"): None}
    if table.api_base != Slack.model_fields["api_base"].default:
        changes["slack", "api_base"] = table.api_base
    change(setup.path, changes)


def _table(pasted: str, base: str) -> Slack | None:
    """With the two tokens in what was pasted."""
    found = {each[:4]: SecretStr(each) for each in TOKENS.findall(pasted)}
    if found.keys() != {"xoxb", "xapp"}:
        return None
    return Slack(bot_token=found["xoxb"], app_token=found["xapp"], api_base=base)


def _asked(base: str) -> Slack:
    while True:
        both = [
            prompts.hidden(f"Paste the token with {it} (not shown):") for it in ("xoxb-", "xapp-")
        ]
        prompts.forget_typed()
        table = _table(" ".join(both), base)
        if table is None:
            prompts.bad("Those are not the two tokens.", AGAIN)
        elif _checked(table) is not None:
            return table


def _checked(table: Slack) -> str | None:
    """The workspace's name if the app can be used; else what is wrong is said."""
    team, wrong = asyncio.run(_look(table))
    if wrong:
        prompts.bad(prompts.shown(wrong))
        return None
    prompts.good(f"the app in {prompts.shown(team)} answers")
    return prompts.shown(team)


async def _look(table: Slack) -> tuple[str, str]:
    """The workspace's name, and what is wrong with the app."""
    async with opened(table) as api:
        try:
            me = await api.me()
            await api.connection()
        except ChatbridgeError as error:
            return "", str(error).partition(", then run:")[0]
    return me.name, f"The app lacks scopes: {', '.join(me.missing)}" if me.missing else ""
