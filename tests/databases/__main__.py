"""Write a database as this version leaves it: one open ask of each kind, and what goes with them.

Run it once for each release that changes the schema or what is stored as JSON, before the change:

    python -m tests.databases > tests/databases/0.1.0.sql
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from chatbridge.channels.chat.card_messages import BotReaction, Part
from chatbridge.channels.chat.card_messages import CardMessages as MatrixPlace
from chatbridge.channels.chat.card_messages import to_text as matrix_text
from chatbridge.core.model import Ask, CallName, OperationEnd, Post, View
from chatbridge.core.operation import Operation, Plan, Result, Stage
from chatbridge.core.store_port import Transaction
from chatbridge.store.sqlite.store import SqliteStore
from tests.fakes.clock import START, StillClock
from tests.fakes.inbox import CLAUDE, COMMAND, CONFIRM, MULTI, SELECT, SHOP, TEXT
from tests.fakes.telegram.server import BotApi
from tests.fakes.telegram_desk import Telegram, running_telegram

LONG = 10 * 86_400.0
ADA = 700_000_001
ROOM = "matrix:!room:example.org"


async def make(folder: Path) -> None:
    clock = StillClock()
    with BotApi.running(clock=clock) as api:
        ada = api.person("Ada", id=ADA)
        chat = api.private(ada)
        async with running_telegram(
            folder, api=api, clock=clock, chat=chat, phone=chat.phone(ada)
        ) as telegram:
            form, approval = await _fill(telegram)
    store = await SqliteStore.open(folder / "chatbridge.db")
    try:
        await store.write(lambda tx: _matrix_post(tx, form))
        for operation in _operations(approval):
            await store.operations.add(operation)
    finally:
        await store.close()


async def _fill(telegram: Telegram) -> tuple[str, str]:
    """The ids of the half-filled form and of the approval."""
    desk, clock = telegram.desk, telegram.clock
    late = await desk.ask(CONFIRM, title="Late", timeout=60.0)
    await telegram.card(late)
    await desk.time_out(late)
    await _tap(telegram, late, "Answer anyway")
    await _tap(telegram, late, "Yes")

    kept = await desk.ask(SELECT, title="Kept", timeout=LONG)
    await telegram.card(kept)
    await desk.broker.waiting_calls.link_closed("link")
    await _tap(telegram, kept, "SQLite")
    desk.broker.waiting_calls.link_opened("link")

    form = await desk.ask(TEXT, MULTI, CONFIRM, title="Form", timeout=LONG)
    await telegram.say("feat: orders", reply_to=await telegram.card(form))
    await _tap(telegram, form, "Unit tests")

    text = await desk.ask(TEXT, title="Text", timeout=LONG)
    await telegram.card(text)
    approval = await desk.ask(COMMAND, title="Approval", timeout=LONG)
    await telegram.card(approval)

    await desk.shown_on(await desk.notify("Half of it is done.", title="Build"))
    end = OperationEnd(
        id="op-ended",
        title="make build",
        succeeded=False,
        how="exit 2",
        took=95.0,
        tail="error: no",
    )
    await desk.shown_on(await desk.tell_end(end))
    clock.advance(60.0)
    return form.id, approval.id


async def _tap(telegram: Telegram, ask: Ask, label: str) -> None:
    card = await telegram.current(ask)
    (key,) = [key for key in card.keys if key.text.endswith(label)]
    assert key.data
    await telegram.press(card, key.data)
    await telegram.current(ask)


async def _matrix_post(tx: Transaction, ask_id: str) -> None:
    part = Part(
        event="$root",
        step=1,
        view=View.QUESTION,
        at=1,
        shows="digest",
        seeds=(BotReaction(emoji="1️⃣", event="$seed"),),
    )
    place = matrix_text(MatrixPlace(room="!room:example.org", parts=(part,)))
    await tx.save_post(
        Post(ask_id=ask_id, surface=ROOM, place=place, revision=1), handles=["$root"]
    )


def _operations(approval: str) -> list[Operation]:
    def operation(id: str, stage: Stage, **more: object) -> Operation:
        return Operation(
            id=id,
            call=CallName(link="link", request=id),
            project=SHOP,
            agent=CLAUDE,
            tool="make_build",
            title="make build",
            group="make",
            plan=Plan(
                argv=("make", "build"),
                executable="/usr/bin/make",
                folder="/code/shop-api",
                timeout=600.0,
                output_limit=100_000,
                synchronous=id == "op-ended",
            ),
            created_at=START,
            stage=stage,
            **more,  # type: ignore[arg-type]
        )

    return [
        operation("op-waits", Stage.AWAITING_APPROVAL, ask_id=approval),
        operation("op-runs", Stage.RUNNING, approved=True, started_at=START),
        operation(
            "op-ended",
            Stage.FAILED,
            started_at=START,
            ended_at=START + 95.0,
            result=Result(exit_code=2, head="error: no", size=9),
        ),
    ]


def dump(path: Path) -> str:
    with closing(sqlite3.connect(path)) as database:
        ((version,),) = database.execute("PRAGMA user_version")
        ((application,),) = database.execute("PRAGMA application_id")
        header = f"PRAGMA application_id = {application};\nPRAGMA user_version = {version};\n"
        return header + "\n".join(database.iterdump()) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        asyncio.run(make(Path(made)))
        sys.stdout.write(dump(Path(made) / "chatbridge.db"))
