"""Commands that are really run: how they end, what they get, and what they print."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from chatbridge.commands.runner import start
from tests.fakes.runner_desk import Desk, alive, desk, end_runner, eventually, open_gate

MEGABYTE = 1_000_000


@pytest.fixture
async def hub(state: str) -> AsyncIterator[Desk]:
    async with desk(state) as it:
        yield it
    await end_runner(state)


async def test_the_exit_code_and_the_times_are_told(hub: Desk) -> None:
    end = await hub.run(hub.shell("exit 7"))
    assert (end.how, end.exit_code, end.signal, end.error) == ("exited", 7, None, None)
    assert end.started_at is not None
    assert end.started_at <= end.ended_at


async def test_a_command_that_a_signal_ended_says_which(hub: Desk) -> None:
    end = await hub.run(hub.shell("kill -SEGV $$"))
    assert (end.how, end.exit_code, end.signal) == ("exited", None, signal.SIGSEGV)


async def test_what_cannot_be_started_says_why_and_starts_nothing(hub: Desk, state: str) -> None:
    plain = Path(state) / "plain"
    plain.write_text("text")
    orphan = Path(state) / "orphan"
    orphan.write_text("#!/no/such/interpreter\n")
    orphan.chmod(0o755)
    nothing = Path(state) / "nothing"
    nothing.write_text("text without a first line that names a program")
    nothing.chmod(0o755)
    for order, why in (
        (hub.order("/no/such/program", id="a"), "No such file"),
        (hub.order(str(plain), id="b"), "Permission denied"),
        (hub.order(str(orphan), id="c"), "first line names"),
        (hub.order(str(nothing), id="d"), "Exec format error"),
        (hub.order("true", id="e"), "not a whole path"),
        (hub.shell("true", id="f", folder=f"{state}/gone"), "cannot be entered"),
        (hub.order("/bin/true", "x" * 200_000, id="g"), "too long"),
        (hub.order("/bin/true", "zero\0byte", id="h"), "cannot be handed over"),
        (hub.order("/bin/true", "x" * 20_000_000, id="j"), "too long"),
        (hub.shell("true", id="i", output=f"{state}/gone/i"), "cannot be written"),
    ):
        end = await hub.run(order)
        assert (end.how, end.exit_code, end.started_at) == ("not_started", None, None)
        assert why in (end.error or ""), order.id
    assert (await hub.run(hub.shell("pwd", id="fine"))).how == "exited"
    assert hub.printed("fine").decode().strip() == state


async def test_both_outputs_are_in_one_file_in_the_order_of_printing(hub: Desk) -> None:
    end = await hub.run(hub.shell("for i in 1 2 3; do echo out $i; echo err $i >&2; done"))
    assert hub.printed().decode().split("\n")[:4] == ["out 1", "err 1", "out 2", "err 2"]
    assert end.size == len(hub.printed())
    assert stat.S_IMODE((hub.outputs / "one").stat().st_mode) == 0o600


async def test_bytes_that_are_no_text_are_kept_as_they_are(hub: Desk) -> None:
    script = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 100)"
    await hub.run(hub.python(script))
    assert hub.printed() == bytes(range(256)) * 100


async def test_arguments_arrive_byte_for_byte(hub: Desk) -> None:
    words = ["", "ä ö", "$(id)", "a\nb", "-x", "\udcff\udcfe", "𝛑", "'\""]
    script = "import os, sys; os.write(1, b'\\0'.join(map(os.fsencode, sys.argv[1:])))"
    order = hub.python(script)
    await hub.line.start(hub.order(order.executable, *order.argv[1:], *words))
    await hub.end("one")
    assert hub.printed().split(b"\0") == [os.fsencode(word) for word in words]


async def test_of_an_endless_output_the_beginning_and_the_end_are_kept(hub: Desk) -> None:
    script = (
        "import os\n"
        "for i in range(500): os.write(1, b'%08d\\n' % i + b'x' * 99_990 + b'\\n')\n"
        "os.write(1, b'the last words')"
    )
    end = await hub.run(hub.python(script, limit=MEGABYTE))
    printed = hub.printed()
    assert end.size == 500 * 100_000 + 14
    line = f"\n[… {end.left_out} bytes left out …]\n".encode()
    assert line in printed
    assert end.size == len(printed) - len(line) + end.left_out
    assert len(printed) == MEGABYTE + len(line)
    assert printed.startswith(b"00000000\nxxx")
    assert printed.endswith(b"the last words")


async def test_an_output_of_just_the_limit_is_whole(hub: Desk) -> None:
    for size, left in ((1000, 0), (1001, 1)):
        name = f"size-{size}"
        end = await hub.run(hub.python(f"print('x' * {size}, end='')", id=name, limit=1000))
        assert (end.size, end.left_out) == (size, left)
        assert hub.printed(name).count(b"x") == 1000


async def test_the_environment_is_what_was_given_and_the_mark(hub: Desk, state: str) -> None:
    given = {"A": "1", "B": "ä\udcff"}
    await hub.run(hub.order("/usr/bin/env", "-0", environment=given))
    found = {entry for entry in hub.printed().split(b"\0") if entry}
    mark = f"CHATBRIDGE_OPERATION=one@{start.place(state)}"
    assert found == {b"A=1", "B=ä".encode() + b"\xff", mark.encode()}


@pytest.fixture
def few_files() -> Iterator[int]:
    """The hub may have fewer open files than the runner needs: its limit."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (900, before[1]))
    yield 900
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_a_command_has_a_session_of_its_own_nothing_to_read_and_usual_signals(
    few_files: int, hub: Desk
) -> None:
    script = (
        "grep SigIgn /proc/self/status; grep SigBlk /proc/self/status; umask; ulimit -n\n"
        "ls /proc/self/fd | wc -l; wc -c; cut -d' ' -f6 /proc/self/stat; echo $$"
    )
    await hub.run(hub.shell(script))
    words = hub.printed().decode().split()
    ignored, blocked, umask, files, descriptors, read, session, pid = words[1:2] + words[3:]
    libraries_own = (1 << 31) | (1 << 32)
    assert int(ignored, 16) & ~libraries_own == 0, "a pipe that breaks ends a program as usual"
    assert int(blocked, 16) == 0
    assert umask == "0022"
    assert files == str(few_files)
    assert descriptors == "4", "the usual three, and the folder that ls reads"
    assert read == "0"
    assert session == pid


async def test_a_command_that_leaves_a_process_behind_ends_all_the_same(hub: Desk) -> None:
    end = await hub.run(hub.shell("sleep 300 & echo $!"))
    left = int(hub.printed())
    try:
        assert (end.how, end.exit_code) == ("exited", 0)
        assert alive(left), "a daemon that was left on purpose goes on"
    finally:
        os.kill(left, signal.SIGKILL)
    await eventually(lambda: not Path(f"/proc/{left}").exists())


async def test_the_same_id_twice_starts_once(hub: Desk, state: str) -> None:
    order = hub.shell("echo ran >> count; read -r _ < gate")
    os.mkfifo(f"{state}/gate")
    await asyncio.gather(*(hub.line.start(order) for _ in range(5)))
    await hub.line.start(order)
    open_gate(state)
    await hub.end("one")
    await hub.line.start(order)
    await hub.line.forget("one")
    await hub.line.start(order)  # its output is still there
    assert (Path(state) / "count").read_text() == "ran\n"


async def test_what_was_forgotten_leaves_no_record(hub: Desk) -> None:
    await hub.run(hub.shell("true"))
    assert (hub.outputs / "one.end").exists()
    assert list(await hub.line.known()) == ["one"]
    await hub.line.forget("one")
    assert not await hub.line.known()
    assert [file.name for file in hub.outputs.iterdir()] == ["one"]
