"""A command that needs a hub, where one goes in that moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chatbridge.cli.hub.hub_client import ask_hub
from chatbridge.core.errors import HubUnreachable
from tests.fakes.scripted_hub import Connection, ScriptedHub, scripted_hub

PATIENCE = 20.0


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedHub]:
    monkeypatch.setenv("CHATBRIDGE_STATE_DIR", str(tmp_path))
    with scripted_hub(str(tmp_path)) as running:
        yield running


def stopping(connection: Connection) -> None:
    connection.send({"chatbridge": "stopping"})


GOING = {"killed": Connection.close, "stopped": stopping}


@pytest.mark.parametrize("goes", GOING.values(), ids=GOING)
def test_a_hub_that_goes_before_it_greets_is_followed_by_the_next(
    hub: ScriptedHub, goes: Callable[[Connection], None]
) -> None:
    with ThreadPoolExecutor() as pool:
        reply = pool.submit(ask_hub, "status", start=True)
        goes(hub.accept(greet=False)[0])
        second, _ = hub.accept()
        assert second.receive() == {"do": "status"}
        second.send({"result": {"well": True}})
        assert reply.result(PATIENCE) == {"well": True}


def test_who_only_looks_is_told_that_it_has_gone(hub: ScriptedHub) -> None:
    with ThreadPoolExecutor() as pool:
        reply = pool.submit(ask_hub, "status")
        hub.accept(greet=False)[0].close()
        with pytest.raises(HubUnreachable, match="the hub has gone"):
            reply.result(PATIENCE)


def test_what_was_asked_for_is_not_asked_for_twice(hub: ScriptedHub) -> None:
    with ThreadPoolExecutor() as pool:
        reply = pool.submit(ask_hub, "ask", start=True)
        first, _ = hub.accept()
        first.receive()
        first.close()
        with pytest.raises(HubUnreachable, match="the hub has gone"):
            reply.result(PATIENCE)
