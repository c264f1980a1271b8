"""What `chatbridge store copy` says before it connects to anything."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from chatbridge.cli.setup.commands import store
from chatbridge.hub.process.lock import Lock

TO = "postgresql://ada:correct-horse@127.0.0.1:9/team"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATBRIDGE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("CHATBRIDGE_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("COLUMNS", "80")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with suppress(SystemExit):
        assert store(list(words)) == 1
    return capsys.readouterr().err


def test_where_nothing_was_asked_yet_the_setting_is_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, "copy", "--to", TO)
    assert text.splitlines() == [
        f"There is no database {tmp_path}/state/chatbridge.db.",
        "Nothing was asked here yet? Then nothing has to be copied: put store = "
        f'"postgresql://ada@127.0.0.1:9/team" into {tmp_path}/config.toml. Otherwise name the '
        "file: chatbridge store copy --from sqlite:///path/to/file.db",
    ]


def test_a_file_that_was_named_and_is_not_there_is_to_be_named_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, "copy", "--to", TO, "--from", f"sqlite://{tmp_path}/none.db")
    assert text.splitlines()[1].startswith("Name the file: chatbridge store copy --from sqlite:")


def test_without_a_word_it_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys).splitlines() == [
        "usage: chatbridge store copy [--to ADDRESS] [--from ADDRESS] [--stop]",
        "       [--dry-run] [--yes]",
        "chatbridge store: say what to do: chatbridge store copy --to "
        "postgresql://user@host/database",
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "say where to: --to postgresql://user@host/database"),
        (("--to", "mysql://host/team"), "--to has to be postgresql://user@host/database"),
        (
            ("--to", "postgresql://ada@[::1/team"),
            "--to: it cannot be read as user, host and database",
        ),
    ],
)
def test_an_address_that_is_none_is_said_first(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    assert says in said(capsys, "copy", *words)


def test_a_hub_that_runs_is_told_of_with_the_option_that_stops_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "state" / "chatbridge.db"
    with Lock(str(database.parent), started_by="link"):
        database.touch()
        text = said(capsys, "copy", "--to", TO)
    assert text.startswith(f"A hub runs (pid {os.getpid()}), so nothing was copied.")
    assert "--stop" in text
