"""What the owner has set: in `config.toml`, over it in credentials, over both in variables.

Owns names, defaults and checks. What the settings mean is up to those who are given them;
`config/chatbridge.example.toml` documents every key.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
)
from pydantic_settings import (
    BaseSettings,
    NestedSecretsSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from pydantic_settings import SettingsError as UnreadableVariable

from chatbridge import rendezvous
from chatbridge.core.errors import SettingsError
from chatbridge.core.policy import DAY, HOUR, Policy
from chatbridge.durations import LONGEST, seconds

TOOLS = ("ask_user", "wait_for_answer")
SQLITE = "sqlite:///"
BOT_TOKEN = re.compile(r"[0-9]{1,16}:[A-Za-z0-9_-]{8,}")
NUMBER = re.compile(r"-?[0-9]{1,16}")
MAX_ID = 2**52
"""Telegram's ids stay below it."""


def _listed(value: object) -> object:
    """A list, also as JSON or comma-separated text."""
    if isinstance(value, str) and not value.lstrip().startswith("["):
        return [part.strip() for part in value.split(",") if part.strip()]
    return tomllib.loads(f"x = {value}")["x"] if isinstance(value, str) else value


def _known_tools(names: tuple[str, ...]) -> tuple[str, ...]:
    if unknown := [name for name in names if name not in TOOLS]:
        raise ValueError(f"there is no tool {unknown[0]!r}; there are: {', '.join(TOOLS)}")
    return names


def _sqlite_address(value: str) -> str:
    # Without the value: the address of another kind of store has a password in it.
    if len(value) <= len(SQLITE) or not value.startswith(SQLITE):
        raise ValueError(f"accepted: {SQLITE}path/to/file.db")
    return value


def _numbers(value: object) -> tuple[int | None, ...]:
    """One number, or a list of them. None stands for what is none, so that no message has the
    value: it may be a token in the wrong place."""
    found = _listed([value] if isinstance(value, int) else value)
    return tuple(map(_number, found)) if isinstance(found, list | tuple) else (None,)


def _number(item: object) -> int | None:
    if isinstance(item, str) and NUMBER.fullmatch(item.strip()):
        item = int(item)
    if not isinstance(item, int) or isinstance(item, bool):
        return None
    return item if 0 < abs(item) < MAX_ID else None


def _chats(value: object) -> tuple[int | None, ...]:
    found = _numbers(value)
    if None in found:
        raise ValueError(
            "chats are given by their numbers, those of groups with the minus sign, such as "
            "-1001234567890; a name such as @team is none"
        )
    return tuple(dict.fromkeys(found))


def _people(value: object) -> tuple[int | None, ...]:
    found = _numbers(value)
    if any(number is None or number < 0 for number in found):
        raise ValueError(
            "people are given by their numbers: a name such as @ada can be given up, and somebody "
            "else can take it. To find yours, send /start to the bot: the hub's log then shows it"
        )
    return tuple(dict.fromkeys(found))


def _bot_token(value: SecretStr | None) -> SecretStr | None:
    token = value.get_secret_value().strip() if value else ""
    if not token:
        return None
    if not BOT_TOKEN.fullmatch(token):
        raise ValueError(
            "this is no bot's token. @BotFather gives you one: a number, a colon and a long row of "
            "letters and digits"
        )
    return SecretStr(token)


def _bot_api(value: str) -> str:
    # No message has the value: people put tokens and passwords into addresses.
    address = value.strip().rstrip("/")
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment or re.search(r"\s", address):
        raise ValueError("accepted: an http:// or https:// address, such as http://127.0.0.1:8081")
    if "@" in parts.netloc:
        raise ValueError("the address must have no user and no password in it")
    if re.search(r"/bot([0-9]+(:|%3a)|$)", parts.path, re.IGNORECASE):
        raise ValueError("leave out /bot and what follows it: chatbridge adds it by itself")
    return address


Seconds = Annotated[float, BeforeValidator(seconds), Field(gt=0, le=LONGEST)]
Tools = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_known_tools)]
LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"],
    BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value),
]


class Web(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    enabled: bool = True
    host: str = "127.0.0.1"
    port: int | None = Field(default=None, ge=1, le=65535)
    token: SecretStr | None = None


class Telegram(BaseModel):
    """Off without a token."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    token: Annotated[SecretStr | None, AfterValidator(_bot_token)] = None
    allowed_users: Annotated[tuple[int, ...], NoDecode, BeforeValidator(_people)] = ()
    chat_id: Annotated[tuple[int, ...], NoDecode, BeforeValidator(_chats)] = ()
    topics: bool = False
    api_base: Annotated[str, AfterValidator(_bot_api)] = "https://api.telegram.org"


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="CHATBRIDGE_",
        env_nested_delimiter="__",
        extra="forbid",
        hide_input_in_errors=True,
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
    tools: Tools = TOOLS
    store: Annotated[str, AfterValidator(_sqlite_address)] | None = None
    log_level: LogLevel = "info"
    web: Web = Web()
    telegram: Telegram = Telegram()

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

    def secrets(self) -> tuple[str, ...]:
        """What may be in nothing that is written."""
        found = (self.web.token, self.telegram.token)
        return tuple(secret.get_secret_value() for secret in found if secret)

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
        """Where the SQLite database is."""
        if self.store is None:
            return state_dir / "chatbridge.db"
        return Path("/" + self.store.removeprefix(SQLITE).lstrip("/"))


def load(config: Path | None = None) -> Settings:
    """The settings in force.

    :raises SettingsError: naming the file and the key.
    """
    path = config or Path(rendezvous.config_path())
    try:
        settings = Settings(**_read(path))
    except ValidationError as error:
        raise SettingsError(_explained(error, path)) from None
    except UnreadableVariable as error:
        raise SettingsError(f"{error}. Check the CHATBRIDGE_ variables") from None
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
            problems.append(f"{key}: {item['msg'].removeprefix('Value error, ')}")
    listed = "; ".join(problems)
    return (
        f"{listed}. Check {path} and the CHATBRIDGE_ variables; "
        "config/chatbridge.example.toml explains every key"
    )
