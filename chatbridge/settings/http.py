"""Settings of MCP over HTTP: where agents of other machines can connect, and under which names."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict
from pydantic_settings import NoDecode

from chatbridge.settings.tools import Seconds
from chatbridge.settings.values import listed

ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})")
NAME = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")


def host_and_port(address: str) -> tuple[str, int]:
    """:raises ValueError: with what is accepted."""
    found = ADDRESS.fullmatch(address.strip())
    if not found or not 1 <= int(found["port"]) <= 65535:
        raise ValueError("accepted: an address and a port, such as 127.0.0.1:8788 or [::1]:8788")
    return found["host"].strip("[]"), int(found["port"])


def _address(value: str | None) -> str | None:
    if value is None or not value.strip():
        return None
    host_and_port(value)
    return value.strip()


def _names(values: tuple[str, ...]) -> tuple[str, ...]:
    if any(not NAME.fullmatch(value) for value in values):
        raise ValueError("accepted: names as in an address, such as agents.example.org")
    return values


class Http(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    address: Annotated[str | None, AfterValidator(_address)] = None
    """None: no MCP over HTTP."""
    hosts: Annotated[
        tuple[str, ...], NoDecode, BeforeValidator(listed), AfterValidator(_names)
    ] = ()
    limit: Seconds = 60.0
