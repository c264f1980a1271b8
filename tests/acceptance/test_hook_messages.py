"""What the owner writes to an agent, from the hub to the hooks that its client runs, and what is
next when it has finished."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chatbridge import lock_file
from chatbridge.cli.hub.hub_client import HubClient
from chatbridge.system import sockets
from tests.acceptance.test_hook import until_alone
from tests.fakes.hooked import EVENT, PATIENCE, Hook, hooked
from tests.fakes.machine import House, house
from tests.fakes.page import Page

Json = dict[str, Any]
GO_ON = "Your owner has given you the next task, so go on. "
SETTINGS = """\
[messages]
terminal = "anybody"
[claude]
when_done = "ask"
wait = "1h"
"""


@pytest.fixture(scope="module")
def home() -> Iterator[House]:
    """One hub, and one agent behind a link."""
    with house(CHATBRIDGE_MIN_TIMEOUT="1") as here:
        config = here.state.parent / ".config" / "chatbridge" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(SETTINGS)
        with here.agent() as agent:
            agent.initialize()
            wait_for(lambda: ask_hub(here, "agents")["agents"])
            yield here


@pytest.fixture
def page(home: House) -> Page:
    return Page(home.state)


def wait_for(found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if it := found():
                return it
        except OSError:
            pass  # no hub yet
        time.sleep(0.05)
    raise AssertionError("it does not come")


def ask_hub(home: House, do: str, **given: Any) -> Json:
    info = lock_file.read(str(home.state))
    if info is None or info.socket is None:
        raise OSError("no hub")
    with sockets.connect(info.socket) as sock:
        line = HubClient(sock)
        line.greet()
        return line.ask(do, **given)


def tell(home: House, text: str) -> None:
    ask_hub(home, "tell", agent="shop", text=text)


def waiting(home: House) -> list[Json]:
    found: list[Json] = ask_hub(home, "agents")["messages"]
    return found


def after_tool(home: House) -> Json:
    return {**EVENT, "cwd": str(home.project), "hook_event_name": "PostToolUse"}


def stop(home: House, words: str, **more: object) -> Hook:
    event = {**EVENT, "cwd": str(home.project), "hook_event_name": "Stop", **more}
    event |= {"last_assistant_message": words, "stop_hook_active": False}
    return Hook(event, home.environment)


@pytest.fixture
def words(request: pytest.FixtureRequest) -> str:
    """The agent's last ones, for each test others."""
    return f"Finished {request.node.name}."


def context(said: Json | None) -> str:
    assert said
    assert said["hookEventName"] == "PostToolUse"
    return str(said["additionalContext"])


# ── after a tool ──────────────────────────────────────────────────────────────────────────────────


def test_a_message_reaches_the_agent_after_a_tool_and_only_once(home: House) -> None:
    tell(home, "use tabs")
    said = context(hooked(after_tool(home), home.environment))
    assert said.startswith("Message from the owner of this computer, sent ")
    assert said.endswith("in the terminal: use tabs")
    assert waiting(home) == []
    assert hooked(after_tool(home), home.environment) is None


def test_two_hooks_at_once_say_it_once(home: House) -> None:
    tell(home, "use tabs")
    event = after_tool(home)
    with Hook(event, home.environment) as one, Hook(event, home.environment) as two:
        said = [one.says(), two.says()]
    assert sum(it is not None for it in said) == 1
    assert waiting(home) == []


def test_a_message_outlives_the_hub(home: House) -> None:
    tell(home, "use tabs")
    home.kill_hub(signal.SIGKILL)
    said = wait_for(lambda: hooked(after_tool(home), home.environment))
    assert context(said).endswith("use tabs")
    assert waiting(home) == []


def test_without_a_hub_nothing_is_said_and_none_is_started(tmp_path: Path) -> None:
    event = {**EVENT, "cwd": str(tmp_path), "hook_event_name": "PostToolUse"}
    state = tmp_path / "state"
    assert hooked(event, {"CHATBRIDGE_STATE_DIR": str(state), "HOME": str(tmp_path)}) is None
    assert not state.exists()


# ── at the end ────────────────────────────────────────────────────────────────────────────────────


def test_the_answer_on_the_page_is_the_next_task(home: House, page: Page, words: str) -> None:
    with stop(home, words) as hook:
        ask = page.sees(words)
        assert ask["title"] == "Finished"
        page.taps(ask, "text", step=0, text="Fix the docs")
        said = hook.prints()
    assert said
    assert said.keys() == {"decision", "reason"}
    assert said["decision"] == "block"
    assert said["reason"].startswith(f"{GO_ON}Message from the owner of this computer, sent ")
    assert said["reason"].endswith("in a browser logged in with the token: Fix the docs")
    wait_for(lambda: page.ask(ask["id"])["delivered"])


def test_a_file_of_the_answer_is_named_with_its_path(home: House, page: Page, words: str) -> None:
    with stop(home, words) as hook:
        ask = page.sees(words)
        assert page.attaches(ask, b"a,b\n", "table.csv") == 200
        assert page.taps(ask, "text", step=0, text="Like this") == 200
        said = hook.prints()
    assert said
    assert "token: Like this\n" in said["reason"]
    attached = said["reason"].partition("Attached: table.csv (")[2]
    assert Path(attached.partition("): ")[2].strip()).read_bytes() == b"a,b\n"


def test_a_message_ends_the_question(home: House, page: Page, words: str) -> None:
    with stop(home, words) as hook:
        ask = page.sees(words)
        tell(home, "Fix the docs")
        said = hook.prints()
    assert said
    assert said["reason"].endswith("in the terminal: Fix the docs")
    assert page.ask(ask["id"])["status"] == "withdrawn"
    wait_for(lambda: waiting(home) == [])


def test_a_hook_that_is_ended_takes_its_question_back(home: House, page: Page, words: str) -> None:
    with stop(home, words) as hook:
        ask = page.sees(words)
        os.killpg(hook.process.pid, signal.SIGTERM)  # as Claude Code does on Esc
        wait_for(lambda: page.ask(ask["id"])["status"] == "withdrawn")
        assert hook.process.wait(PATIENCE) == 1


def test_a_hook_that_is_killed_is_known_to_be_gone(home: House, page: Page, words: str) -> None:
    with stop(home, words) as hook:
        ask = page.sees(words)
        hook.process.kill()
        until_alone(home, ask)
    assert page.taps(ask, "skip", step=0) == 200


def test_no_script_can_give_the_next_task(home: House, page: Page, words: str) -> None:
    with stop(home, words) as hook:
        ask = page.sees(words)
        answers = [{"questionId": "next", "values": ["rm -rf /"]}]
        assert page.with_token(f"/api/asks/{ask['id']}/answer", {"answers": answers}) == 403
        done = home.run("answer", ask["id"], "rm -rf /")
        assert done.returncode == 1
        assert "chatbridge tell" in done.stderr
        assert f"Finished: {words}"[:30] in home.run("pending").stdout
        page.taps(ask, "skip", step=0)
        assert hook.prints() is None
