"""Slack: both tokens, the scopes, and each conversation. Opens no connection of its own: it would
take some of the hub's taps."""

from __future__ import annotations

from chatbridge.channels.bot_checks import ANSWER_SECONDS, BotCheck
from chatbridge.channels.checks import Finding
from chatbridge.channels.slack.api import Api, Me
from chatbridge.channels.slack.settings import Slack
from chatbridge.channels.slack.spec import SLACK


class SlackCheck(BotCheck[Slack]):
    called = "the app in {}"
    let_in = "in Slack, in that channel: /invite @chatbridge"

    def open(self, table: Slack) -> Api:
        hint = "slack.bot_token and slack.app_token"
        return Api(*table.tokens, base=table.api_base, hint=hint, patience=ANSWER_SECONDS)

    def lacking(self, me: Me) -> str:
        return me.lacking

    async def look_closer(self, api: Api, told: str | None) -> list[Finding]:
        await api.connection()  # nobody uses it, and it ends by itself
        return []


CHECK = SlackCheck(SLACK)
check, names = CHECK.check, CHECK.names
