"""The table of Discord: a bot, where it brings cards to, and who may answer."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, SecretStr
from pydantic_settings import NoDecode

from chatbridge.setting_rules import address, each, token

MAX_ID = 2**63
TOKEN = re.compile(r"[A-Za-z0-9_=-]{18,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{20,}")

_bot_token = token(
    TOKEN.pattern,
    problem="this is no bot's token. The Developer Portal shows one under Bot, Reset Token: three "
    "rows of letters and digits with dots between them",
)


def _id(item: object) -> int | None:
    if isinstance(item, str) and item.strip().isascii() and item.strip().isdigit():
        item = int(item.strip()[:20])
    if not isinstance(item, int) or isinstance(item, bool):
        return None
    return item if 0 < item < MAX_ID else None


_HOW = "turn on Developer Mode in Discord's settings (Advanced), then right-click and Copy"
_people = each(
    _id, problem=f"people are given by their ids, which are numbers: {_HOW} User ID, or pair"
)
_channels = each(
    _id, problem=f"channels are given by their ids, which are numbers: {_HOW} Channel ID"
)


def _base(value: str) -> str:
    base = value.strip().rstrip("/")
    address(base, accepted="an http:// or https:// address, such as https://discord.com/api")
    return base


class Discord(BaseModel):
    """Off without a token."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    token: Annotated[SecretStr | None, AfterValidator(_bot_token)] = None
    allowed_users: Annotated[tuple[int, ...], NoDecode, BeforeValidator(_people)] = ()
    channel_id: Annotated[tuple[int, ...], NoDecode, BeforeValidator(_channels)] = ()
    api_base: Annotated[str, AfterValidator(_base)] = "https://discord.com/api"
