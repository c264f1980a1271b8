"""How commands end: their codes, and what they say on standard error."""

from __future__ import annotations

import subprocess
import sys

import pytest

from chatbridge.cli.ui.running import Command, argument, complain, run
from chatbridge.core.errors import ChatbridgeError, HubRefused, HubUnreachable
from tests.fakes.program import ROOT


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (HubUnreachable(), 4),
        (HubRefused("no", kind="NotHere"), 1),
        (ChatbridgeError("no"), 1),
        (BrokenPipeError(), 141),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_failure_has_its_code(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.dup2", lambda *_: None)  # the tests' own standard output

    def fails() -> int:
        raise error

    assert run(fails) == code


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the hub has gone. Try again", "The hub has gone.\nTry again\n"),
        ("max_timeout: give seconds. Check x", "max_timeout: give seconds.\nCheck x\n"),
        ("answers[0].values: no", "answers[0].values: no\n"),
        ("version 0.1.0 is old", "Version 0.1.0 is old\n"),
        ("One. Two. Three.", "One.\nTwo. Three.\n"),
    ],
)
def test_first_comes_what_happened_and_then_what_to_do(
    text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    complain(text)
    assert capsys.readouterr().err == said


def test_help_is_broken_between_words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    words = "re-read-what-was-written-in-the-file"
    made = Command(
        "x", f"{words} {words}", argument("--y", help=f"it: {words}"), usage=f"x {words}", work=""
    )
    assert made.parser().format_help().split().count(words) == 4


def program(work: str) -> list[str]:
    code = f"import sys; from chatbridge.cli.ui.running import run; sys.exit(run(lambda: {work}))"
    return [sys.executable, "-c", code]


@pytest.mark.process
def test_closed_standard_files_are_no_reason_to_fail() -> None:
    work = "[print('out'), sys.stderr.write('err'), sys.stdin.read(), 5].pop()"
    shell = subprocess.run(
        ["sh", "-c", '"$@" <&- >&- 2>&-; echo $?', "sh", *program(work)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert shell.stdout == "5\n"


@pytest.mark.process
def test_a_full_disk_is_said_and_not_a_traceback() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            program("print('out') or 0"),
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
        )
    assert done.returncode == 1
    assert done.stderr == "No space left on device.\nFree some space, then try again\n"


@pytest.mark.process
def test_what_the_character_set_lacks_is_spelt_out() -> None:
    done = subprocess.run(
        program("print('✓') or 0"),
        cwd=ROOT,
        capture_output=True,
        env={"PYTHONIOENCODING": "latin-1"},
        timeout=30,
    )
    assert (done.returncode, done.stdout) == (0, b"\\u2713\n")
