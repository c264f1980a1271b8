"""The table of Telegram: a bot, the chats that it brings cards to, and who may answer."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, SecretStr
from pydantic_settings import NoDecode

from chatbridge.setting_rules import api_address, each, number, token

MAX_ID = 2**52 - 1  # Telegram's ids have 52 bits at most

_bot_token = token(
    r"[0-9]{1,16}:[A-Za-z0-9_-]{8,}",
    problem="this is no bot's token. @BotFather gives you one: a number, a colon and a long row of "
    "letters and digits",
)
_chats = each(
    number(-MAX_ID, MAX_ID),
    problem="chats are given by their numbers, those of groups with the minus sign, such as "
    "-1001234567890; a name such as @team is none",
)
_people = each(
    number(1, MAX_ID),
    problem="people are given by their numbers: a name such as @ada can be given up, and somebody "
    "else can take it. To find yours, send /start to the bot: the hub's log then shows it",
)
_address = api_address("http://127.0.0.1:8081")


def _bot_api(value: str) -> str:
    base = _address(value)
    if re.search(r"/bot([0-9]+(:|%3a)|$)", base.partition("://")[2], re.IGNORECASE):
        raise ValueError("leave out /bot and what follows it: chatbridge adds it by itself")
    return base


class Telegram(BaseModel):
    """Off without a token."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    token: Annotated[SecretStr | None, AfterValidator(_bot_token)] = None
    allowed_users: Annotated[tuple[int, ...], NoDecode, BeforeValidator(_people)] = ()
    chat_id: Annotated[tuple[int, ...], NoDecode, BeforeValidator(_chats)] = ()
    topics: bool = False
    api_base: Annotated[str, AfterValidator(_bot_api)] = "https://api.telegram.org"
