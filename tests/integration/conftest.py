"""What integration tests share: a database of each kind, a real link process between a client and a
scripted hub, a channel that runs in this process with a person before it, and a machine that doctor
looks at."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.contract.stores import DATABASES, PARAMETERS
from tests.fakes.databases import Database
from tests.fakes.link_client import LinkClient
from tests.fakes.scripted_hub import ScriptedHub, scripted_hub

if TYPE_CHECKING:  # each is imported by who needs it: all of them take a second
    from tests.fakes.doctor import Machine
    from tests.fakes.matrix_desk import Matrix
    from tests.fakes.synapse import Synapse
    from tests.fakes.telegram_desk import Telegram
    from tests.fakes.telegram_hub import Scene
    from tests.fakes.web import Web


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A state directory with a name that is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="cb-") as directory:
        monkeypatch.setenv("CHATBRIDGE_RUNTIME_DIR", directory)
        yield os.path.realpath(directory)


@pytest.fixture(params=PARAMETERS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with DATABASES[request.param](tmp_path, request) as found:
        yield found


@pytest.fixture
def hub(state: str) -> Iterator[ScriptedHub]:
    with scripted_hub(state) as it:
        yield it


@pytest.fixture
def client(state: str, hub: ScriptedHub) -> Iterator[LinkClient]:
    with LinkClient({"CHATBRIDGE_STATE_DIR": state, "CHATBRIDGE_RUNTIME_DIR": state}) as it:
        yield it


@pytest.fixture
async def telegram(tmp_path: Path) -> AsyncIterator[Telegram]:
    from tests.fakes.telegram_desk import running_telegram

    async with running_telegram(tmp_path) as telegram:
        yield telegram


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    from tests.fakes.telegram_hub import Scene

    with Scene.set(tmp_path) as scene:
        yield scene


@pytest.fixture
async def matrix(tmp_path: Path, synapse: Synapse) -> AsyncIterator[Matrix]:
    from tests.fakes.matrix_desk import running_matrix

    async with running_matrix(tmp_path, synapse) as matrix:
        yield matrix


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[Web]:
    from tests.fakes.web import running_web

    async with running_web(tmp_path) as web:
        yield web


@pytest.fixture
def machine(state: str, monkeypatch: pytest.MonkeyPatch) -> Machine:
    from tests.fakes.doctor import Machine

    return Machine(Path(state), monkeypatch)
