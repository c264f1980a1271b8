"""Slack: both tokens, the scopes, and each conversation. Opens no connection of its own: it would
take some of the hub's taps."""

from __future__ import annotations

from chatbridge.channels.bot_checks import ANSWER_SECONDS, BotCheck
from chatbridge.channels.checks import Finding, problem
from chatbridge.channels.slack.api import Api, missing_scopes
from chatbridge.channels.slack.settings import Slack
from chatbridge.channels.slack.spec import SLACK

REINSTALL = "Add them at api.slack.com/apps under OAuth & Permissions, and reinstall the app"


class SlackCheck(BotCheck[Slack]):
    called = "the app in {}"
    let_in = "in Slack, in that channel: /invite @chatbridge"

    def open(self, table: Slack) -> Api:
        hint = "slack.bot_token and slack.app_token"
        return Api(*table.tokens, base=table.api_base, hint=hint, patience=ANSWER_SECONDS)

    async def look_closer(self, api: Api, told: str | None) -> list[Finding]:
        await api.connection()  # nobody uses it, and it ends by itself
        missing = missing_scopes((await api.me()).scopes)
        what = f"the app lacks scopes: {', '.join(missing)}"
        return [problem("slack", what, REINSTALL)] if missing else []


CHECK = SlackCheck(SLACK)
check, names = CHECK.check, CHECK.names
