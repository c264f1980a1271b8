"""The table of Slack: an app's two tokens, where cards go, and who may answer."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, SecretStr
from pydantic_settings import NoDecode

from chatbridge.setting_rules import address, each, token

USER = re.compile(r"[UW][A-Z0-9]{6,20}")
CHANNEL = re.compile(r"[CG][A-Z0-9]{6,20}")
BOT_TOKEN, APP_TOKEN = r"xoxb-[A-Za-z0-9-]{8,}", r"xapp-[A-Za-z0-9-]{8,}"

_bot_token = token(
    BOT_TOKEN,
    problem="this is no bot's token. It begins with xoxb- and is under OAuth & Permissions of your "
    "app at api.slack.com/apps",
)
_app_token = token(
    APP_TOKEN,
    problem="this is no app-level token. It begins with xapp- and is under Basic Information of "
    "your app at api.slack.com/apps",
)


def _matching(form: re.Pattern[str], item: object) -> str | None:
    text = item.strip() if isinstance(item, str) else ""
    return text if form.fullmatch(text) else None


_channels = each(
    lambda item: _matching(CHANNEL, item),
    problem="channels are given by their ids, such as C0123456789: in Slack, open the channel's "
    "details; the id is at the bottom. For a conversation with each person, leave the list empty",
)
_people = each(
    lambda item: _matching(USER, item),
    problem="people are given by their member ids, such as U0123456789: in Slack, open the "
    "profile, then ⋮ and “Copy member ID”; a name such as @ada is none",
)


def _web_api(value: str) -> str:
    base = value.strip().rstrip("/")
    address(base, accepted="an http:// or https:// address, such as https://slack.com/api/")
    return f"{base}/"


class Slack(BaseModel):
    """Off without both tokens."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    bot_token: Annotated[SecretStr | None, AfterValidator(_bot_token)] = None
    app_token: Annotated[SecretStr | None, AfterValidator(_app_token)] = None
    allowed_users: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_people)] = ()
    channel_id: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_channels)] = ()
    api_base: Annotated[str, AfterValidator(_web_api)] = "https://slack.com/api/"

    @property
    def on(self) -> bool:
        return self.bot_token is not None and self.app_token is not None

    @property
    def tokens(self) -> tuple[str, str]:
        assert self.bot_token is not None
        assert self.app_token is not None
        return self.bot_token.get_secret_value(), self.app_token.get_secret_value()

    @property
    def app(self) -> str:
        """The app's id, which is a public part of its token."""
        parts = self.app_token.get_secret_value().split("-") if self.app_token else []
        return parts[2] if len(parts) > 3 else ""
