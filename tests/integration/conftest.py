"""What the link's tests share: a real link process between a client and a scripted hub."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest

from tests.fakes.link_client import LinkClient
from tests.fakes.scripted_hub import ScriptedHub, scripted_hub


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A state directory with a name that is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="cb-") as directory:
        monkeypatch.setenv("CHATBRIDGE_RUNTIME_DIR", directory)
        yield os.path.realpath(directory)


@pytest.fixture
def hub(state: str) -> Iterator[ScriptedHub]:
    with scripted_hub(state) as it:
        yield it


@pytest.fixture
def client(state: str, hub: ScriptedHub) -> Iterator[LinkClient]:
    with LinkClient({"CHATBRIDGE_STATE_DIR": state, "CHATBRIDGE_RUNTIME_DIR": state}) as it:
        yield it
