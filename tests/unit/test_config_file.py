"""Changing config.toml: what its owner wrote stays, and the file is whole at every moment."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.cli.config_file import TEMPLATE, Key, Value, change, changed
from chatbridge.core.errors import SettingsError

HERE = Path("config.toml")
WRITTEN = """\
# mine
default_timeout = "5m"  # short

[web]
port = 8790

# who may answer
[telegram]
allowed_users = [
    1,  # Ada
    2,  # Ben
]
"""


@pytest.fixture(autouse=True)
def _no_settings_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("CHATBRIDGE_") or name == "CREDENTIALS_DIRECTORY":
            monkeypatch.delenv(name)


def test_only_the_lines_of_the_changed_keys_change() -> None:
    after = changed(WRITTEN, {("default_timeout",): "1h"}, path=HERE)
    assert after == WRITTEN.replace('"5m"', '"1h"')


def test_a_person_who_is_added_leaves_the_remarks_beside_the_others() -> None:
    after = changed(WRITTEN, {("telegram", "allowed_users"): [1, 2, 3]}, path=HERE)
    assert tomllib.loads(after)["telegram"]["allowed_users"] == [1, 2, 3]
    assert "1,  # Ada\n" in after
    assert "# Ben" in after


def test_a_person_who_is_removed_leaves_the_others() -> None:
    after = changed(WRITTEN, {("telegram", "allowed_users"): [2]}, path=HERE)
    assert tomllib.loads(after)["telegram"]["allowed_users"] == [2]
    assert "# Ben" in after


def test_the_same_change_twice_is_the_same_as_once() -> None:
    changes: dict[Key, Value] = {
        ("default_timeout",): "1h",
        ("telegram", "allowed_users"): [1, 2, 3],
        ("matrix", "homeserver"): "https://example.org",
    }
    once = changed(WRITTEN, changes, path=HERE)
    assert changed(once, changes, path=HERE) == once


def test_taking_out_what_is_not_there_changes_nothing() -> None:
    gone: dict[Key, Value] = {("telegram", "token"): None, ("matrix", "password"): None}
    assert changed(WRITTEN, gone, path=HERE) == WRITTEN


@pytest.mark.parametrize(
    "before",
    [
        "[[people]]\nname = 'Ann'\n[[people]]  # two\ntelegram = 2\nname = 'Bob'\n[web]\nport = 1",
        "people = [{name = 'Ann'}, {telegram = 2, name = 'Bob'}]  # two\n[web]\nport = 1\n",
    ],
)
def test_a_key_in_a_list_of_tables_is_taken_out_by_its_place(before: str) -> None:
    after = changed(before, {("people", "1", "telegram"): None}, path=HERE)
    assert tomllib.loads(after) == {
        "people": [{"name": "Ann"}, {"name": "Bob"}],
        "web": {"port": 1},
    }
    assert "# two" in after


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# only a remark",
        'telegram.token = "x"\n[web]\n',
        'telegram = { token = "x" }\n',
        "[[other]]\nb = 1\n",
        '[clients.codex]\ntimeout = "1h"\n',
        'a = 1\r\n[web]\r\nport = 2\r\n[telegram]\r\ntoken = "x"\r\n',
    ],
)
def test_however_it_is_written_the_keys_are_set_and_the_rest_is_kept(before: str) -> None:
    after = tomllib.loads(
        changed(
            before,
            {("default_timeout",): "1h", ("telegram", "chat_id"): [5], ("telegram", "token"): None},
            path=HERE,
        )
    )
    expected = tomllib.loads(before)
    expected["default_timeout"] = "1h"
    expected["telegram"] = {"chat_id": [5]}
    assert after == expected


NAMES = st.sampled_from(["a", "b", "telegram", "web"])
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.integers(-5, 5), st.text(max_size=5), st.lists(st.integers(0, 3), unique=True, max_size=3)
)


@given(
    before=st.lists(
        st.dictionaries(st.tuples(NAMES, NAMES), VALUES, max_size=4), min_size=1, max_size=2
    ),
    after=st.dictionaries(st.tuples(NAMES, NAMES), st.one_of(VALUES, st.none()), max_size=4),
)
def test_whatever_is_changed_in_whatever_order_the_keys_say_it_afterwards(
    before: list[dict[Key, Value]], after: dict[Key, Value]
) -> None:
    text, expected = TEMPLATE, {}
    for changes in (*before, after):
        text = changed(text, changes, path=HERE)
        expected.update(changes)
    found = tomllib.loads(text)
    said = {(t, k): v for t, table in found.items() for k, v in table.items()}
    assert said == {key: value for key, value in expected.items() if value is not None}
    assert text.startswith(TEMPLATE)


# ── the file ──────────────────────────────────────────────────────────────────────────────────────


def test_a_new_file_begins_with_remarks_and_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "chatbridge" / "config.toml"
    change(path, {("default_timeout",): "20m"})
    assert path.read_text().startswith(TEMPLATE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [it.name for it in path.parent.iterdir()] == ["config.toml"]


def test_a_file_that_others_could_read_becomes_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(WRITTEN)
    path.chmod(0o644)
    change(path, {("default_timeout",): "20m"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, path = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    real.write_text(WRITTEN)
    path.symlink_to(real.name)
    change(path, {("default_timeout",): "20m"})
    assert path.is_symlink()
    assert 'default_timeout = "20m"' in real.read_text()


@pytest.mark.parametrize(
    "broken", ["[telegram", 'a = "\n', "a = 1\na = 2\n", "telegram = 5\n", "[[telegram]]"]
)
def test_a_broken_file_is_told_and_left_alone(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(broken)
    with pytest.raises(SettingsError, match=r"config\.toml"):
        change(path, {("telegram", "chat_id"): [5]})
    assert path.read_text() == broken


def test_what_could_not_be_used_afterwards_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(WRITTEN)
    with pytest.raises(SettingsError, match="chat_id"):
        change(path, {("telegram", "chat_id"): ["@team"]})
    with pytest.raises(SettingsError, match="rise in this order"):
        change(path, {("default_timeout",): "9h"})
    assert path.read_text() == WRITTEN


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="cannot be"):
        change(tmp_path / "file" / "config.toml", {("default_timeout",): "20m"})
