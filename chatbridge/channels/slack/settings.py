"""The table of Slack: an app's two tokens, where cards go, and who may answer."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, SecretStr
from pydantic_settings import NoDecode

from chatbridge.setting_rules import api_address, each, matching, token

BOT_TOKEN, APP_TOKEN = r"xoxb-[A-Za-z0-9-]{8,}", r"xapp-[A-Za-z0-9-]{8,}"
PROBLEM = "this is no token that begins with {}. Your app at api.slack.com/apps has it under {}"

_bot_token = token(BOT_TOKEN, problem=PROBLEM.format("xoxb-", "OAuth & Permissions"))
_app_token = token(APP_TOKEN, problem=PROBLEM.format("xapp-", "Basic Information"))
_channels = each(
    matching(r"[CG][A-Z0-9]{6,20}"),
    problem="channels are given by their ids, such as C0123456789: in Slack, open the channel's "
    "details; the id is at the bottom. For a conversation with each person, leave the list empty",
)
_people = each(
    matching(r"[UW][A-Z0-9]{6,20}"),
    problem="people are given by their member ids, such as U0123456789: in Slack, open the "
    "profile, then ⋮ and “Copy member ID”; a name such as @ada is none",
)
_web_api = api_address("https://slack.com/api/")


class Slack(BaseModel):
    """Off without both tokens."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    bot_token: Annotated[SecretStr | None, AfterValidator(_bot_token)] = None
    app_token: Annotated[SecretStr | None, AfterValidator(_app_token)] = None
    allowed_users: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_people)] = ()
    channel_id: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_channels)] = ()
    api_base: Annotated[str, AfterValidator(_web_api)] = "https://slack.com/api/"

    @property
    def tokens(self) -> tuple[str, str]:
        """Those of the bot and of the app; empty where there is none."""
        bot, app = (it.get_secret_value() if it else "" for it in (self.bot_token, self.app_token))
        return bot, app

    @property
    def app(self) -> str:
        """The app's id, which is a public part of its token."""
        parts = self.tokens[1].split("-")
        return parts[2] if len(parts) > 3 else ""
