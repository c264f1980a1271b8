"""The table `[voice]`: who turns voice messages into text. Nobody, unless it says so."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
)
from pydantic_settings import NoDecode

from chatbridge.durations import seconds
from chatbridge.setting_rules import is_host, listed

FILE = "{file}"
"""Stands for the recording in a command."""


def _address(value: str) -> str:
    parts = urlsplit(value.strip())
    host = parts.hostname or ""
    if value and (parts.scheme not in ("http", "https") or not host or not is_host(host)):
        raise ValueError("accepted: such as http://127.0.0.1:8000/v1/audio/transcriptions")
    return value.strip()


class Voice(BaseModel):
    """Off without an address and without a command. The address comes first."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    url: Annotated[str, AfterValidator(_address)] = ""
    model: str = "whisper-1"
    key: SecretStr | None = None
    language: str = ""
    """Such as `en`. Empty: the endpoint finds out."""
    command: Annotated[tuple[str, ...], NoDecode, BeforeValidator(listed)] = ()
    timeout: Annotated[float, BeforeValidator(seconds), Field(ge=1, le=600)] = 60.0
