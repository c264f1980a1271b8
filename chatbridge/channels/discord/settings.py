"""The table of Discord: a bot, where it brings cards to, and who may answer."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, SecretStr
from pydantic_settings import NoDecode

from chatbridge.setting_rules import api_address, each, number, token

FORM = r"[A-Za-z0-9_=-]{18,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{20,}"

_bot_token = token(
    FORM,
    problem="this is no bot's token. The Developer Portal shows one under Bot, Reset Token: three "
    "rows of letters and digits with dots between them",
)
_id = number(1, 2**63 - 1)
_HOW = "turn on Developer Mode in Discord's settings (Advanced), then right-click and Copy"
_people = each(
    _id, problem=f"people are given by their ids, which are numbers: {_HOW} User ID, or pair"
)
_channels = each(
    _id, problem=f"channels are given by their ids, which are numbers: {_HOW} Channel ID"
)
_base = api_address("https://discord.com/api")


class Discord(BaseModel):
    """Off without a token."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    token: Annotated[SecretStr | None, AfterValidator(_bot_token)] = None
    allowed_users: Annotated[tuple[int, ...], NoDecode, BeforeValidator(_people)] = ()
    channel_id: Annotated[tuple[int, ...], NoDecode, BeforeValidator(_channels)] = ()
    api_base: Annotated[str, AfterValidator(_base)] = "https://discord.com/api"
