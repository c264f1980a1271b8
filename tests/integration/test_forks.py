"""The tests' own runner: what its workers find is what is said, whatever becomes of them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
SHARED = """
import os
import pytest

@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    (tmp_path_factory.getbasetemp().parent / f"opened-{os.getpid()}").touch()
    yield
    (tmp_path_factory.getbasetemp().parent / f"closed-{os.getpid()}").touch()
"""


def words(folder: Path, tests: str, *more: str) -> list[str]:
    (folder / "test_some.py").write_text(tests, encoding="utf-8")
    only = ["-p", "no:cacheprovider", "-p", "tests.forks", "-c", "pyproject.toml"]
    where = ["--basetemp", str(folder / "temporary"), str(folder / "test_some.py")]
    return [sys.executable, "-m", "pytest", *only, "-v", "--forks", "2", *where, *more]


def environment() -> dict[str, str]:
    """This run may itself be one of several workers."""
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}


def run(folder: Path, tests: str, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words(folder, tests, *more),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=ROOT,
        env=environment(),
    )


def test_each_test_runs_once_and_what_fails_is_said_with_what_it_printed(tmp_path: Path) -> None:
    tests = """
import sys
import pytest

KEPT = sys.stderr

@pytest.mark.parametrize("number", range(40))
def test_one(number, tmp_path_factory):
    (tmp_path_factory.getbasetemp().parent / f"ran-{number}").touch(exist_ok=False)
    print(f"seen {number}")
    print(f"kept {number}", file=KEPT)
    assert number != 7

def test_two():
    pytest.skip("not here")
"""
    done = run(tmp_path, tests, "-rs")
    assert done.returncode == 1, done.stderr
    assert "1 failed, 39 passed, 1 skipped" in done.stdout
    assert len([*(tmp_path / "temporary").glob("ran-*")]) == 40
    assert "test_one[7]" in done.stdout
    assert re.findall(r"^(?:seen|kept) \d+$", done.stdout, re.MULTILINE) == ["seen 7", "kept 7"]
    assert "not here" in done.stdout


def test_what_a_module_opens_is_closed_once_by_each_worker(tmp_path: Path) -> None:
    tests = f"""{SHARED}
@pytest.mark.parametrize("number", range(20))
def test_one(number, opened):
    pass
"""
    done = run(tmp_path, tests)
    assert done.returncode == 0, done.stdout
    found = sorted(path.name for path in (tmp_path / "temporary").iterdir() if path.is_file())
    closed, opened = found[: len(found) // 2], found[len(found) // 2 :]
    assert 1 <= len(opened) <= 2
    assert [name.removeprefix("closed-") for name in closed] == [
        name.removeprefix("opened-") for name in opened
    ]


def test_a_worker_that_dies_fails_the_test_it_was_in_and_the_others_run(tmp_path: Path) -> None:
    tests = """
import os, signal
import pytest

@pytest.mark.parametrize("number", range(20))
def test_one(number):
    if number in (3, 15):
        os.kill(os.getpid(), signal.SIGKILL)
"""
    done = run(tmp_path, tests)
    assert done.returncode == 1, done.stderr
    assert "2 failed, 18 passed" in done.stdout
    assert "ended in it: -9" in done.stdout


def test_after_the_first_failure_no_more_are_begun_if_that_is_wanted(tmp_path: Path) -> None:
    tests = f"""{SHARED}
@pytest.mark.parametrize("number", range(2000))
def test_one(number, opened):
    assert number != 0
"""
    done = run(tmp_path, tests, "-x")
    assert done.returncode == 1, done.stderr
    assert "stopping after 1 failures" in done.stdout
    passed = re.search(r"1 failed, (\d+) passed", done.stdout)
    assert passed is None or int(passed[1]) < 1500
    closed = [*(tmp_path / "temporary").glob("closed-*")]
    assert len(closed) == len([*(tmp_path / "temporary").glob("opened-*")])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_or_a_kill_ends_the_workers_too_and_they_close_what_they_opened(
    tmp_path: Path, number: signal.Signals
) -> None:
    tests = f"""{SHARED}
@pytest.mark.parametrize("number", range(20_000))
def test_one(number, opened, tmp_path_factory):
    (tmp_path_factory.getbasetemp() / "runs").touch()
"""
    process = subprocess.Popen(
        words(tmp_path, tests),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env=environment(),
        start_new_session=True,
    )
    temporary = tmp_path / "temporary"
    until(lambda: len([*temporary.glob("*/runs")]) == 2)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does
    else:
        process.kill()
    process.wait(PATIENCE)
    until(lambda: len([*temporary.glob("closed-*")]) == 2)


def until(fits: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not fits():
        assert time.monotonic() < end
        time.sleep(0.02)
