"""The table of the web inbox."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from chatbridge.setting_rules import address


def _url(value: str | None) -> str | None:
    if not value:
        return None
    accepted = "an address without a path, such as https://inbox.example.org"
    parts = address(value.strip().rstrip("/"), accepted=accepted)
    if parts.path:
        raise ValueError(f"accepted: {accepted}")
    return f"{parts.scheme}://{parts.netloc.lower()}"


class Web(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    enabled: bool = True
    host: str = "127.0.0.1"
    port: int | None = Field(default=None, ge=1, le=65535)
    url: Annotated[str | None, AfterValidator(_url)] = None
    """Where a proxy before it serves it."""
    token: SecretStr | None = None
