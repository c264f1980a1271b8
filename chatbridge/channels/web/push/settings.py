"""The table [push]: what a notification may say, and where one may be sent."""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict
from pydantic_settings import NoDecode

from chatbridge.setting_rules import address, is_loopback, listed

SERVICES = (
    "fcm.googleapis.com",  # Chrome, and most others that are made of Chromium
    "jmt17.google.com",  # Chromium without Google's keys, as Linux distributions build it
    "*.push.services.mozilla.com",  # Firefox
    "*.push.apple.com",  # Safari, and apps on an iPhone's home screen
    "*.notify.windows.com",  # Edge
)
Detail = Literal["all", "project", "nothing"]

_HOST = re.compile(r"(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]")
_BELOW = re.compile(r"((?!xn--)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+")
"""What may stand for the star. A name that cannot be decoded would fail whenever it is to ring."""
_ACCEPTED = (
    "hosts such as fcm.googleapis.com or *.push.apple.com, or an address on this computer such as "
    "http://127.0.0.1:8080"
)


def _service(value: str) -> str:
    """A host, which is then reached by HTTPS, or the origin of a service on this computer."""
    entry = value.strip().lower().rstrip("/")
    if "://" not in entry:
        if not _HOST.fullmatch(entry):
            raise ValueError(f"accepted: {_ACCEPTED}")
        return entry
    parts = address(entry, accepted=_ACCEPTED)
    if parts.path or not is_loopback(parts.hostname or ""):
        raise ValueError(f"accepted: {_ACCEPTED}")
    return entry


def _services(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_service, values)))


def _contact(value: str) -> str:
    given = value.strip()
    if given and not re.fullmatch(r"mailto:[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+|https://\S+\.\S+", given):
        raise ValueError("accepted: mailto:you@example.org, or an https:// address")
    return given


class Push(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    detail: Detail = "all"
    """What a notification says: the question, whose it is, or only that there is one."""
    services: Annotated[
        tuple[str, ...], NoDecode, BeforeValidator(listed), AfterValidator(_services)
    ] = SERVICES
    """Where a browser's push service may be."""
    contact: Annotated[str, AfterValidator(_contact)] = ""
    """How a push service reaches who sends."""

    def allows(self, endpoint: str) -> bool:
        """Whether pushes may be sent there. A browser says where that is, and so could somebody
        who wants this computer to send requests elsewhere."""
        try:
            parts = urlsplit(endpoint)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            return False
        if not endpoint.isascii() or not endpoint.isprintable() or " " in endpoint:
            return False
        if "@" in parts.netloc or "\\" in endpoint:
            return False
        if f"{parts.scheme}://{parts.netloc}".lower() in self.services:
            return True
        if parts.scheme != "https" or port not in (None, 443):
            return False
        return any(
            _BELOW.fullmatch(host.removesuffix(entry[2:])) if entry[:2] == "*." else host == entry
            for entry in self.services
        )
