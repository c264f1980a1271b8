"""The table of the web inbox."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
)

from chatbridge.setting_rules import address, is_host


def _host(value: str) -> str:
    if not is_host(value):
        raise ValueError("accepted: an address or a name of this computer, such as 127.0.0.1")
    return value


def _url(value: str | None) -> str | None:
    if not value:
        return None
    accepted = "an address without a path, such as https://inbox.example.org"
    parts = address(value.strip().rstrip("/"), accepted=accepted)
    if parts.path:
        raise ValueError(f"accepted: {accepted}")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _file(value: object) -> object:
    return Path(value).expanduser() if isinstance(value, str) and value else value or None


def _whole(value: Path | None) -> Path | None:
    # A hub starts in any folder.
    if value is not None and not value.is_absolute():
        raise ValueError("accepted: a whole path, such as /etc/ssl/inbox/fullchain.pem")
    return value


File = Annotated[Path | None, BeforeValidator(_file), AfterValidator(_whole)]


class Web(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    enabled: bool = True
    host: Annotated[str, AfterValidator(_host)] = "127.0.0.1"
    port: int | None = Field(default=None, ge=1, le=65535)
    url: Annotated[str | None, AfterValidator(_url)] = None
    """Where it is seen from elsewhere: through a proxy, or with its own certificate."""
    tls_cert: File = None
    tls_key: File = None
    """Without it: in the certificate's file."""
    token: SecretStr | None = None
