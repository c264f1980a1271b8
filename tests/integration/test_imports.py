"""What each command has imported when it is ready to read its arguments, and when it has done its
work: a start stays quick as long as nothing heavy gets in. Counted, not timed."""

from __future__ import annotations

import ast
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from chatbridge.channels.registry import channel_specs
from chatbridge.cli import COMMANDS
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import INITIALIZE, House, house
from tests.fakes.program import ROOT, bare

SLOW = {"asyncio", "dataclasses", "datetime", "email", "inspect", "logging", "pathlib"}
SLOW |= {"sqlite3", "ssl", "subprocess", "tempfile", "tomllib", "urllib"}
"""Of the standard library, those that cost a command noticeably."""
CLIENTS = ["dataclasses", "inspect", "pathlib", "urllib"]
MAY_IMPORT = {
    "hub": ["logging", "pathlib", "urllib"],
    "connect": CLIENTS,  # whose names are in its help
    "disconnect": CLIENTS,
    "token": ["dataclasses", "inspect", "logging"],
    "demo": ["pathlib", "subprocess", "tempfile", "urllib"],
}
"""Before a command has read its arguments. The others: nothing of these."""
NAMES = """
def heavy():
    names = {name.partition(".")[0] for name in sys.modules if not name.startswith("_")}
    ours = {"chatbridge"}
    # What Python itself has imported before: editable installations, virtual environments.
    return sorted((names - set(sys.stdlib_module_names) - ours - before) | names & SLOW)
"""
EACH = f"""
import json, os, sys
before = set(sys.modules)
SLOW = {SLOW!r}
{NAMES}
from chatbridge.cli import COMMANDS
from chatbridge.cli.completion import parser_of
for word in COMMANDS:
    if os.fork() == 0:
        make = parser_of(word)
        if make is not None:
            make()
        print(json.dumps([word, heavy()]), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, word
"""
ONE = f"""
import json, sys
before = set(sys.modules)
SLOW = {SLOW!r}
{NAMES}
from chatbridge.__main__ import main
try:
    code = main(sys.argv[1:])
except SystemExit as end:
    code = end.code
sys.stderr.write("\\n" + json.dumps([code, heavy()]))
"""

ALL = """
import json, sys
from chatbridge.__main__ import main
try:
    code = main(sys.argv[1:])
except SystemExit as end:
    code = end.code
sys.stderr.write("\\n" + json.dumps([code, sorted(sys.modules)]))
"""
HUBS = """
import json, os, sys
import chatbridge.hub.wiring.serving as serving
from chatbridge.__main__ import main
for line in sys.stdin:
    environment, modules = json.loads(line)
    if pid := os.fork():
        print(pid, flush=True)
        os.waitpid(pid, 0)
        continue
    os.environ.clear()
    os.environ.update(environment)
    code = serving.import_everything(modules) if modules else main(["hub"])
    print(json.dumps([code, sorted(sys.modules)]), flush=True)
    os._exit(0)
"""
"""One process for all: it has imported what every hub does, and forks one for each line."""
CLIENTS_OF = {"telegram": {"telegram"}, "matrix": {"nio", "aiohttp"}, "ntfy": set[str]()}
CLIENTS_OF |= {"slack": {"slack_sdk", "aiohttp"}, "discord": {"aiohttp"}}
"""Without httpx, which the SDK of MCP brings along."""
RINGING = {"jwt", "chatbridge.channels.web.push.surface"}
"""What only an inbox needs whose browsers ring."""
PARTS = ("channels", "core", "hub", "settings", "store", "tools")
BEFORE = {
    *("hub/process/start.py", "hub/process/standalone.py", "hub/http/serving.py"),
    "hub/wiring/database.py",
}
"""What these import, they import before the hub is ready, or never."""
INDENTED = re.compile(r"^[ \t]+(?:from|import) ", re.MULTILINE)
NOWHERE = "http://127.0.0.1:9"
CHATS = {
    "telegram": {"TOKEN": "1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "API_BASE": NOWHERE},
    "discord": {"TOKEN": f"{'M' * 24}.AbCdEf.{'x' * 38}", "API_BASE": NOWHERE},
    "slack": {
        "BOT_TOKEN": "xoxb-1-2-test-token",
        "APP_TOKEN": "xapp-1-A00IMPORTS-3-test-token",
        "API_BASE": NOWHERE,
    },
    "ntfy": {"TOPIC": "agents", "SERVER": NOWHERE, "ANSWERS": "true"},
}


def test_no_command_imports_anything_heavy_before_it_reads_its_arguments() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EACH], capture_output=True, text=True, timeout=60, env=bare({})
    )
    assert done.returncode == 0, done.stderr
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    assert found.keys() == COMMANDS.keys()
    assert {word: names for word, names in found.items() if names} == MAY_IMPORT


@pytest.fixture(scope="module")
def home() -> Iterator[House]:
    with house() as home, home.agent() as agent:
        agent.initialize()
        yield home


def started(home: House, *words: str, script: str = ONE) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home.project,
        env=bare(home.environment),
    )


def ended(process: subprocess.Popen[str], given: str = "") -> tuple[int, list[str]]:
    """With which code, and what of the heavy there was in the end."""
    _, said = process.communicate(given, timeout=60)
    code, heavy = json.loads(said.rpartition("\n")[2])
    return code, heavy


@pytest.mark.parametrize(
    "words",
    [
        ["notify", "Built."],
        ["pending"],
        ["history"],
        ["status", "--json"],
        ["version"],
        ["tools", "--help"],
    ],
    ids=lambda words: words[0],
)
def test_a_command_in_a_script_has_imported_nothing_heavy_in_the_end(
    home: House, words: list[str]
) -> None:
    assert ended(started(home, *words)) == (0, [])


def test_an_ask_has_imported_nothing_heavy_when_it_is_answered(home: House) -> None:
    asking = started(home, "ask", "Which?", "-o", "blue")
    home.answer(home.until())
    assert ended(asking) == (0, ["dataclasses", "datetime", "inspect"])  # for the time it ends


def test_a_link_and_a_hook_have_imported_nothing_heavy_in_the_end(home: House) -> None:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    assert ended(started(home, "mcp"), json.dumps(hello) + "\n") == (0, [])
    event = {"hook_event_name": "Notification", "message": "Done.", "cwd": str(home.project)}
    assert ended(started(home, "hook"), json.dumps(event)) == (0, [])


def test_a_hub_is_up_before_it_imports_the_sdk() -> None:
    script = (
        "import sys; import chatbridge.hub.wiring.serving; "
        "print({'mcp', 'mcp_types.methods', 'starlette', 'httpx2'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=bare({})
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")


@dataclass(frozen=True, slots=True)
class Hubs:
    process: subprocess.Popen[str]

    def forked(self, environment: dict[str, str], *modules: str) -> int:
        """The pid of a hub; or of one that only imports what the hub with these channels does."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps([environment, modules]) + "\n")
        self.process.stdin.flush()
        return int(self._line())

    def imported(self) -> tuple[int | None, list[str]]:
        """With which code the last one ended, and what it had imported then."""
        code, found = json.loads(self._line())
        return code, found

    def _line(self) -> str:
        assert self.process.stdout
        assert select.select([self.process.stdout], [], [], PATIENCE)[0], "nothing was said"
        return self.process.stdout.readline()


@pytest.fixture(scope="module")
def hubs() -> Iterator[Hubs]:
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", HUBS]
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env=bare({})) as process:
        yield Hubs(process)
        process.communicate()


@pytest.mark.parametrize("chat", CHATS)
def test_a_hub_imports_its_chat_and_of_others_only_what_their_settings_need(
    chat: str, hubs: Hubs
) -> None:
    settings = {f"CHATBRIDGE_{chat.upper()}__{name}": it for name, it in CHATS[chat].items()}
    with house(cold=True, **settings) as home:
        pid = hubs.forked(bare(home.environment))
        home.until_hub(pid)
        os.kill(pid, signal.SIGTERM)  # it imports all the same before it ends
        code, found = hubs.imported()
    assert code == 0
    assert not RINGING & set(found)
    libraries = set.union(*CLIENTS_OF.values())
    assert libraries & set(found) == CLIENTS_OF[chat]
    folders = {name: f"chatbridge.channels.{name}" for name in CLIENTS_OF}
    assert f"{folders[chat]}.channel" in found
    others = tuple(folder for name, folder in folders.items() if name != chat)
    of_others = {name for name in found if name.startswith(others)}
    known = {f"{folder}.{part}" for folder in others for part in ("spec", "settings")}
    assert of_others == {*others, *known}


def test_a_ready_hub_imports_nothing_of_ours_later(hubs: Hubs) -> None:
    hubs.forked(bare({}), *(spec.module for spec in channel_specs()))
    _, ready = hubs.imported()
    package = ROOT / "chatbridge"
    still = {
        f"{file.relative_to(package)}: {name}"
        for part in PARTS
        for file in (package / part).rglob("*.py")
        if str(file.relative_to(package)) not in BEFORE
        for name in late(file)
        if name.startswith("chatbridge") and name not in ready
    }
    assert still == set()


def late(path: Path) -> Iterator[str]:
    """The modules of ours that a function in this file imports."""
    code = path.read_text(encoding="utf-8")
    if not INDENTED.search(code):
        return
    for function in ast.walk(ast.parse(code)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom) and node.module:
                    yield node.module
                elif isinstance(node, ast.Import):
                    yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("words", [["--version"], ["setup", "--help"], ["doctor", "--help"]])
def test_no_help_imports_more_of_a_channel_than_its_spec(home: House, words: list[str]) -> None:
    code, found = ended(started(home, *words, script=ALL))
    assert code == 0
    inner = {
        name for name in found if name.startswith("chatbridge.channels.") and name.count(".") > 2
    }
    assert {name for name in inner if not name.endswith(".spec")} == set()


def test_a_hook_imports_nothing_that_a_link_does_not() -> None:
    script = (
        "import sys; before = set(sys.modules); import chatbridge.cli.agents.hook; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=30
    )
    found = done.stdout.split()
    assert "chatbridge.cli.agents.hook_events" in found
    heavy = {"asyncio", "pydantic", "mcp", "mcp_types", "anyio", "ssl", "dataclasses"}
    assert not heavy & set(found)


def test_a_link_does_without_what_only_types_need() -> None:
    script = "import sys; before = set(sys.modules); import chatbridge.link.loop; " + (
        "print(sorted({'typing', 'dataclasses', 'asyncio', 'ssl'} & (set(sys.modules) - before)))"
    )
    # -S: an editable installation's own hook may have imported typing before.
    done = subprocess.run(
        [sys.executable, "-S", "-c", script], capture_output=True, text=True, env=bare({})
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
