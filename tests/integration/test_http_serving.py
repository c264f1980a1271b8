"""Whether a hub listens for agents over HTTP: by its settings, by `chatbridge serve`, or not."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from chatbridge.__main__ import main
from chatbridge.core.errors import SettingsError
from chatbridge.hub.http.serving import RETRY_SECONDS, HttpServing
from chatbridge.hub.process.lock import Lock
from chatbridge.settings.tools import Http
from chatbridge.tools.clients import Clients
from chatbridge.tools.messages import ToolMessages
from chatbridge.tools.offer import Offer
from tests.fakes.core_env import PATIENCE, World, world
from tests.fakes.late_server import at_once


@pytest.fixture
def taken() -> Iterator[socket.socket]:
    """A port that another program uses."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other


def address_of(sock: socket.socket) -> str:
    return f"127.0.0.1:{sock.getsockname()[1]}"


def serving(hub: World, path: Path, **http: str) -> HttpServing:
    server = at_once(
        Offer(list, Clients()),
        waiting_calls=hub.broker.waiting_calls,
        clock=hub.clock,
        messages=ToolMessages(hub.inbox.messages),
        after_call=lambda: None,
        spawn=asyncio.ensure_future,
    )
    settings = Http.model_validate(http)
    return HttpServing(server, hub.broker.waiting_calls, settings, state=path, clock=hub.clock)


async def status_at(address: str) -> int:
    async with httpx2.AsyncClient(verify=False, trust_env=False) as http:
        return (await http.post(f"http://{address}/mcp")).status_code


async def test_a_hub_without_an_address_listens_nowhere(tmp_path: Path) -> None:
    async with world(tmp_path) as hub:
        http = serving(hub, tmp_path)
        async with http.listening():
            assert (http.projects(), http.remarks()) == ([], [])


async def test_a_port_that_is_taken_hurts_nobody_else_and_is_had_later(
    tmp_path: Path, taken: socket.socket
) -> None:
    address = address_of(taken)
    async with world(tmp_path) as hub:
        http = serving(hub, tmp_path, address=address)
        async with http.listening():
            (remark,) = http.remarks()
            assert address in remark
            assert "http.address" in remark
            await asyncio.wait_for(hub.clock.until_asleep(RETRY_SECONDS), PATIENCE)
            taken.close()
            hub.clock.advance(RETRY_SECONDS)
            async with asyncio.timeout(PATIENCE):
                while http.remarks():  # noqa: ASYNC110 - it is a state, and nobody tells of it
                    await asyncio.sleep(0.01)
                assert await status_at(address) == 401


async def test_a_hub_that_waits_for_its_port_ends_at_once(
    tmp_path: Path, taken: socket.socket
) -> None:
    async with world(tmp_path) as hub:
        http = serving(hub, tmp_path, address=address_of(taken))
        async with asyncio.timeout(PATIENCE), http.listening():
            await hub.clock.until_asleep(RETRY_SECONDS)


async def test_who_asks_for_a_port_that_is_taken_is_told(
    tmp_path: Path, taken: socket.socket
) -> None:
    async with world(tmp_path) as hub:
        http = serving(hub, tmp_path)
        with pytest.raises(SettingsError, match="another program uses that port"):
            async with http.listening(address_of(taken)):
                pass


@pytest.mark.parametrize(("by", "where"), [("service", "as a service"), ("person", "terminal")])
def test_beside_a_hub_that_stays_serve_says_what_to_set_instead(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    by: str,
    where: str,
) -> None:
    monkeypatch.setenv("CHATBRIDGE_STATE_DIR", str(tmp_path))
    monkeypatch.setattr("chatbridge.hub.process.log.log_to_stderr", lambda: None)
    with Lock(str(tmp_path), started_by=by):
        assert main(["serve", "--http", "127.0.0.1:9999"]) == 1
    said = capsys.readouterr().err
    assert where in said
    assert 'address = "127.0.0.1:9999"' in said


@pytest.mark.parametrize("address", ["8788", ":8788", "x:0", "x:99999", "http://x:1", "x:1/mcp"])
def test_an_address_that_is_none_is_refused_with_an_example(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--http", address])
    assert "127.0.0.1:8788" in capsys.readouterr().err
