"""An agent that stops the hub and starts one of its own cannot allow what it has asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbridge.hub.process.lock import account_lock_path
from tests.fakes.approving import LIST
from tests.fakes.machine import House, house
from tests.fakes.page import Page
from tests.fakes.telegram.people import Phone
from tests.fakes.telegram.server import BotApi

COMMAND = "Run this command?"


@pytest.fixture
def place() -> Iterator[tuple[House, Phone]]:
    """A person whose file names a bot and themselves, as `chatbridge setup` writes it."""
    with BotApi.running() as api, house() as home:
        ada = api.person("Ada", username="ada")
        phone = api.private(ada).phone(ada)
        config = home.state.parent / ".config" / "chatbridge" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(
            f'[telegram]\ntoken = "{api.token}"\napi_base = "{api.address}"\n'
            f"allowed_users = [{ada.id}]\n"
        )
        config.chmod(0o600)
        yield home, phone
        Path(account_lock_path(str(api.bot.id))).unlink(missing_ok=True)


def test_a_hub_with_variables_of_the_agents_own_gives_no_approval_on_its_page(
    place: tuple[House, Phone],
) -> None:
    home, phone = place
    with home.agent() as agent:
        agent.initialize()
        agent.request(1, "tools/call", {"name": "approve_tool_use", "arguments": LIST})
        phone.sees("ls -l")
        assert home.run("stop").returncode == 0
        home.environment["CHATBRIDGE_APPROVALS__CHANNELS"] = '["web"]'
        with home.service():
            page = Page(home.state)
            asked = page.sees(COMMAND)
            assert page.allows(asked) == 403
            agent.request(2, "tools/call", {"name": "approve_tool_use", "arguments": LIST})
            other = page.sees(COMMAND, other_than=asked["id"])
            assert page.allows(other) == 403
            told = phone.sees("ignored variables is CHATBRIDGE_APPROVALS__CHANNELS, was none")
            assert told.text.startswith("🌉 Message from chatbridge\n")
            # In the owner's own terminal, where nothing of it is set.
            del home.environment["CHATBRIDGE_APPROVALS__CHANNELS"]
            assert "CHATBRIDGE_APPROVALS__CHANNELS is ignored" in home.run("doctor").stdout
