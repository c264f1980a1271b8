"""The bot's log-in: it comes back as it was kept, for nobody else, and damage is no log-in."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.channels.matrix.account.log_in import FILE, Session, crypto_folder, load, save
from chatbridge.core.errors import SettingsError

HOME = "https://example.org"
BOT = "@bot:example.org"
TOKEN = "syt_hunter2-hunter2-hunter2"
SESSION = Session(user_id=BOT, device_id="ABCDEFGHIJ", access_token=TOKEN)
KEPT = {"homeserver": HOME, "user_id": BOT, "device_id": "ABCDEFGHIJ", "access_token": TOKEN}
PRINTABLE = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "matrix"


def found(folder: Path, *, user_id: str = BOT, homeserver: str = HOME) -> Session | None:
    return load(folder, user_id=user_id, homeserver=homeserver)


def write(folder: Path, content: bytes) -> None:
    folder.mkdir(exist_ok=True)
    (folder / FILE).write_bytes(content)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


# ── kept and forgotten ────────────────────────────────────────────────────────────────────────────


def test_a_kept_log_in_comes_back(folder: Path) -> None:
    assert found(folder) is None
    save(folder, SESSION, homeserver=HOME)
    assert found(folder) == SESSION
    assert os.listdir(folder) == [FILE]


@given(device=PRINTABLE, token=PRINTABLE)
def test_whatever_the_server_called_it_comes_back(device: str, token: str) -> None:
    session = Session(user_id=BOT, device_id=device, access_token=token)
    with tempfile.TemporaryDirectory() as name:
        save(Path(name), session, homeserver=HOME)
        assert found(Path(name)) == session


def test_a_second_log_in_takes_the_place_of_the_first(folder: Path) -> None:
    save(folder, SESSION, homeserver=HOME)
    second = Session(user_id="@other:example.org", device_id="B", access_token="b")
    save(folder, second, homeserver=HOME)
    assert found(folder) is None
    assert found(folder, user_id="@other:example.org") == second


def test_a_log_in_counts_for_no_other_account_and_no_other_server(folder: Path) -> None:
    save(folder, SESSION, homeserver=HOME)
    assert found(folder, user_id="@other:example.org") is None
    assert found(folder, homeserver="https://evil.example") is None


# ── nobody else can read it ───────────────────────────────────────────────────────────────────────


def test_folder_and_file_are_for_the_owner_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        save(folder, SESSION, homeserver=HOME)
    finally:
        os.umask(before)
    assert (mode(folder), mode(folder / FILE)) == (0o700, 0o600)


def test_a_folder_and_a_file_that_were_open_to_others_are_closed(folder: Path) -> None:
    write(folder, b"{}")
    folder.chmod(0o777)
    (folder / FILE).chmod(0o666)
    save(folder, SESSION, homeserver=HOME)
    assert (mode(folder), mode(folder / FILE)) == (0o700, 0o600)


def test_the_token_is_not_shown_with_the_session() -> None:
    assert TOKEN not in repr(SESSION)
    assert "ABCDEFGHIJ" in repr(SESSION)


def test_a_link_is_neither_read_nor_written_through(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps(KEPT))
    folder.mkdir()
    (folder / FILE).symlink_to(elsewhere)
    assert found(folder) is None
    save(folder, SESSION, homeserver=HOME)
    assert found(folder) == SESSION
    assert not (folder / FILE).is_symlink()
    assert json.loads(elsewhere.read_text()) == KEPT


def test_a_folder_that_is_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingsError, match=r"log-in cannot be kept in .*session\.json"):
        save(folder, SESSION, homeserver=HOME)
    with pytest.raises(SettingsError, match="bot's keys cannot be made"):
        crypto_folder(folder, "A")
    assert os.listdir(tmp_path / "elsewhere") == []
    assert mode(tmp_path / "elsewhere") == 0o755


# ── damage ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"null", b"[]", b"{}", b"7", b"\xff\xfe\x00", b"\0" * 200),
        b"[" * 60_000,
        b"9" * 60_000,
        b" " * 70_000 + json.dumps(KEPT).encode(),
    ],
)
def test_a_damaged_file_is_no_log_in_and_is_replaced_by_the_next(
    folder: Path, content: bytes
) -> None:
    write(folder, content)
    assert found(folder) is None
    save(folder, SESSION, homeserver=HOME)
    assert found(folder) == SESSION


@pytest.mark.parametrize("key", KEPT)
@pytest.mark.parametrize("value", [None, "", 7, True, [BOT], "a\nb", "\ud800", "\0"])
def test_a_file_with_one_wrong_value_is_no_log_in(folder: Path, key: str, value: object) -> None:
    write(folder, json.dumps(KEPT | {key: value}).encode())
    assert found(folder) is None


@given(at=st.integers(0, 200), bit=st.integers(0, 7), cut=st.booleans())
def test_a_file_with_a_changed_bit_or_cut_off_is_a_log_in_of_ours_or_none(
    at: int, bit: int, cut: bool
) -> None:
    whole = json.dumps(KEPT).encode()
    at %= len(whole)
    damaged = bytearray(whole)
    damaged[at] ^= 1 << bit
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), whole[:at] if cut else bytes(damaged))
        session = found(Path(name))
    if cut:
        assert session is None
    elif session is not None:
        assert session.user_id == BOT
        assert session.access_token.isprintable()
        assert session.device_id.isprintable()


def test_a_folder_in_the_files_place_is_named_when_it_is_in_the_way(folder: Path) -> None:
    (folder / FILE).mkdir(parents=True)
    assert found(folder) is None
    with pytest.raises(SettingsError, match=r"cannot be kept in .*session\.json \(Is a directory"):
        save(folder, SESSION, homeserver=HOME)


def test_a_file_that_cannot_be_read_is_said_because_a_new_device_would_have_no_keys(
    folder: Path,
) -> None:
    folder.write_text("a file in the folder's place")
    with pytest.raises(SettingsError, match=r"log-in cannot be read from .*session\.json") as error:
        found(folder)
    assert "remove it" in str(error.value)


# ── the folder of a device's keys ─────────────────────────────────────────────────────────────────


def test_each_device_has_a_folder_of_its_name_for_the_owner_alone(folder: Path) -> None:
    keys = crypto_folder(folder, "ABCDEFGHIJ")
    assert keys == folder / "ABCDEFGHIJ"
    assert (mode(folder), mode(keys)) == (0o700, 0o700)
    keys.chmod(0o755)
    (keys / "store.db").write_text("keys")
    assert crypto_folder(folder, "ABCDEFGHIJ") == keys
    assert mode(keys) == 0o700
    assert (keys / "store.db").read_text() == "keys"


TRICKS = [
    *("../../x", "..", ".", "", "/etc", "a/b", "a\\b", "a\0b", "a\n", FILE, "sha256.00", "~"),
    *("é", "\ud800", "A" * 65, "A" * 5000, "A B", "A.B", "-/..", "%2e%2e"),
]


@pytest.mark.parametrize("device", TRICKS)
def test_a_device_id_that_is_no_plain_name_leads_nowhere_else(folder: Path, device: str) -> None:
    save(folder, SESSION, homeserver=HOME)
    keys = crypto_folder(folder, device)
    assert keys.resolve().parent == folder.resolve()
    assert keys.is_dir()
    assert found(folder) == SESSION
    assert crypto_folder(folder, keys.name) != keys


@given(st.lists(st.text(max_size=80) | st.sampled_from(TRICKS), unique=True, max_size=8))
def test_two_devices_never_share_a_folder(devices: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folders = {crypto_folder(Path(name), device) for device in devices}
        assert len(folders) == len(devices)
        assert {path.name for path in folders} == set(os.listdir(name))
