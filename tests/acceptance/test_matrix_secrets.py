"""A bot's token and password show up nowhere, whatever goes wrong; one account belongs to one hub;
and a homeserver that does not answer keeps nobody waiting."""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import stat
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, quote_plus
from uuid import uuid4

import pytest

from chatbridge.channels.matrix.spec import account_lock
from chatbridge.hub.process.lock import account_lock_path
from tests.acceptance.test_secrets import arguments_of_all, files_with
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import Agent, House, Json, house
from tests.fakes.matrix_hub import Scene
from tests.fakes.synapse import Synapse

TOKEN = "a-token-that-counts-for-nobody"


def question(title: str) -> Json:
    choice = {"id": "c", "question": title, "type": "select", "options": ["red", "blue"]}
    return {"questions": [choice]}


def forms_of(secret: str) -> list[str]:
    return [secret, quote(secret, safe=""), quote_plus(secret), secret[:20], secret[-20:]]


def keys_of_devices(folder: Path) -> list[str]:
    """Ends of what nio keeps: whoever has the whole can read and write as the bot."""
    found: list[str] = []
    for store in folder.rglob("crypto.db"):
        with closing(sqlite3.connect(store)) as database:
            for select in ("SELECT account FROM accounts", "SELECT session FROM olmsessions"):
                rows = database.execute(select).fetchall()
                assert rows, select
                found += [row[0][-40:].decode() for row in rows]
    return found


def said_by_all(scene: Scene) -> str:
    """By the hub, which is stopped with that, and by commands."""
    home = scene.home
    status = json.dumps(home.api("/api/status"))
    printed = [home.run("inbox"), home.run("stop")]
    log = (home.state / "hub.log").read_text()
    lock = Path(account_lock_path(account_lock(scene.login.user_id).id)).read_text()
    return "\n".join([status, log, lock, *(it.stdout + it.stderr for it in printed)])


@pytest.mark.early
async def test_neither_password_nor_token_nor_key_is_in_anything_that_hubs_left_after_failures(
    synapse: Synapse, tmp_path: Path
) -> None:
    async with Scene.set(
        synapse, tmp_path, encrypted=True, cold=True, CHATBRIDGE_LOG_LEVEL="debug"
    ) as scene:
        home, said = scene.home, list[str]()
        password = f"{scene.bot.password}, which is long enough"
        home.environment["CHATBRIDGE_MATRIX__PASSWORD"] = password
        async with scene.agent() as agent:
            await scene.tap(await scene.card(agent, 1, question("By token?")), "2️⃣")
            assert (await scene.result(agent))["answered"]
            await asyncio.to_thread(synapse.log_out, scene.login.access_token)
            await scene.until_status(lambda it: "M_UNKNOWN_TOKEN" in it.get("trouble", ""))
        said.append(await asyncio.to_thread(arguments_of_all, home.state))
        home.warm_up()
        said.append(await asyncio.to_thread(said_by_all, scene))

        home.environment["CHATBRIDGE_MATRIX__ACCESS_TOKEN"] = ""
        async with scene.agent() as agent:
            agent.ask(2, question("By password?"))
            await scene.until_status(lambda it: "M_FORBIDDEN" in it.get("trouble", ""))
        said.append(await asyncio.to_thread(said_by_all, scene))

        home.environment["CHATBRIDGE_MATRIX__PASSWORD"] = scene.bot.password
        async with scene.agent() as agent:
            await scene.tap(await scene.card(agent, 3, question("By the right one?")), "2️⃣")
            assert (await scene.result(agent))["answered"]
        said.append(await asyncio.to_thread(said_by_all, scene))

        kept = home.state / "matrix" / "session.json"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        session = json.loads(kept.read_text())["access_token"]
        kept.unlink()  # the only place for it
        secrets = [scene.login.access_token, session, scene.bot.password, password]
        found = [form for secret in secrets for form in forms_of(secret)]
        assert files_with(found, home.state.parent) == []
        everything = "\n".join([*said, json.dumps(scene.ada.events(scene.room))])
        found += keys_of_devices(home.state / "matrix")
        assert [secret[:6] for secret in found if secret in everything] == []
    for said_so in ("M_UNKNOWN_TOKEN", "M_FORBIDDEN", " DEBUG aiosqlite"):
        assert said_so in said[-1], f"{said_so} was not tried"


# ── one account, one hub ──────────────────────────────────────────────────────────────────────────


async def test_a_second_hub_with_the_same_account_says_who_has_it_and_takes_over_when_that_one_ends(
    synapse: Synapse, tmp_path: Path
) -> None:
    async with Scene.set(synapse, tmp_path) as first, first.agent() as agent:
        await first.card(agent, 1, question("At the first?"))
        usual = {k: v for k, v in first.home.environment.items() if "MATRIX" in k}
        with house(**usual) as home:
            second = replace(first, home=home)
            async with second.agent() as other:
                other.ask(1, question("At the second?"))
                ask = await asyncio.to_thread(home.until)
                holder = f"another hub of yours (pid {first.home.hub()}) receives the messages of"
                await second.until_status(lambda it: holder in it.get("trouble", ""))
                other.ask(2, question("By the inbox?"))
                inbox = await asyncio.to_thread(home.until, lambda it: it["id"] != ask["id"])
                await asyncio.to_thread(home.answer, inbox)
                assert (await second.result(other))["id"] == 2
                assert first.said("At the second?") == []

                agent.close_input()  # its link would start the first hub anew
                await asyncio.to_thread(agent.exit_code)
                await first.kill_hub()
                await second.tap(await second.shows("At the second?"), "2️⃣")
                assert (await second.result(other))["id"] == 1


# ── a homeserver that does not answer ─────────────────────────────────────────────────────────────


def test_a_homeserver_that_never_answers_delays_neither_tools_nor_inbox() -> None:
    with ExitStack() as stack:
        deaf = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        deaf.settimeout(PATIENCE)
        settings = {
            "CHATBRIDGE_MATRIX__HOMESERVER": f"http://127.0.0.1:{deaf.getsockname()[1]}",
            "CHATBRIDGE_MATRIX__USER_ID": f"@bot-{uuid4().hex}:localhost",
            "CHATBRIDGE_MATRIX__ACCESS_TOKEN": TOKEN,
            "CHATBRIDGE_MATRIX__ALLOWED_USERS": "@ada:localhost",
            "CHATBRIDGE_LOG_LEVEL": "debug",
        }
        home = stack.enter_context(house(**settings))
        agent = stack.enter_context(home.agent())
        agent.initialize()
        waiting, _ = deaf.accept()
        with waiting:
            request = b""
            while not request.endswith(b"\r\n\r\n"):
                request += waiting.recv(65536)
            works_without_matrix(home, agent)
            with home.agent() as newcomer:
                newcomer.initialize()
                works_without_matrix(home, newcomer)
            waiting.setblocking(False)
            with pytest.raises(BlockingIOError):
                waiting.recv(1)  # the hub has waited for Matrix all the time
        deaf.close()
        trouble = ""
        until = time.monotonic() + PATIENCE
        while "cannot be reached" not in trouble:
            assert time.monotonic() < until, trouble
            trouble = json.dumps(home.api("/api/status")["channels"])
        works_without_matrix(home, agent)
        assert TOKEN.encode() in request, "it was sent,"
        assert TOKEN not in trouble
        assert files_with([TOKEN], home.state.parent) == [], "and nobody wrote it down"


def works_without_matrix(home: House, agent: Agent) -> None:
    agent.request("list", "tools/list")
    assert {tool["name"] for tool in agent.receive()["result"]["tools"]} >= {"ask_user"}
    agent.ask("ask")
    home.answer(home.until())
    assert agent.result()["answered"]
