"""Tools answer before any channel is imported: a client must not wait for what it does not need."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from chatbridge import lock_file
from tests.acceptance.bridge import until
from tests.fakes.machine import COLOURS, House, house
from tests.fakes.program import shadowed

HOLD_CHANNELS = """
import importlib.machinery, sys

class Hold:
    def find_spec(self, name, path, target=None):
        if not name.endswith(".channel") or "hub" not in sys.orig_argv:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        run = spec.loader.exec_module

        def run_later(module):
            open({gate!r}).close()  # waits until somebody opens the other end
            run(module)

        spec.loader.exec_module = run_later
        return spec

sys.meta_path.insert(0, Hold())
"""


def held_back(home: House) -> Path:
    """From now on a hub's import of its first channel waits until this pipe is opened."""
    folder = home.state.parent / "python"
    folder.mkdir()
    gate = folder / "gate"
    os.mkfifo(gate)
    code = HOLD_CHANNELS.format(gate=str(gate))
    home.environment["PYTHONPATH"] = shadowed(folder / "hub", code)
    return gate


def test_a_question_is_taken_while_the_channels_are_not_imported_yet() -> None:
    with ExitStack() as stack:
        home = stack.enter_context(house(cold=True))
        gate = held_back(home)
        agent = stack.enter_context(home.agent())
        agent.initialize()
        agent.request("list", "tools/list")
        assert [tool["name"] for tool in agent.receive()["result"]["tools"]]
        agent.ask(1, {**COLOURS, "wait": False})
        asked = agent.result()["askId"]
        info = lock_file.find_holder(str(home.state))
        assert info is not None
        assert info.web is None
        os.close(os.open(gate, os.O_WRONLY))
        assert home.until()["id"] == asked


def test_a_channel_that_cannot_come_up_leaves_the_tools_alone() -> None:
    nobodys = "203.0.113.1"
    with house(CHATBRIDGE_WEB__HOST=nobodys) as home, home.agent() as agent:
        agent.initialize()
        agent.ask(1, {**COLOURS, "wait": False})
        assert agent.result()["pending"] is True
        log = home.state / "hub.log"
        until(lambda: "Check web.host" in log.read_text() or None, "the reason in the log")
