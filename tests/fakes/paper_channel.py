"""A third channel as a plug-in has it, in one module: cards are lines in a file.

Tests install a copy of this file as the module `paper_channel`, outside of chatbridge.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, SecretStr
from pydantic_settings import NoDecode

from chatbridge.channels.checks import CheckContext, Finding, fine
from chatbridge.channels.spec import AccountLock, ChannelContext, ChannelSpec, SetupSpec
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.messages.message import OwnerMessage
from chatbridge.core.model import Ask, Notice
from chatbridge.core.nights.summary import Summary
from chatbridge.core.ports import Remark, Shown, Surface
from chatbridge.setting_rules import is_within, listed


class Paper(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    file: Path | None = None
    token: SecretStr | None = None
    readers: Annotated[tuple[str, ...], NoDecode, BeforeValidator(listed)] = ()


class PaperChannel:
    name = "paper"
    persistent = True
    pace = RateLimit()
    idempotent = False
    trouble = None
    remarks = ()

    def __init__(self, file: Path, hold: Callable[[], AbstractContextManager[object]]) -> None:
        self._file = file
        self._hold = hold

    @property
    def surfaces(self) -> Sequence[Surface]:
        return (self,)

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        with self._hold():
            ready()
            await asyncio.Event().wait()

    def wants(self, ask: Ask) -> bool:
        return False

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        self._write(f"{ask.status}: {ask.questions[0].text}")
        return Shown(place=ask.id)

    async def announce(self, notice: Notice) -> bool:
        self._write(notice.message)
        return True

    async def report(self, message: OwnerMessage) -> Shown:
        return Shown(place="")

    async def summarize(self, summary: Summary, *, place: str | None, again: bool) -> Shown:
        if place is None:
            self._write(summary.heading)
        return Shown(place=summary.heading)

    async def tell(self, remark: Remark) -> None:
        self._write(remark.text)

    async def drain(self) -> None:
        """Nothing comes from paper."""

    def _write(self, line: str) -> None:
        with self._file.open("a", encoding="utf-8") as out:
            out.write(line + "\n")


def build(table: Paper, context: ChannelContext) -> PaperChannel:
    assert table.file is not None
    return PaperChannel(table.file, context.hold)


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
