"""The settings: names, defaults and checks. `config/chatbridge.example.toml` documents every key.

Variables count over credentials, these over the secrets beside `config.toml`, and these over the
file itself. The exception are settings that decide who may allow what: see `authority`.

    tools: the tables of tools, commands and agents over HTTP
    nights: the tables of quiet hours, reminders and the summary
    store: the address of the database
    people: the lists of people and routes
    cluster: the table of several hubs with one database
    secrets: the folder of secrets beside the configuration file
    authority: settings that variables must not widen
    mistakes: what is wrong with settings, where, and what was probably meant

Each channel has a table, which is in its own folder: `Settings.table`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from functools import cache, reduce
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    create_model,
)
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableVariable

from chatbridge import bounded_read, runtime_paths
from chatbridge.attachments.settings import AttachmentLimits
from chatbridge.channels.registry import channel_specs, plugin_problems
from chatbridge.channels.spec import ChannelSpec, text_of
from chatbridge.channels.web.push.settings import Push
from chatbridge.core.errors import SettingsError
from chatbridge.core.nights.nights import Nights
from chatbridge.core.people.team import Team
from chatbridge.core.policy import DAY, HOUR, Policy
from chatbridge.core.text import did_you_mean, one_line
from chatbridge.setting_rules import listed
from chatbridge.settings import authority, mistakes, secrets
from chatbridge.settings.cluster import Cluster
from chatbridge.settings.nights import Quiet, Reminders, Summary, night_policy
from chatbridge.settings.people import (
    PersonTable,
    RouteTable,
    joined_people,
    person_table,
    problems_with,
    specs_with_people,
    team_of,
)
from chatbridge.settings.store import POSTGRESQL, SQLITE, Database, passwords_in
from chatbridge.settings.tools import (
    Approvals,
    Audit,
    Claude,
    ClientLimits,
    Commands,
    Http,
    Journal,
    Messages,
    Seconds,
)
from chatbridge.tool_names import TOOLS
from chatbridge.voice.settings import Voice

MAX_FILE_BYTES = 64 * 1024
"""Of the configuration file; with all that can be set and explained it has a fifth of that."""
MAX_UNDO_SECONDS = 60.0
MAX_REPLIES, MAX_REPLY_CHARACTERS = 6, 60


def _known_tools(names: tuple[str, ...]) -> tuple[str, ...]:
    if unknown := [name for name in names if name not in TOOLS]:
        near = did_you_mean(unknown[0], TOOLS, before="; ")
        raise ValueError(f"there is no tool {unknown[0]!r}; there are: {', '.join(TOOLS)}{near}")
    return names


def _quick_answers(value: object) -> tuple[str, ...]:
    """Short, and as a button shows them: what a tap says is what the agent gets."""
    given = value if not isinstance(value, str) or value.lstrip().startswith("[") else None
    found = listed(given)
    texts: list[Any] = [*found] if isinstance(found, list | tuple) else [None]
    if len(texts) > MAX_REPLIES or not all(map(_is_quick_answer, texts)):
        raise ValueError(
            f"accepted: a list of at most {MAX_REPLIES} texts, each of one line and at most "
            f"{MAX_REPLY_CHARACTERS} characters"
        )
    return tuple(dict.fromkeys(text.strip() for text in texts))


def _is_quick_answer(text: object) -> bool:
    if not isinstance(text, str) or not text.strip():
        return False
    return len(text) <= MAX_REPLY_CHARACTERS and text.strip() == one_line(text)


UndoSeconds = Annotated[Seconds, Field(le=MAX_UNDO_SECONDS)]
Replies = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_quick_answers)]
Tools = Annotated[tuple[str, ...], NoDecode, BeforeValidator(listed), AfterValidator(_known_tools)]
LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"],
    BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value),
]
Table = TypeVar("Table", bound=BaseModel)


class Settings(BaseSettings):
    """All but the channels' tables, which `settings_type` adds."""

    model_config = SettingsConfigDict(
        env_prefix="CHATBRIDGE_",
        env_nested_delimiter="__",
        extra="forbid",
        hide_input_in_errors=True,
        defer_build=True,
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
    undo: UndoSeconds | None = None
    undo_confirms: UndoSeconds | None = None
    replies: Replies = ()
    tools: Tools = TOOLS
    elicit: Literal["chats", "both", "client"] = "chats"
    auq_timeout: Seconds | None = None
    auq_max_questions: int = Field(default=5, ge=1, le=10)
    auq_max_options: int = Field(default=5, ge=2, le=10)
    approvals: Approvals = Approvals()
    quiet: Quiet = Quiet()
    reminders: Reminders = Reminders()
    people: tuple[PersonTable, ...] = ()
    routes: tuple[RouteTable, ...] = ()
    summary: Summary = Summary()
    journal: Journal = Journal()
    commands: Commands = Field(default_factory=Commands)
    clients: dict[str, ClientLimits] = Field(default_factory=dict)
    store: Database | None = None
    store_password: SecretStr | None = None
    log_level: LogLevel = "info"
    http: Http = Http()
    attachments: AttachmentLimits = AttachmentLimits()
    voice: Voice = Voice()
    messages: Messages = Messages()
    audit: Audit = Audit()
    claude: Claude = Claude()
    push: Push = Push()
    cluster: Cluster = Cluster()

    _chats_of_the_file: frozenset[str] = PrivateAttr(frozenset())
    _ignored: dict[str, str] = PrivateAttr(default_factory=dict)
    """Variables that do not count, and what the owner is told of each."""

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
        return (env_settings, secrets.source(settings_cls, credentials), init_settings)

    def table(self, spec: ChannelSpec[Table]) -> Table:
        return cast("Table", getattr(self, spec.name))

    def secrets(self) -> tuple[str, ...]:
        """What may be in nothing that is written."""
        tables = (self.voice, *map(self.table, channel_specs()))
        values = (self.store_password, *(value for table in tables for _, value in table))
        found = [it.get_secret_value() for it in values if isinstance(it, SecretStr)]
        if self.store is not None:
            found += passwords_in(self.store)
        return tuple(filter(None, found))

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
            audit_retention=self.audit.retention,
            undo=self.undo or 0.0,
            undo_confirms=self.undo_confirms or 0.0,
            replies=self.replies,
            approval_channels=self.approval_channels(),
            nights=Nights(
                policy=night_policy(self.quiet, self.reminders, self.summary), team=self.team()
            ),
        )

    def team(self) -> Team:
        return team_of(self.people, self.routes, self.surfaces())

    def surfaces(self) -> frozenset[str]:
        """Where cards can be shown, as surfaces are named; of a page, or where a channel decides by
        itself, the name of the channel."""
        found = set[str]()
        for spec in self.active_channels():
            table = self.table(spec)
            places = (spec.chats_in(table) or spec.people_in(table)) if spec.chats else ()
            found |= {f"{spec.name}:{place}" for place in places} or {spec.name}
        return frozenset(found)

    def let_people_in(self) -> None:
        """Add those of the people to the lists of the channels."""
        for spec in specs_with_people() if self.people else ():
            table = self.table(spec)
            joined = {str(spec.people): joined_people(spec, table, self.people)}
            setattr(self, spec.name, table.model_copy(update=joined))

    def approval_channels(self) -> frozenset[str]:
        """The owner's choice; else the chats, and only without one the inbox's page."""
        if self.approvals.channels is not None:
            return frozenset(self.approvals.channels)
        specs = [spec for spec in channel_specs() if spec.approvals]
        allowed = {spec.name for spec in specs}
        pages = frozenset(spec.name for spec in specs if not spec.is_chat)
        return self._chats_of_the_file & allowed or self.chats() & allowed or pages

    def chats(self) -> frozenset[str]:
        """Those that are set up."""
        return frozenset(spec.name for spec in self.active_channels() if spec.is_chat)

    def active_channels(self) -> list[ChannelSpec[Any]]:
        """Those that are set up."""
        return [spec for spec in channel_specs() if spec.is_on(self.table(spec))]

    def pairing_channel(self, name: str | None = None) -> ChannelSpec[Any]:
        """The one that `chatbridge pair` works with: the first that is set up, else the first; or
        the one of this name. :raises SettingsError: there is none."""
        found = [spec for spec in (*self.active_channels(), *channel_specs()) if spec.pairs_by_code]
        for spec in found:
            if name in (None, spec.name):
                return spec
        names = " or ".join(dict.fromkeys(spec.name for spec in found))
        raise SettingsError(f"nobody is paired by a code on {name!r}, but on {names}")

    def escalation_problem(self) -> str | None:
        """Why the last reminder cannot go where it should. That channel gets nothing else, so it
        cannot be the only one for approvals."""
        escalate = self.reminders.escalate
        if not escalate:
            return None
        channel, _, place = escalate.partition(":")
        chats = {spec.name: spec for spec in self.active_channels() if spec.is_chat}
        if channel not in chats:
            near = did_you_mean(channel, chats, before="; ")
            there = f"there is {' and '.join(sorted(chats))}" if chats else "there is none yet"
            return f"name a chat channel that is set up; {there}{near}"
        spec = chats[channel]
        table = self.table(spec)
        places = [*map(str, spec.chats_in(table) or spec.people_in(table))]
        if place and place not in places:
            return f'{channel} has no such chat; name {channel}, or "{channel}:" and a chat\'s id'
        elsewhere = self.approval_channels() & {each.name for each in self.active_channels()}
        if places == [place] or not place:
            elsewhere -= {channel}
        if not elsewhere:
            return (
                "it gets nothing else, and approvals can be given only there; name another chat, "
                "or another channel in approvals.channels"
            )
        return None

    def compared(self) -> dict[str, str]:
        """The values of `compared_settings`; empty: not set."""
        compared = compared_settings()
        return {name: text_of(reduce(getattr, key, self)) for name, key in compared.items()}

    def hold_to(self, file: Mapping[str, Any], path: Path) -> None:
        """Let the owner's file count where something else would widen it. What was ignored is among
        the remarks.
        :raises SettingsError: what the file says is no value of that setting."""
        self._chats_of_the_file = authority.chats_in(file)
        for key, said in [*authority.widened(self, file)]:
            table, name = key[0], key[-1]
            changed = getattr(self, table).model_copy(update={name: said}) if key[1:] else said
            setattr(self, table, changed)
            variable, setting = authority.variable_of(key), ".".join(key)
            if key in authority.FILE_ONLY:
                why = f"{setting} applies only in {path}. Put it there"
            else:
                # Earlier versions wrote an empty list where nobody was named.
                empty = "Remove the empty list from that file if the variable is yours"
                if self.people:
                    empty = "Name them in its list of people"
                mend = empty if said == () else "Change that file"
                why = f"it would widen what {path} says of {setting}. {mend}"
            self._ignored[variable] = (
                f"{variable} is ignored: {why}, or take the variable (or the credential) away."
            )

    @property
    def ignored(self) -> tuple[str, ...]:
        """The variables that do not count."""
        return tuple(self._ignored)

    def remarks(self) -> list[str]:
        """What the owner should know about them, though they can be used."""
        found = [*self._ignored.values(), *plugin_problems()]
        if self.approval_channels().isdisjoint(spec.name for spec in self.active_channels()):
            named = ", ".join(sorted(self.approval_channels()))
            found.append(
                f"No approval can be given: approvals.channels is {named}, and that is not set up. "
                "Set it up, or name another channel."
            )
        return found

    def database(self, state_dir: Path) -> Path:
        """Where the SQLite database is, or would be."""
        if self.store is None or self.store.startswith(POSTGRESQL):
            return state_dir / "chatbridge.db"
        return Path("/" + self.store.removeprefix(SQLITE).lstrip("/"))

    def keeps_audit(self) -> bool:
        """Whether there is an audit trail: the owner's choice; else only a team has one."""
        if self.audit.enabled == "team":
            return self.server() is not None or bool(self.people)
        return self.audit.enabled

    def server(self) -> tuple[str, str | None] | None:
        """The address and the password of the PostgreSQL server, if the store is there."""
        if self.store is None or not self.store.startswith(POSTGRESQL):
            return None
        password = self.store_password
        return self.store, password.get_secret_value() if password else None


@cache
def settings_type() -> type[Settings]:
    """`Settings` with a table for each channel."""
    types = {spec.name: spec.settings for spec in channel_specs()}
    tables: dict[str, Any] = {name: (table, table()) for name, table in types.items()}
    tables["people"] = (tuple[person_table(), ...], ())  # type: ignore[misc]
    return create_model("Settings", __base__=Settings, **tables)


def compared_settings() -> dict[str, authority.Key]:
    """The variables that a link's environment may have in common with the hub, by name."""
    specs = channel_specs()
    keys = [("store",), *((spec.name, key) for spec in specs for key in spec.link_settings)]
    return {authority.variable_of(key): key for key in keys}


def load(config: Path | None = None) -> Settings:
    """The settings in force. :raises SettingsError: naming the file and the key."""
    path = config or Path(runtime_paths.config_path())
    return checked(read(path), path)


def checked(found: dict[str, Any], path: Path) -> Settings:
    """The settings in force if the file at `path` has this in it. :raises SettingsError:"""
    # BaseSettings takes names with a line before them for orders of its own, such as _env_file.
    if private := [key for key in found if key.startswith("_")]:
        raise SettingsError(f"{one_line(private[0])} is not a setting. Check {path}")
    try:
        file = _over(found, secrets.read(settings_type(), path))
        settings = settings_type()(**file)
        settings.hold_to(file, path)
    except ValidationError as error:
        explained = mistakes.explained(
            error, settings=settings_type(), found=found, text=text(path) or "", path=path
        )
        raise SettingsError(explained) from None
    except (UnreadableVariable, RecursionError) as error:
        raise SettingsError(f"{error}. Check the CHATBRIDGE_ variables") from None
    if not settings.min_timeout <= settings.default_timeout <= settings.max_timeout:
        raise SettingsError(
            f"min_timeout ({settings.min_timeout:g} s), default_timeout "
            f"({settings.default_timeout:g} s) and max_timeout ({settings.max_timeout:g} s) must "
            f"rise in this order. Check {path}"
        )
    if wrong := problems_with(settings.people, settings.routes):
        raise SettingsError(mistakes.located(wrong, found=found, text=text(path) or "", path=path))
    if settings.cluster.listen and settings.server() is None:
        alone = (
            "cluster.listen is for hubs that share a PostgreSQL database, and store names none; "
            'set store = "postgresql://user@host/database", the same for each, or take '
            "cluster.listen out"
        )
        told = [(("cluster", "listen"), alone)]
        raise SettingsError(mistakes.located(told, found=found, text=text(path) or "", path=path))
    settings.let_people_in()
    if problem := settings.escalation_problem():
        told = [(("reminders", "escalate"), f"reminders.escalate: {problem}")]
        raise SettingsError(mistakes.located(told, found=found, text=text(path) or "", path=path))
    return settings


def _over(found: Mapping[str, Any], secret: Mapping[str, Any]) -> dict[str, Any]:
    """Tables that both have are merged; of single keys the secret counts."""
    merged = {**found, **secret}
    for name, table in secret.items():
        if isinstance(table, Mapping) and isinstance(found.get(name), Mapping):
            merged[name] = _over(found[name], table)
    return merged


def read(path: Path) -> dict[str, Any]:
    """What the file says; one that is missing says nothing. :raises SettingsError:"""
    return parsed(text(path) or "", path)


def text(path: Path) -> str | None:
    """The file as it is, line ends included; None: there is none. :raises SettingsError:"""
    try:
        return bounded_read.read(path, most=MAX_FILE_BYTES).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise SettingsError(f"the configuration {path} cannot be read: {why}") from None


def parsed(text: str, path: Path) -> dict[str, Any]:
    """:raises SettingsError: this, from the file at `path`, is no TOML, or no human being's."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        why = "it is nested too deeply"
    except tomllib.TOMLDecodeError as error:
        why = str(error)
    except ValueError:
        why = "a number in it is too long"
    raise SettingsError(f"the configuration {path} cannot be read: {why}")
