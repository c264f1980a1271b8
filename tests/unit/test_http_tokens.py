"""Tokens of agents over HTTP: shown once, kept as digests, gone when they are removed."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.__main__ import main
from chatbridge.atomic_write import write_atomically
from chatbridge.core.errors import SettingsError
from chatbridge.hub.http import tokens as http_tokens
from chatbridge.hub.http.tokens import NOTED_EVERY, Tokens
from tests.fakes.loop_watch import calls_in_this_thread


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")


@pytest.fixture(scope="module")
def one_state(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """For many examples, and the token that was made there."""
    state = str(tmp_path_factory.mktemp("tokens"))
    return state, http_tokens.add(state, "ci", now=1.0)


def test_a_token_belongs_to_its_name_until_it_is_removed(state: str) -> None:
    tokens = Tokens(state)
    first = http_tokens.add(state, "ci", now=1.0)
    second = http_tokens.add(state, "night-run", now=2.0)
    owners = [tokens.owner(given) for given in (first, second, first + "x", "", "cb_")]
    assert [owner and owner.name for owner in owners] == ["ci", "night-run", None, None, None]
    http_tokens.remove(state, "ci")
    assert tokens.owner(first) is None
    assert tokens.owner(second)


def test_a_token_is_long_random_and_in_no_file(state: str) -> None:
    made = {http_tokens.add(state, f"agent{number}", now=1.0) for number in range(20)}
    assert len(made) == 20
    for token in made:
        assert token.startswith("cb_")
        assert len(token) == len("cb_") + 43  # 256 bits
    files = [path for path in Path(state).iterdir() if path.is_file()]
    assert files
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert not any(token in path.read_text() for token in made)


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "../up", "-x", ".x", "x" * 41, "name\n", "é", "a/b", "a:b", "\x1b[2J"]
)
def test_a_name_that_could_mislead_is_refused_without_being_repeated(state: str, name: str) -> None:
    with pytest.raises(SettingsError) as refused:
        http_tokens.add(state, name, now=1.0)
    assert not name.strip() or name not in str(refused.value)
    assert not http_tokens.listed(state)


def test_a_name_is_given_once_also_in_other_letters(state: str) -> None:
    http_tokens.add(state, "ci", now=1.0)
    with pytest.raises(SettingsError, match="already"):
        http_tokens.add(state, "CI", now=2.0)


def test_a_name_in_other_letters_is_named_as_it_can_be_removed(state: str) -> None:
    http_tokens.add(state, "ci", now=1.0)
    with pytest.raises(SettingsError, match=r"token remove ci$"):
        http_tokens.add(state, "CI", now=2.0)


def test_a_named_pipe_in_the_place_of_the_file_keeps_nobody_waiting(state: str) -> None:
    os.makedirs(state, exist_ok=True)
    os.mkfifo(http_tokens.tokens_path(state), 0o600)
    assert Tokens(state).all() == []


@pytest.mark.process
@pytest.mark.root
def test_root_makes_a_token_that_the_directorys_owner_can_use(tmp_path: Path) -> None:
    closed = tmp_path / "private"  # as /var/lib/private is to the user of a machine's service
    state = closed / "state"
    state.mkdir(parents=True, mode=0o700)
    closed.chmod(0o700)
    os.chown(state, 61001, 61001)
    words = [sys.executable, "-m", "chatbridge", "token"]
    env = {**os.environ, "CHATBRIDGE_STATE_DIR": str(state)}
    subprocess.run([*words, "add", "ci"], env=env, check=True, capture_output=True, timeout=60)
    listed = subprocess.check_output([*words, "list"], env=env, text=True, timeout=60)
    assert listed.splitlines()[1].startswith("ci ")
    assert {file.stat().st_uid for file in state.iterdir()} == {61001}


def test_tokens_that_are_made_at_the_same_time_are_all_there(state: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: http_tokens.add(state, f"a{n}", now=1.0), range(24)))
    assert {token.name for token, _ in http_tokens.listed(state)} == {f"a{n}" for n in range(24)}


def test_a_damaged_file_is_not_written_over(state: str) -> None:
    http_tokens.add(state, "ci", now=1.0)
    path = Path(http_tokens.tokens_path(state))
    path.write_text("{")
    for change in (
        lambda: http_tokens.add(state, "other", now=1.0),
        lambda: http_tokens.remove(state, "ci"),
        lambda: http_tokens.listed(state),
    ):
        with pytest.raises(SettingsError, match="damaged"):
            change()
    assert path.read_text() == "{"


def test_a_link_in_the_place_of_the_file_is_not_followed(state: str, tmp_path: Path) -> None:
    token = http_tokens.add(state, "ci", now=1.0)
    path, elsewhere = Path(http_tokens.tokens_path(state)), tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert Tokens(state).owner(token) is None


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda t: t.encode("utf-8", "replace")))
def test_whatever_is_in_the_file_means_nobody_and_breaks_nothing(
    one_state: tuple[str, str], content: bytes
) -> None:
    state, token = one_state
    with open(http_tokens.tokens_path(state), "wb") as file:
        file.write(content)
    assert Tokens(state).owner(token) is None


async def test_when_a_token_was_used_is_noted_to_the_minute(state: str) -> None:
    http_tokens.add(state, "ci", now=1.0)
    tokens = Tokens(state)
    (token,) = tokens.all()
    assert http_tokens.listed(state) == [(token, None)]
    with calls_in_this_thread(write_atomically) as called:
        for now in (1000.0, 1000.0 + NOTED_EVERY - 1):
            await tokens.note_used(token, now=now)
    assert called == [], "a request must not wait for the disk in the event loop"
    assert http_tokens.listed(state) == [(token, 1000.0)]
    await Tokens(state).note_used(token, now=2000.0)
    assert http_tokens.listed(state) == [(token, 2000.0)]
    http_tokens.remove(state, "ci")
    http_tokens.add(state, "ci", now=3000.0)
    assert http_tokens.listed(state)[0][1] is None


async def test_tokens_that_are_used_at_the_same_time_are_all_noted(state: str) -> None:
    for number in range(24):
        http_tokens.add(state, f"a{number}", now=1.0)
    tokens = Tokens(state)
    for use in range(1, 11):
        now = use * NOTED_EVERY
        await asyncio.gather(*(tokens.note_used(token, now=now) for token in tokens.all()))
        assert {used for _, used in http_tokens.listed(state)} == {now}


# ── the command ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def here(state: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("CHATBRIDGE_STATE_DIR", state)
    monkeypatch.setenv("TZ", "UTC")
    return os.path.realpath(state)


def test_the_command_shows_a_token_once_alone_on_standard_output(
    here: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["token", "add", "ci"]) == 0
    shown = capsys.readouterr()
    token = shown.out.strip()
    owner = Tokens(here).owner(token)
    assert owner is not None
    assert owner.name == "ci"
    assert token not in shown.err
    assert main(["token", "list"]) == 0
    listed = capsys.readouterr().out
    assert listed.splitlines()[1].split()[0] == "ci"
    assert "never" in listed
    assert token not in listed
    assert main(["token", "remove", "ci"]) == 0
    assert Tokens(here).owner(token) is None


def test_the_list_is_there_for_programs_too(here: str, capsys: pytest.CaptureFixture[str]) -> None:
    http_tokens.add(here, "ci", now=5.0)
    assert main(["token", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows == [{"name": "ci", "created": 5.0, "lastUsed": None}]


def test_no_token_is_called_removed_while_settings_do_not_say_where_tokens_are(
    here: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    http_tokens.add(here, "ci", now=1.0)
    monkeypatch.setenv("CHATBRIDGE_STORE", "postgres://db.internal/chatbridge")
    assert main(["token", "remove", "ci"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("store: accepted:")
    assert "Removed" not in said
    assert [token.name for token, _ in http_tokens.listed(here)] == ["ci"]


def test_what_cannot_be_done_is_a_sentence_and_exit_1(
    here: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pasted = "cb_" + "x" * 43
    assert main(["token", "remove", pasted]) == 1
    assert pasted not in capsys.readouterr().err
    http_tokens.add(here, "ci", now=1.0)
    assert main(["token", "remove", "co"]) == 1
    assert "There are: ci" in capsys.readouterr().err
