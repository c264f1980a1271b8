"""Whatever is said on the hub's socket: an answer in words, no fault inside, and no effect but of
what fits."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chatbridge.core.model import Ask, Question
from chatbridge.framing import MAX_LINE
from chatbridge.hub.control.server import Terminals
from tests.fakes.core_env import PATIENCE, world
from tests.fakes.fault_watch import FEW, unshaken
from tests.fakes.inbox import MULTI, SELECT, TEXT
from tests.fakes.link_server import door
from tests.fakes.message_desk import message_desk
from tests.fakes.terminal_desk import ME, Desk, desk

Json = dict[str, Any]

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from([10**30, -(10**400), "\ud800", "a\0b", "\x1b[2J\n", "x" * 20_000, "1", "yes"])
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


# ── requests of commands ──────────────────────────────────────────────────────────────────────────

answers = st.lists(
    st.fixed_dictionaries(
        {"questionId": st.sampled_from([SELECT.id, TEXT.id, MULTI.id, "\ud800"]) | anything},
        optional={
            "values": st.lists(scalars | st.just("SQLite"), max_size=3) | anything,
            "customText": anything,
            "\ud800": anything,
        },
    ),
    max_size=3,
)
files = st.fixed_dictionaries(
    {},
    optional={
        "path": st.sampled_from(["/", "/dev/null", "/etc/hostname", "a\0b", "/\udcff"]) | anything,
        "data": st.sampled_from(["b2sK", "b2sK\n", "%"]) | anything,
        "name": st.sampled_from(["a.txt", "../../a", "\ud800", ""]) | anything,
    },
)
requests = st.fixed_dictionaries(
    {
        "do": st.sampled_from(
            [
                *("pending", "ask", "answer", "cancel", "history", "quiet", "stats", "limits"),
                *("agents", "tell", "take-back", "collect", "collected", "fly"),
                *("summary", "files", "snooze", "extend"),
            ]
        )
    },
    optional={
        "id": st.just("ID") | anything,
        "limit": anything,
        "search": anything,
        "since": st.floats() | anything,
        "words": st.lists(scalars | st.just("2h"), max_size=3) | anything,
        "answers": answers | anything,
        "reason": anything,
        "agent": st.just("shop") | anything,
        "text": st.just("Use tabs") | anything,
        "attachments": st.lists(files | anything, max_size=3) | anything,
        "link": st.just("a" * 32) | anything,
        "cwd": st.sampled_from(["/", "/a\0b", "/\udcff", "../..", "~"]) | anything,
        "client": st.just("claude-code") | anything,
        "stops": anything,
        "call": st.tuples(st.just("hook-a") | scalars, scalars) | anything,
    },
)


CHANGING = ("answer", "cancel", "snooze", "extend")


async def reply_to(terminals: Terminals, line: bytes) -> Json:
    """To one line, as one of the hub's own user's commands writes it."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs, limit=MAX_LINE)
    back, mine = await asyncio.open_connection(sock=ours, limit=MAX_LINE)
    mine.write(line + b"\n")
    mine.write_eof()
    try:
        async with asyncio.timeout(PATIENCE):
            await terminals.serve(reader, writer, pid=0, uid=ME)
            return dict(json.loads(await back.readline()))
    finally:
        writer.close()
        mine.close()


async def asked(here: Desk, question: Question, number: int) -> Ask:
    return await here.world.ask(question, number=number)


@FEW
@given(st.lists(requests, min_size=1, max_size=25))
def test_every_request_has_a_reply_and_a_refused_one_changes_nothing(given: list[Json]) -> None:
    async def scenario(folder: Path) -> None:
        async with (
            desk(folder, max_open_asks=1000) as here,
            message_desk(here.world, folder) as telling,
        ):
            telling.connect()
            answers = here._asks.answers | telling.messages.answers
            terminals = Terminals(answers, here._asks.streams)
            for number, request in enumerate(given):
                ask = await asked(here, (SELECT, TEXT, MULTI)[number % 3], number)
                if request.get("id") == "ID":
                    request["id"] = ask.id
                before, sent = await here.world.store.open_asks(), await telling.stored()
                reply = await reply_to(terminals, json.dumps(request).encode())
                assert reply.keys() in ({"result"}, {"error", "kind"})
                assert reply.get("kind") != "failure", request
                if "error" in reply or request["do"] not in CHANGING:
                    assert await here.world.store.open_asks() == before
                if "error" in reply or request["do"] not in ("tell", "take-back", "collect"):
                    assert await telling.stored() == sent

    unshaken(scenario)


# ── the first line, and what follows it ───────────────────────────────────────────────────────────

prefaces = st.fixed_dictionaries(
    {"chatbridge": st.sampled_from(["link", "terminal", "hub", ""]) | anything},
    optional={
        "protocol": st.just(1) | anything,
        "link": st.just("a" * 32) | anything,
        "cwd": st.sampled_from(["/", "/a\0b", "/\udcff", "../..", "/dev/null", "~"]) | anything,
        "root": anything,
        "file": st.sampled_from(["label = 1", "[" * 3000, "a\0"]) | anything,
        "label": anything,
        "limit": st.integers() | anything,
        "version": anything,
        "pid": anything,
        "settings": st.dictionaries(st.text(max_size=8), anything) | anything,
    },
)
REFUSED = {
    "chatbridge": "refused",
    "message": "this is chatbridge's socket, and the first line was not that of a link",
}
ALIVE = json.dumps({"jsonrpc": "2.0", "id": "alive?", "method": "ping"}).encode()
IT_IS = {"jsonrpc": "2.0", "id": "alive?", "result": {}}
lines = (prefaces | anything).map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40)


async def told(path: Path, *said: bytes) -> list[Json]:
    """What a connection hears that says these lines, until the hub ends it or it is alive."""
    reader, writer = await asyncio.open_unix_connection(str(path), limit=2 * MAX_LINE)
    heard: list[Json] = []
    try:
        writer.write(b"".join(line + b"\n" for line in said))
        if said[-1] != ALIVE:
            writer.write_eof()
        async with asyncio.timeout(PATIENCE):
            while line := await reader.readline():
                heard.append(json.loads(line))
                if heard[-1] == IT_IS:
                    break
    except ConnectionError:
        pass  # the hub did not wait for the end of it
    finally:
        writer.close()
    return heard


@FEW
@given(st.lists(lines, min_size=1, max_size=25))
def test_a_first_line_is_greeted_or_refused_in_words_whatever_it_is(given: list[bytes]) -> None:
    async def scenario(folder: Path) -> None:
        async with world(folder) as hub, door(hub, folder / "s") as links:
            for line in given:
                (heard,) = await told(folder / "s", line.replace(b"\n", b""))
                assert heard["chatbridge"] in ("hub", "refused"), line
                assert len(str(heard)) < 400
            assert not await hub.store.open_asks()
            assert links.connected() == []

    unshaken(scenario)


private = st.fixed_dictionaries(
    {
        "chatbridge": st.sampled_from(["delivered", "reply", "level", "resumed", "stopping"])
        | anything
    },
    optional={
        "request": anything,
        "call": anything,
        "level": st.just("debug") | anything,
        "response": st.fixed_dictionaries({"result": st.just({"action": "accept"}) | anything})
        | anything,
    },
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | anything,
        "id": anything,
        "method": st.sampled_from(["ping", "tools/list", "notifications/cancelled", "initialize"])
        | anything,
        "params": st.fixed_dictionaries({"requestId": anything}) | anything,
        "result": anything,
        "error": anything,
    },
)
GREETING = json.dumps({"chatbridge": "link", "protocol": 1, "link": "a" * 32, "cwd": "/"}).encode()


@FEW
@given(st.lists(private | messages, min_size=1, max_size=25))
def test_no_line_of_a_link_ends_its_session_or_asks_anything(given: list[Json]) -> None:
    async def scenario(folder: Path) -> None:
        async with world(folder) as hub, door(hub, folder / "s"):
            said = [json.dumps(line).encode() for line in given]
            heard = await told(folder / "s", GREETING, *said, ALIVE)
            assert heard[0]["chatbridge"] == "hub"
            assert heard[-1] == IT_IS
            assert not await hub.store.open_asks()

    unshaken(scenario)


# ── size ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_first_line_of_ten_megabytes_is_refused_without_being_held(tmp_path: Path) -> None:
    async with world(tmp_path) as hub, door(hub, tmp_path / "s") as links:
        assert await told(tmp_path / "s", b"x" * 10_000_000) in ([], [REFUSED])
        assert links.connected() == []


async def test_a_line_of_ten_megabytes_is_refused_under_its_id_and_the_next_one_served(
    tmp_path: Path,
) -> None:
    long = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "x", "params": {"a": "x" * 10**7}})
    async with world(tmp_path) as hub, door(hub, tmp_path / "s"):
        heard = await told(tmp_path / "s", GREETING, long.encode(), ALIVE)
        assert [it.get("id") for it in heard[1:]] == [7, "alive?"]
        assert "over" in heard[1]["error"]["message"]
        assert not await hub.store.open_asks()
