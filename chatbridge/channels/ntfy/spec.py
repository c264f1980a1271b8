"""What the rest of the program knows of ntfy."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from chatbridge.channels.spec import ChannelSpec, SetupSpec
from chatbridge.setting_rules import is_no_more, is_same

if TYPE_CHECKING:
    from chatbridge.channels.ntfy.settings import Ntfy


def _add_flags(flags: argparse._ArgumentGroup) -> None:
    flags.add_argument("--ntfy-topic", metavar="TOPIC", help="what your phone subscribes to")
    flags.add_argument("--ntfy-server", metavar="URL", help="if it is not https://ntfy.sh")
    flags.add_argument("--ntfy-token-file", metavar="FILE", help="an access token of the server")
    flags.add_argument("--ntfy-answers", action="store_true", help="take answers, too")


NTFY: ChannelSpec[Ntfy] = ChannelSpec(
    name="ntfy",
    table="chatbridge.channels.ntfy.settings:Ntfy",
    is_on=lambda table: bool(table.topic),
    build="chatbridge.channels.ntfy.channel:NtfyChannel",
    check="chatbridge.channels.ntfy.doctor:check",
    setup=SetupSpec(
        choice="rings, and you answer elsewhere",
        flag="--ntfy-topic",
        add_flags=_add_flags,
        ask="chatbridge.channels.ntfy.setup:ask",
        plan="chatbridge.channels.ntfy.setup:plan",
        test_place="on your phone",
        test_hint="Nothing heard? Subscribe to the topic in the ntfy app",
    ),
    approvals=False,  # nobody can be told apart there
    account=lambda table: f"topic {table.topic[:4]}…",  # who knows all of it can read along
    server=lambda table: table.server,
    is_elsewhere=lambda table: table.answers,
    named_by=("topic",),
    # Another server, or a variable, could bring answers that nobody gave.
    file_default=("server", "answers", "answer_topic"),
    limits={"server": is_same, "topic": is_same, "answers": is_no_more, "answer_topic": is_same},
    watched_settings=("answers",),
)
