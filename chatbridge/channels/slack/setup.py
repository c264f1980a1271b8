"""Slack's part of `chatbridge setup`: an app of one's own, and who may answer."""

from __future__ import annotations

import json

from chatbridge.channels.slack.api import SCOPES
from chatbridge.channels.slack.doctor import CHECK
from chatbridge.channels.slack.settings import APP_TOKEN, BOT_TOKEN, Slack
from chatbridge.channels.slack.spec import SLACK
from chatbridge.cli.setup.bots import BotSetup, Token, only

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
                "description": "Open questions, agents and quiet hours",
                "usage_hint": "pending | history | cancel | agents | tell | quiet | help",
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
ABOUT = """\
Slack needs an app of your own:
  1. Open https://api.slack.com/apps?new_app=1, choose “From a manifest” and your workspace, and \
paste this as JSON:
"""
THEN = """
  2. Install the app. Under OAuth & Permissions, copy the token that begins with xoxb-
  3. Under Basic Information, App-Level Tokens, make one with the scope connections:write, and \
copy it: it begins with xapp-
"""


async def connect(table: Slack) -> str:
    async with CHECK.open(table) as api:
        await api.connection()  # nobody uses it, and it ends by itself
    return "Socket Mode"


SETUP = BotSetup(
    spec=SLACK,
    about=ABOUT,
    to_paste=json.dumps(MANIFEST, indent=1),
    then=THEN,
    tokens=[
        Token(
            setting="bot_token",
            find=only(BOT_TOKEN),
            called="token with xoxb-",
            look=CHECK.name,
            again="Copy it from your app at api.slack.com/apps, under OAuth & Permissions.",
        ),
        Token(
            setting="app_token",
            find=only(APP_TOKEN),
            called="token with xapp-",
            look=connect,
            again="Make one under Basic Information, App-Level Tokens, with connections:write.",
        ),
    ],
    keep="Keep {}?",
)
ask, plan = SETUP.ask, SETUP.plan
