"""What the owner has set: `config.toml`, then `CHATBRIDGE_…` variables, then credentials.

Owns names, defaults and checks. What the settings mean is up to those who are given them;
`config/chatbridge.example.toml` documents every key.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    NestedSecretsSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from chatbridge import rendezvous
from chatbridge.core.errors import SettingsError
from chatbridge.core.policy import DAY, HOUR, Policy

_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": HOUR, "d": DAY}
TOOLS = ("ask_user", "wait_for_answer")


def seconds(value: object) -> object:
    """`90`, `"90"`, `"90 s"`, `"15min"`, `"8h"`, `"90d"`, as seconds."""
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h|d)?\s*", value)
        if match is None:
            raise ValueError('give seconds, or a number with a unit such as "15min", "8h", "90d"')
        return float(match[1]) * _UNITS[match[2] or "s"]
    return value


def _listed(value: object) -> object:
    """A list, also as JSON or comma-separated text."""
    if isinstance(value, str) and not value.lstrip().startswith("["):
        return [part.strip() for part in value.split(",") if part.strip()]
    return tomllib.loads(f"x = {value}")["x"] if isinstance(value, str) else value


Seconds = Annotated[float, BeforeValidator(seconds), Field(gt=0)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]


class Web(BaseModel):
    model_config = ConfigDict(extra="forbid")

    enabled: bool = True
    host: str = "127.0.0.1"
    port: int | None = Field(default=None, ge=1, le=65535)
    token: SecretStr | None = None


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="CHATBRIDGE_",
        env_nested_delimiter="__",
        extra="forbid",
    )

    enabled: bool = True
    default_timeout: Seconds = 300.0
    max_timeout: Seconds = 1800.0
    min_timeout: Seconds = 10.0
    max_block: Seconds | None = None
    late_answer_ttl: Seconds = 12 * HOUR
    max_open_asks: int = Field(default=20, ge=1)
    on_cancel: Literal["keep", "withdraw"] = "keep"
    on_timeout: Literal["never", "declared"] = "never"
    retention: Seconds = 90 * DAY
    tools: Names = TOOLS
    store: str | None = None
    web: Web = Web()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        credentials = os.environ.get("CREDENTIALS_DIRECTORY")
        if credentials is None:
            return (env_settings, init_settings)
        secrets = NestedSecretsSettingsSource(
            file_secret_settings,
            secrets_dir=credentials,
            secrets_prefix="chatbridge_",
            secrets_nested_delimiter="__",
        )
        return (env_settings, secrets, init_settings)

    def policy(self) -> Policy:
        return Policy(
            default_timeout=self.default_timeout,
            min_timeout=self.min_timeout,
            max_timeout=self.max_timeout,
            max_block=self.max_block,
            late_answer_ttl=self.late_answer_ttl,
            max_open_asks=self.max_open_asks,
            withdraw_on_cancel=self.on_cancel == "withdraw",
            declared_defaults=self.on_timeout == "declared",
            retention=self.retention,
        )

    def database(self, state_dir: Path) -> Path:
        """Where the SQLite database is.

        :raises SettingsError: the store is of a kind that is not built in.
        """
        if self.store is None:
            return state_dir / "chatbridge.db"
        prefix = "sqlite:///"
        if not self.store.startswith(prefix):
            kind = self.store.split(":", 1)[0]
            raise SettingsError(f"store: {kind} is not known; accepted: {prefix}path/to/file.db")
        return Path("/" + self.store.removeprefix(prefix).lstrip("/"))


def load(config: Path | None = None) -> Settings:
    """The settings in force.

    :raises SettingsError: naming the file and the key.
    """
    path = config or Path(rendezvous.config_path())
    try:
        settings = Settings(**_read(path))
    except ValidationError as error:
        raise SettingsError(_explained(error, path)) from None
    if not settings.min_timeout <= settings.default_timeout <= settings.max_timeout:
        raise SettingsError(
            f"min_timeout ({settings.min_timeout:g} s), default_timeout "
            f"({settings.default_timeout:g} s) and max_timeout ({settings.max_timeout:g} s) must "
            f"rise in this order. Check {path}"
        )
    return settings


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"the configuration {path} cannot be read: {error}") from None


def _explained(error: ValidationError, path: Path) -> str:
    """Each problem with its key. Values are left out: one of them may be a token."""
    problems = []
    for item in error.errors(include_input=False, include_url=False):
        key = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            problems.append(f"{key} is not a setting")
        else:
            problems.append(f"{key}: {item['msg']}")
    listed = "; ".join(problems)
    return (
        f"{listed}. Check {path} and the CHATBRIDGE_ variables; "
        "config/chatbridge.example.toml explains every key"
    )
