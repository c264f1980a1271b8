"""The test command where there is no browser: the rest runs, and what was not tested is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import pytest

@pytest.mark.browser
def test_in_a_browser(chromium: str) -> None:
    raise AssertionError("there is one")

def test_without_a_browser() -> None:
    pass
"""
NOTHING = "/nonexistent"


def run_tests(folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """A run of its own, that finds no program at all on its PATH."""
    (folder / "test_two.py").write_text(TESTS, encoding="utf-8")
    words = ["-q", "-p", "no:cacheprovider", "-p", "tests.conftest", "-c", "pyproject.toml"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words, folder],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        env={**_without_xdist(), "PATH": NOTHING, **settings},
    )


def _without_xdist() -> dict[str, str]:
    """This run may itself be one of several workers."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "CHATBRIDGE_"))}


def test_browser_tests_are_left_out_and_the_end_says_so_and_what_to_do(tmp_path: Path) -> None:
    done = run_tests(tmp_path)
    assert done.returncode == 0, done.stdout
    last = done.stdout[done.stdout.index("NOT TESTED: 1 browser tests") :]
    assert "apt-get install chromium" in last
    assert "1 passed, 1 skipped" in last


def test_where_a_browser_is_required_its_absence_fails(tmp_path: Path) -> None:
    done = run_tests(tmp_path, CHATBRIDGE_REQUIRE_BROWSER="1")
    assert done.returncode == 1
    assert "1 passed, 1 error" in done.stdout
    assert "CHATBRIDGE_REQUIRE_BROWSER=1" in done.stdout
