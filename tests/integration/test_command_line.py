"""The words of the command line, and `chatbridge stop`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chatbridge import __version__, lock_file
from chatbridge.cli import COMMANDS
from chatbridge.cli.hub.control import STOPPED
from tests.fakes.program import CHATBRIDGE, bare

LIGHT = """
import sys
before = set(sys.modules)
from chatbridge.__main__ import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert end.code == 0
sys.stderr.write(" ".join(set(sys.modules) - before))
"""
HOLDER = """
import os, signal, sys
from chatbridge import lock_file, runtime_paths
if sys.argv[2] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
state = sys.argv[1]
lock = lock_file.acquire(state)
path = None
if sys.argv[2] == "listening":
    path = runtime_paths.socket_path(state)
    listener = runtime_paths.bind_socket(path)
lock_file.write(
    lock, lock_file.LockInfo(pid=os.getpid(), version="1", socket=path, started_by="link")
)
print("holds", flush=True)
signal.pause()
"""


@pytest.fixture
def state() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cb-") as directory:
        yield Path(os.path.realpath(directory))


def environment(state: Path) -> dict[str, str]:
    return bare(
        {
            "CHATBRIDGE_STATE_DIR": str(state),
            "CHATBRIDGE_RUNTIME_DIR": str(state),
            "CHATBRIDGE_CONFIG": str(state / "config.toml"),
        }
    )


def chatbridge(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CHATBRIDGE, *words],
        env=environment(state),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )


def holder(state: Path, manner: str) -> subprocess.Popen[str]:
    """A process that holds the lock as a hub does."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(state), manner],
        env=environment(state),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "holds\n"
    process.stdout.close()
    return process


@pytest.mark.parametrize("words", [[], ["--help"], ["help"]])
def test_help_lists_every_command_and_fits_a_screen(state: Path, words: list[str]) -> None:
    done = chatbridge(state, *words)
    assert done.returncode == 0
    listed = [line[2:].partition("   ")[0] for line in done.stdout.splitlines() if line[:2] == "  "]
    assert sorted(name for row in listed for name in row.split(", ")) == sorted(COMMANDS)
    lines = done.stdout.splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        *([name, "--help"] for name in ("ask", "notify", "pending", "answer", "tools", "doctor")),
    ],
)
def test_help_comes_at_once_because_nothing_heavy_is_imported(
    state: Path, words: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIGHT, *words],
        env=environment(state),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.stdout.startswith(("usage: ", "chatbridge carries"))
    found = {name.partition(".")[0] for name in done.stderr.split()}
    assert "chatbridge" in found
    heavy = {"asyncio", "pydantic", "rich", "mcp", "mcp_types", "socket"}
    if sys.version_info < (3, 14):  # since then argparse has its colours by them
        heavy.add("dataclasses")
    assert not found & heavy


def test_the_version_is_the_packages(state: Path) -> None:
    assert chatbridge(state, "--version").stdout == f"chatbridge {__version__}\n"


def test_an_unknown_command_is_answered_with_those_that_exist(state: Path) -> None:
    done = chatbridge(state, "halt")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'halt'" in done.stderr
    assert "stop" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--labl", "x"],
        ["--label"],
        ["--label", "--limit", "60"],
        ["x"],
        ["--limit", "1h"],
        ["--limit", "0"],
        ["--limit="],
        ["--limit", "9" * 400],
        ["--limit", "9" * 5000],
        ["--standalone", "--limit", "-1"],
        ["--standalone", "--limit", "9" * 400],
    ],
)
def test_a_wrong_flag_of_a_link_is_refused_and_stdout_stays_clean(
    state: Path, words: list[str]
) -> None:
    done = chatbridge(state, "mcp", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage: chatbridge mcp" in done.stderr


def test_the_links_help_is_not_written_where_mcp_goes(state: Path) -> None:
    done = chatbridge(state, "mcp", "--help")
    assert (done.returncode, done.stdout) == (0, "")
    assert "--label NAME" in done.stderr


@pytest.mark.parametrize("width", [50, 80, 200])
@pytest.mark.parametrize("word", ["", *COMMANDS])
def test_every_help_fits_80_columns_and_breaks_no_word_at_50(
    word: str,
    width: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from chatbridge.__main__ import main

    monkeypatch.setenv("COLUMNS", "80")
    words = help_words(main, word, capsys)
    monkeypatch.setenv("COLUMNS", str(width))
    within = width if word == "hub" else min(width, 80)
    assert help_words(main, word, capsys, within=within) == words


def help_words(
    main: Callable[[list[str]], int],
    word: str,
    capsys: pytest.CaptureFixture[str],
    *,
    within: int = 80,
) -> list[str]:
    """The words of a help text, each of which is whole and, unless it is a long path, in its
    line."""
    try:
        assert main([word, "--help"] if word else ["--help"]) == 0
    except SystemExit as end:
        assert end.code == 0  # noqa: PT017
    said = capsys.readouterr()
    lines = (said.out + said.err).splitlines()
    assert all(len(line) <= within or len(line.split()) == 1 for line in lines)
    return " ".join(lines).split()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["inbx"], "chatbridge has no command 'inbx', did you mean inbox?"),
        (["connect", "codx"], "There is no client 'codx', did you mean codex?"),
        (["disconnect", "nothing"], "There are: claude-code, codex"),
        (["setup", "--non-interactive", "--connect", "curser"], "did you mean cursor?"),
        (["setup", "--non-interactive", "--wait", "soon"], "--wait 'soon'"),
        (["setup", "--non-interactive"], "there is nothing to do"),
        (["setup", "--non-interactive", "--telegram-user", "1"], "--telegram-token-file"),
        (["service", "instal"], "did you mean install?"),
        (["completion", "bsh"], "did you mean bash?"),
        (["people", "remov", "1"], "did you mean remove?"),
        (["token", "ad", "x"], "did you mean add?"),
        (["tools", "chek"], "did you mean check?"),
        (["tools", "add", "gti"], "did you mean git?"),
        (["notify", "x", "--level", "warnin"], "did you mean warning?"),
        (["history", "--jsn"], "there is no argument --jsn, did you mean --json?"),
        (["history", "--limit", "0"], "'0' is not a number from 1 to 1000"),
        (["stats", "--since", "3 weeks"], "--since: '3 weeks' is no time; give how far back"),
        (["stats", "--since", "30"], "--since: '30' is no time; give how far back, as in 12h"),
        (["stats", "--since", "0d"], "as in 12h or 30d, at most 3650d"),
        (["stats", "--since", "4000d"], "as in 12h or 30d, at most 3650d"),
        (["stats", "--since", "-1d"], "--since: expected one argument"),
        (["quiet", "for", "ever"], "'for ever' says no time. Say for how long, such as 2h"),
        (["quiet", "until", "25:00"], "'until 25:00' says no time"),
        (["quiet", "off", "2h"], "'off 2h' says no time"),
        (["ask"], "required: question"),
        (["ask", "x", "--timeout", "1"], "10 s is the shortest"),
        (["answer"], "required: ID\n"),
        (["serve", "--http", "8788"], "accepted: an address and a port"),
        (["demo", "now"], "now"),
        (["hub", "--now"], "--now"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_was_probably_meant(
    state: Path,
    words: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from chatbridge.__main__ import main

    for name, value in environment(state).items():
        monkeypatch.setenv(name, value)
    try:
        code: object = main(words)
    except SystemExit as end:
        code = end.code
    assert code == 2
    printed = capsys.readouterr()
    assert (said in printed.err, printed.out) == (True, "")


def test_stop_without_a_hub_says_so(state: Path) -> None:
    done = chatbridge(state, "stop")
    assert (done.returncode, done.stdout) == (0, "The hub is not running.\n")


@pytest.mark.parametrize("manner", ["listening", "still starting"])
def test_stop_ends_the_hub_and_waits_for_it(state: Path, manner: str) -> None:
    process = holder(state, manner)
    done = chatbridge(state, "stop")
    assert (done.returncode, done.stdout) == (0, f"{STOPPED.format(process.pid)}\n")
    os.close(lock_file.acquire(str(state)))
    assert process.wait(10) == -signal.SIGTERM


@pytest.mark.parametrize("word", ["stop", "restart"])
def test_a_mistake_in_the_settings_keeps_the_hub_running(state: Path, word: str) -> None:
    (state / "config.toml").write_text("[web]\nhots = 'x'\n")
    process = holder(state, "listening")
    try:
        done = chatbridge(state, word)
        assert (done.returncode, done.stdout) == (1, "")
        assert "web.hots is not a setting, did you mean host? (line 2).\n" in done.stderr
        assert f"Correct {state}/config.toml" in done.stderr
        assert "Nothing was stopped" in done.stderr
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_force_stops_the_hub_whatever_the_settings_say(state: Path) -> None:
    (state / "config.toml").write_text("colour = 1\n")
    process = holder(state, "listening")
    done = chatbridge(state, "stop", "--force")
    assert (done.returncode, done.stdout) == (0, f"{STOPPED.format(process.pid)}\n")
    assert process.wait(10) == -signal.SIGTERM


def test_without_a_hub_stop_does_not_mind_the_settings(state: Path) -> None:
    (state / "config.toml").write_text("colour = 1\n")
    done = chatbridge(state, "stop")
    assert (done.returncode, done.stdout) == (0, "The hub is not running.\n")


def test_stop_never_signals_a_process_that_only_has_the_pid_of_a_dead_hub(state: Path) -> None:
    process = holder(state, "listening")
    process.kill()
    process.wait()
    innocent = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    lock = lock_file.acquire(str(state))
    info = lock_file.LockInfo(pid=innocent.pid, version="1", socket=None, started_by="link")
    lock_file.write(lock, info)
    os.close(lock)
    try:
        assert chatbridge(state, "stop").stdout == "The hub is not running.\n"
        assert innocent.poll() is None
    finally:
        innocent.kill()
        innocent.wait()


def test_a_hub_that_does_not_stop_is_reported(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from chatbridge.cli.hub import commands, control

    process = holder(state, "stubborn")
    monkeypatch.setattr(control, "STOP_SECONDS", 0.2)
    monkeypatch.setenv("CHATBRIDGE_STATE_DIR", str(state))
    try:
        assert commands.stop([]) == 1
        assert f"pid {process.pid}" in capsys.readouterr().err
    finally:
        process.kill()
        process.wait()
