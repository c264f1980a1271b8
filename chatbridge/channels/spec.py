"""What the rest of the program knows of a channel: a `ChannelSpec` in the channel's own folder.

The hub, the settings, `doctor`, `setup` and `people` loop over the specs. Importing one imports no
client library: heavy modules are named as "module:attribute" and loaded when they are used. Named
tuples, because importing dataclasses takes a third of a command's start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from chatbridge.extras import Extra, need
from chatbridge.setting_rules import Fits, is_same, is_some_of, is_within

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from pydantic import BaseModel

    from chatbridge.core.login_codes import LoginCodes
    from chatbridge.core.pairing import Pairing
    from chatbridge.core.ports import Clock, Health

Table = TypeVar("Table", bound="BaseModel")


class PersonName(NamedTuple):
    """What a service calls a person, safe to show."""

    name: str
    username: str = ""


class AccountLock(NamedTuple):
    """Keeps two hubs of a user from using one account of a service."""

    id: str
    """Part of a file's name."""
    called: str
    why: str
    """Why there can be only one hub."""
    setting: str
    """What to set for another account."""


class ChannelContext(NamedTuple):
    """What a hub hands to a channel that it builds."""

    clock: Clock
    state: Path
    """The hub's state directory."""
    health: Health
    pairing: Pairing
    codes: LoginCodes
    """Log browsers in."""
    announce: Callable[[str], None]
    """Publishes the address of an inbox."""
    hold: Callable[[], AbstractContextManager[object]]
    """Holds the channel's `AccountLock`."""
    place_of: Callable[..., str]
    """Says where the owner finds the secrets of these settings."""
    inbox: Callable[[], str | None] = lambda: None
    """Says where the inbox can be opened from elsewhere, once that is known."""
    push: Any = None
    """The table [push], for the inbox."""
    tell: Callable[..., None] = lambda text, *, told: None
    """Says something about chatbridge itself to the owner, everywhere but on the surfaces
    `told`."""


class SetupSpec(NamedTuple):
    """The channel's part of `chatbridge setup`."""

    choice: str
    """Its line in the list of channels, after its title."""
    flag: str
    """The flag to name first where a script gave none."""
    add_flags: Callable[[argparse._ArgumentGroup], None]
    """Adds the flags of `--non-interactive`, each beginning with the channel's name."""
    ask: str
    """Reference to `(Setup) -> None`: sets the channel up at a terminal."""
    plan: str
    """Reference to `(Setup, Namespace) -> list[Callable[[], None]]`: checks the flags, and returns
    what is done once all channels have checked theirs."""
    test_hint: str
    """Said if the test question is not answered for a while."""
    pair_hint: str = ""
    """What to do with a code of `chatbridge pair`."""
    test_place: str = "in the room"
    """Where the test question is."""


class ChannelSpec(NamedTuple, Generic[Table]):
    """Fields that name settings name them without the table: `allowed_users`."""

    name: str
    """Also that of its table in the settings."""
    table: str
    """Reference to the model of its settings. Each has a default; secrets are `SecretStr`."""
    is_on: Callable[[Table], bool]
    build: str
    """Reference to `(Table, ChannelContext) -> Channel`. Its module is imported before the hub says
    that it is ready."""
    check: str
    """Reference to `async (Table, CheckContext) -> Sequence[Finding]`, for `doctor`. A
    `ChatbridgeError` that it raises is a finding."""
    setup: SetupSpec | None = None
    extra: Extra | None = None
    """The optional dependencies that it needs."""
    unwatched: str | None = None
    """Why a page shows nothing. None: the channel is a chat, which shows everything."""
    approvals: bool = True
    """Whether approvals may be given there."""
    pairs_by_code: bool = False
    """Whether `chatbridge pair` works with it."""
    account: Callable[[Table], str] = lambda table: ""
    """The account that it uses, in words."""
    server: Callable[[Table], str] = lambda table: ""
    """The address of the service."""
    is_elsewhere: Callable[[Table], bool] = lambda table: True
    """Whether people can answer there away from this computer."""
    page: Callable[[Table, str], str | None] = lambda table, address: None
    """Where people elsewhere can open its page, which listens at this address."""
    lock: Callable[[Table], AccountLock] | None = None
    people: str | None = None
    """The setting that lists who may answer."""
    names: str | None = None
    """Reference to `async (Table, people) -> Mapping[person, PersonName]`: what the service calls
    these people, as far as it says."""
    chats: str | None = None
    """The setting that lists where cards go. Empty: to each of the people."""
    named_by: tuple[str, ...] = ()
    """A file that has one of these settings names this chat. Approvals are then given there."""
    file_default: tuple[str, ...] = ()
    """Settings that keep their default against variables once the file names this chat."""
    limits: Mapping[str, Fits] = MappingProxyType({})
    """Settings that decide who may allow what: a variable must not be wider than the file."""
    watched_settings: tuple[str, ...] = ()
    """Settings whose change the owner is told of, besides people and account."""
    link_settings: tuple[str, ...] = ()
    """Settings that a link compares with the hub's. `chatbridge.link.preface` has the choice."""
    own_remarks: tuple[str, ...] = ()
    """How remarks of the channel begin that its check says itself."""

    @property
    def settings(self) -> type[Table]:
        return cast("type[Table]", load_reference(self.table))

    @property
    def title(self) -> str:
        from chatbridge.core.text import title_of

        return title_of(self.name)

    @property
    def is_chat(self) -> bool:
        return self.unwatched is None

    @property
    def module(self) -> str:
        """What a hub that uses this channel has to import."""
        return self.build.partition(":")[0]

    def secrets(self) -> tuple[str, ...]:
        """The settings that are secret."""
        return tuple(
            name
            for name, field in self.settings.model_fields.items()
            if "SecretStr" in str(field.annotation)
        )

    def load(self, reference: str) -> Any:
        """What one of the references names. :raises ExtraMissing: with the command that helps."""
        if self.extra is not None:
            need(self.extra)
        return load_reference(reference)

    def people_in(self, table: Table) -> tuple[object, ...]:
        return tuple(getattr(table, self.people)) if self.people else ()

    def chats_in(self, table: Table) -> tuple[object, ...]:
        return tuple(getattr(table, self.chats)) if self.chats else ()


def bot_spec(
    name: str,
    table: str,
    *,
    setup: SetupSpec,
    account: Callable[[Any], str],
    lock: Callable[[Any], AccountLock],
    tokens: tuple[str, ...] = ("token",),
    chats: str = "channel_id",
    extra: Extra | None = None,
) -> ChannelSpec[Any]:
    """Of a bot in a folder of this package, whose modules and settings have the usual names. It is
    on once it has all its tokens."""
    folder = f"chatbridge.channels.{name}"
    return ChannelSpec(
        name=name,
        table=f"{folder}.settings:{table}",
        is_on=lambda found: all(getattr(found, token) is not None for token in tokens),
        build=f"{folder}.channel:{table}Channel",
        check=f"{folder}.doctor:check",
        setup=setup,
        extra=extra,
        pairs_by_code=True,
        account=account,
        server=lambda found: str(found.api_base),
        lock=lock,
        people="allowed_users",
        names=f"{folder}.doctor:names",
        chats=chats,
        named_by=(*tokens, "allowed_users"),
        # Another server could bring taps that nobody made.
        file_default=("api_base",),
        limits={"allowed_users": is_within, chats: is_some_of, "api_base": is_same},
        watched_settings=(chats,),
        link_settings=(*tokens, chats),
    )


def bot_setup(
    name: str,
    *,
    choice: str,
    tokens_in: str,
    chats: str,
    pair_hint: str,
    test_place: str,
    test_hint: str,
    chat: str = "channel",
) -> SetupSpec:
    """Of a bot in a folder of this package. `tokens_in` and `chats` are what flags mean."""

    def add_flags(flags: argparse._ArgumentGroup) -> None:
        flags.add_argument(f"--{name}-token-file", metavar="FILE", help=tokens_in)
        for flag, meaning in (("user", "people who may answer"), (chat, chats)):
            flags.add_argument(
                f"--{name}-{flag}", metavar="ID", nargs="+", default=[], help=meaning
            )

    return SetupSpec(
        choice=choice,
        flag=f"--{name}-token-file",
        add_flags=add_flags,
        ask=f"chatbridge.channels.{name}.setup:ask",
        plan=f"chatbridge.channels.{name}.setup:plan",
        pair_hint=pair_hint,
        test_place=test_place,
        test_hint=test_hint,
    )


def load_reference(reference: str) -> Any:
    """The object that "module:attribute" names."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def text_of(value: object, *, separator: str = ",") -> str:
    """A setting's value as a variable spells it; empty if it is not set."""
    if secret := getattr(value, "get_secret_value", None):
        return str(secret())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return separator.join(map(str, value))
    return "" if value is None else str(value)
