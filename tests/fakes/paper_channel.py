"""A third channel as a plug-in has it, in one module, for the commands that only read its spec.

Tests install a copy of this file as the module `paper_channel`, outside of chatbridge.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, SecretStr
from pydantic_settings import NoDecode

from chatbridge.channels.checks import CheckContext, Finding, fine
from chatbridge.channels.spec import AccountLock, ChannelContext, ChannelSpec, SetupSpec
from chatbridge.core.ports import Channel
from chatbridge.setting_rules import is_within, listed


class Paper(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    file: Path | None = None
    token: SecretStr | None = None
    readers: Annotated[tuple[str, ...], NoDecode, BeforeValidator(listed)] = ()


def build(table: Paper, context: ChannelContext) -> Channel:
    raise NotImplementedError("no hub of these tests has paper")


async def check(table: Paper, context: CheckContext) -> Sequence[Finding]:
    return [fine("paper", f"writes to {context.shown(table.file or Path())}")]


def ask(setup: Any) -> None:
    setup.keeps("paper")


def plan(setup: Any, given: argparse.Namespace) -> list[Callable[[], None]]:
    return [lambda: setup.keeps(given.paper_file)] if given.paper_file else []


def add_flags(flags: argparse._ArgumentGroup) -> None:
    flags.add_argument("--paper-file", metavar="FILE", help="where cards are written")


SPEC: ChannelSpec[Paper] = ChannelSpec(
    name="paper",
    table="paper_channel:Paper",
    is_on=lambda table: table.file is not None,
    build="paper_channel:build",
    check="paper_channel:check",
    setup=SetupSpec(
        choice="no battery needed",
        flag="--paper-file",
        add_flags=add_flags,
        ask="paper_channel:ask",
        plan="paper_channel:plan",
        test_hint="Nothing heard? Paper makes no noise",
    ),
    account=lambda table: str(table.file),
    lock=lambda table: AccountLock(
        id="paper", called="the paper", why="one pen", setting="paper.file"
    ),
    people="readers",
    named_by=("file",),
    limits={"readers": is_within},
    link_settings=("token",),
)
