"""What the rest of the program knows of Matrix."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from chatbridge.channels.spec import AccountLock, ChannelSpec, SetupSpec
from chatbridge.digests import sha256_hex
from chatbridge.extras import Extra
from chatbridge.setting_rules import is_same, is_some_of, is_within

if TYPE_CHECKING:
    from chatbridge.channels.matrix.settings import Matrix

EXTRA = Extra(
    name="matrix",
    modules=("nio", "vodozemac", "aiohttp", "Crypto", "peewee", "unpaddedbase64"),
    package="matrix-nio[e2e]",
)


def account_lock(user_id: str) -> AccountLock:
    return AccountLock(
        id=sha256_hex(user_id.encode())[:16],
        called=f"the Matrix account {user_id}",
        why="two would ask everything twice, and break each other's encryption",
        setting="matrix.user_id and its log-in",
    )


def _add_flags(flags: argparse._ArgumentGroup) -> None:
    flags.add_argument("--matrix-homeserver", metavar="URL", help="if its domain does not say")
    flags.add_argument("--matrix-user", metavar="ID", help="the bot's account, @bot:example.org")
    secret = flags.add_mutually_exclusive_group()
    secret.add_argument("--matrix-token-file", metavar="FILE", help="the account's access token")
    secret.add_argument("--matrix-password-file", metavar="FILE", help="used once, not kept")
    flags.add_argument("--matrix-room", metavar="ID", nargs="+", default=[], help="rooms")
    flags.add_argument(
        "--matrix-allow", metavar="ID", nargs="+", default=[], help="people who may answer"
    )


MATRIX: ChannelSpec[Matrix] = ChannelSpec(
    name="matrix",
    table="chatbridge.channels.matrix.settings:Matrix",
    is_on=lambda table: table.on,
    build="chatbridge.channels.matrix.channel:build",
    check="chatbridge.channels.matrix.doctor:check",
    setup=SetupSpec(
        choice="your own server works",
        flag="--matrix-user",
        add_flags=_add_flags,
        ask="chatbridge.channels.matrix.setup:ask",
        plan="chatbridge.channels.matrix.setup:plan",
        test_hint="Nothing heard? Turn notifications on for the room",
    ),
    extra=EXTRA,
    account=lambda table: table.user_id or "",
    server=lambda table: table.homeserver or "",
    lock=lambda table: account_lock(table.user_id or ""),
    people="allowed_users",
    chats="room_id",
    named_by=("user_id", "allowed_users"),
    limits={
        "allowed_users": is_within,
        "room_id": is_some_of,
        "homeserver": is_same,
        "user_id": is_same,
    },
    watched_settings=("room_id",),
    link_settings=("homeserver", "user_id", "access_token", "room_id"),
    own_remarks=("Strangers are in the Matrix room", "Matrix marks"),
)
