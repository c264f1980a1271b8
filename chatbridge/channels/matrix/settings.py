"""The table of Matrix: a bot's account, the rooms that it brings cards to, and who may answer."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    SecretStr,
    model_validator,
)
from pydantic_settings import NoDecode

from chatbridge.setting_rules import address, each, matching, token

SERVER = r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
USER_ID = re.compile(rf"(?=.{{1,255}}\Z)@[!-)+-9;-~]+:{SERVER}")
"""Without an asterisk: a pattern such as @*:example.org would be taken and match nobody."""
ROOM_ID = rf"(?=.{{1,255}}\Z)![!-9;-~]+(?::{SERVER})?"
"""From room version 12 on without a server."""
ACCEPTED = "an https:// address without a path, such as https://matrix.example.org"
SHORT_NAME = re.compile(r"(?!(?:[0-9]+|0x[0-9a-f]*)\Z)[a-z0-9-]+")
"""Only a network of one's own knows it. What looks like a number would be read as an address."""


def _homeserver(value: str | None) -> str | None:
    given = value.strip() if value else ""
    if not given:
        return None
    parts = address(given if "://" in given else f"https://{given}", accepted=ACCEPTED)
    if not re.fullmatch(SERVER, parts.netloc):
        raise ValueError(f"accepted: {ACCEPTED}")
    if parts.path.strip("/"):
        raise ValueError("leave out the path: chatbridge adds /_matrix by itself")
    if parts.scheme == "http" and not _is_near(parts.hostname or ""):
        raise ValueError(
            "over http:// everybody on the way could read the bot's token. Use https://, or within "
            "your own network an address such as http://synapse:8008 or http://192.168.1.2:8008"
        )
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _is_near(host: str) -> bool:
    """On this computer, or in a network of one's own: containers, a home."""
    try:
        at = ip_address(host)
    except ValueError:
        return SHORT_NAME.fullmatch(host) is not None
    at = getattr(at, "ipv4_mapped", None) or at
    return at.is_private and not at.is_unspecified


def _bot_id(value: str | None) -> str | None:
    given = value.strip() if value else ""
    if given and not USER_ID.fullmatch(given):
        raise ValueError("accepted: the bot's whole id, such as @bot:example.org")
    return given or None


_people = each(
    matching(USER_ID.pattern),
    problem="people are given by their whole ids, such as @ada:example.org: a display name is "
    "none, because anybody can take it. Your app shows yours in its settings, at your profile",
)
_rooms = each(
    matching(ROOM_ID),
    problem="rooms are given by their ids, such as !AbCdEf:example.org: an address such as "
    "#team:example.org can be moved to another room. Element shows the id in the room's settings, "
    'under Advanced, as "Internal room ID"',
)
_access_token = token(
    r"[!-~]+", problem="this is no access token: it is one long row of letters, digits and signs"
)


def _password(value: SecretStr | None) -> SecretStr | None:
    # Spaces may be part of it; the end of the line it was written with is not.
    password = value.get_secret_value().rstrip("\r\n") if value else ""
    return SecretStr(password) if password else None


class Matrix(BaseModel):
    """Off without a homeserver and a user id."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    homeserver: Annotated[str | None, AfterValidator(_homeserver)] = None
    user_id: Annotated[str | None, AfterValidator(_bot_id)] = None
    access_token: Annotated[SecretStr | None, AfterValidator(_access_token)] = None
    password: Annotated[SecretStr | None, AfterValidator(_password)] = None
    """Only where there is no access token."""
    allowed_users: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_people)] = ()
    room_id: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_rooms)] = ()
    reactions: bool = True

    @property
    def on(self) -> bool:
        return self.homeserver is not None and self.user_id is not None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """Whoever has set two of the three things that a log-in needs has forgotten the third."""
        secret = self.access_token or self.password
        needed = (
            (self.homeserver, "homeserver is missing: an address such as https://example.org"),
            (self.user_id, "user_id is missing: the bot's id, such as @bot:example.org"),
            (secret, "the bot cannot log in: set access_token, or password, which is used once"),
        )
        missing = [problem for value, problem in needed if value is None]
        if len(missing) == 1:
            raise ValueError(f"{missing[0]}. For no Matrix, leave out homeserver and user_id")
        return self
