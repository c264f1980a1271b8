"""Files that somebody has made to be hard work, or put in another file's place: each is read within
bounds, refused by its name, and runs nothing."""

from __future__ import annotations

import json
import logging
import os
import resource
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from pathlib import Path

import pytest
import yaml

from chatbridge import bounded_read, lock_file, settings
from chatbridge.channels.web.channel import web_token
from chatbridge.cli import config_file
from chatbridge.cli.connect.document import Document, ServerEntry
from chatbridge.cli.connect.yaml_text import Yaml
from chatbridge.commands.operations.runner_client import End, read_end
from chatbridge.commands.runner import records
from chatbridge.core.errors import ChatbridgeError, SettingsError
from chatbridge.hub.http import tokens
from chatbridge.link.root import PROJECT_FILE, read_file
from chatbridge.projects import ProjectSettings, settings_of

LONG = "9" * 5_000
"""More digits than Python reads."""
SPARSE = 1 << 30
MEMORY = 64 << 20
"""What reading any of these may add to the process."""
HARD_WORK = {
    "nested lists": "a = " + "[" * 3_000,
    "nested tables": "a = " + "{a=" * 1_000,
    "a long number": f"default_timeout = {LONG}",
    "no text": "\0\x1b]0;x\x07",
}


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(SPARSE)


PLANTED: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "link to itself": lambda path: path.symlink_to(path),
    "gigabyte": _sparse,
}
"""What stands where a small file should be."""


@pytest.fixture(params=PLANTED.values(), ids=list(PLANTED))
def plant(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    found: Callable[[Path], None] = request.param
    return found


@pytest.fixture
def little_memory() -> Iterator[None]:
    """A gigabyte that is read after all is an error, not a machine that swaps."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


# ── in a file's place ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("little_memory")
def test_what_stands_in_a_files_place_holds_nobody_up(
    tmp_path: Path, plant: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "small"
    plant(path)
    with pytest.raises(OSError, match=r"."):
        bounded_read.read(path, most=4_096)
    plant(tmp_path / "config.toml")
    with pytest.raises(SettingsError, match=str(tmp_path / "config.toml")):
        settings.load(tmp_path / "config.toml")
    with pytest.raises(SettingsError, match=str(tmp_path / "config.toml")):
        config_file.change(tmp_path / "config.toml", {("enabled",): True})
    plant(tmp_path / PROJECT_FILE)
    with caplog.at_level(logging.WARNING):
        assert settings_of(str(tmp_path)) == ProjectSettings()
    assert f"{tmp_path / PROJECT_FILE} is not used" in caplog.text
    assert read_file(str(tmp_path)) is None
    plant(tmp_path / "hub.lock")
    assert lock_file.read(str(tmp_path)) is None
    assert lock_file.find_holder(str(tmp_path)) is None
    plant(Path(tokens.used_path(str(tmp_path))))
    assert tokens.listed(str(tmp_path)) == []
    plant(tmp_path / f"o{records.RUNNING}")
    plant(tmp_path / f"o{records.END}")
    assert records.settle(str(tmp_path), held=set(), place="p", now=0.0) == []


def test_a_file_that_says_nothing_may_be_no_file(tmp_path: Path) -> None:
    assert settings.load(Path("/dev/null")) == settings.load(tmp_path / "missing.toml")


def test_a_file_of_just_the_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "small"
    path.write_bytes(b"x" * 4_096)
    assert bounded_read.read(path, most=4_096) == b"x" * 4_096
    with pytest.raises(OSError, match="larger than 4,095 bytes"):
        bounded_read.read(path, most=4_095)


# ── TOML ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("content", HARD_WORK.values(), ids=list(HARD_WORK))
def test_a_configuration_that_no_human_being_wrote_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(content)
    with pytest.raises(SettingsError, match=str(path)) as found:
        settings.load(path)
    assert "\x1b" not in str(found.value)
    with pytest.raises(SettingsError, match=r"It was not changed\."):
        config_file.change(path, {("enabled",): False})
    assert path.read_text() == content


@pytest.mark.parametrize("content", HARD_WORK.values(), ids=list(HARD_WORK))
def test_a_project_file_that_no_human_being_wrote_changes_nothing(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / PROJECT_FILE).write_text(f"enabled = false\n{content}")
    with caplog.at_level(logging.WARNING):
        assert settings_of(str(tmp_path)) == ProjectSettings()
    assert f"{tmp_path / PROJECT_FILE} is not used" in caplog.text


def test_a_project_file_has_room_for_what_it_may_say_and_not_for_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """TOML's reader takes a time that grows with the square of a key's dots: with 64 KB of them
    many seconds, on the hub's one loop, at every call."""
    (tmp_path / PROJECT_FILE).write_text("enabled = false\n" + "#" * 4_080)
    assert settings_of(str(tmp_path)) == ProjectSettings(enabled=False)
    (tmp_path / PROJECT_FILE).write_text("a." * 32_000 + "a=1")
    assert settings_of(str(tmp_path)) == ProjectSettings()
    assert "it is larger than 4,096 bytes" in caplog.text


@pytest.mark.parametrize(
    "key", ["_env_file", "_secrets_dir", "_cli_parse_args", "__pydantic_self__"]
)
def test_an_order_to_the_library_is_no_setting(tmp_path: Path, key: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f'{key} = "/etc/passwd"')
    with pytest.raises(SettingsError, match=f"{key} is not a setting"):
        settings.load(path)


def test_a_key_is_told_in_one_visible_line_and_not_too_many_are(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    odd = '"\\u001b]0;x\\u0007\\nenabled = true" = 1\n'
    path.write_text(odd + "".join(f"k{i} = 1\n" for i in range(1_000)))
    with pytest.raises(SettingsError) as found:
        settings.load(path)
    assert "⟨U+001B⟩]0;x⟨U+0007⟩ enabled = true is not a setting" in str(found.value)
    assert str(found.value).isprintable()
    assert len(str(found.value)) < 1_000


def test_a_list_that_is_nested_too_deeply_is_a_mistake_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f'tools = "{"[" * 3_000}"')
    with pytest.raises(SettingsError, match="tools: this list is nested too deeply"):
        settings.load(path)


# ── JSON of our own ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "content",
    [
        "[" * 50_000,
        '{"pid":' * 5_000,
        f'{{"pid": {LONG}}}',
        '{"pid": NaN, "id": 5}',
        '{"pid": true, "id": null}',
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ],
)
def test_a_damaged_file_of_ours_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "hub.lock").write_text(content)
    assert lock_file.read(str(tmp_path)) is None
    assert lock_file.find_holder(str(tmp_path)) is None
    for name in (f"o{records.RUNNING}", f"p{records.END}"):
        (tmp_path / name).write_text(content)
    assert records.settle(str(tmp_path), held=set(), place="p", now=0.0) == []


@pytest.mark.parametrize("socket", ["\ud800", "/a\0b", "relative", ["/a"], ""])
def test_a_lock_file_with_an_impossible_socket_names_none(tmp_path: Path, socket: object) -> None:
    (tmp_path / "hub.lock").write_text(json.dumps({"pid": 1, "socket": socket}))
    found = lock_file.read(str(tmp_path))
    assert found is not None
    assert found.socket is None
    assert lock_file.find_holder(str(tmp_path)) is None


@pytest.mark.parametrize(
    "odd",
    [
        {"how": "exploded"},
        {"how": ["exited"]},
        {"ended_at": float("nan")},
        {"ended_at": "now"},
        {"ended_at": True},
        {"size": "many"},
        {"exit_code": 1.5},
        {"error": {"a": 1}},
        {"id": 5},
    ],
)
def test_a_record_that_no_runner_wrote_ends_nothing(
    odd: records.Record, caplog: pytest.LogCaptureFixture
) -> None:
    sound: records.Record = {"id": "o1", "how": "exited", "exit_code": 0, "ended_at": 1.0}
    assert read_end({**sound, **odd}) is None
    assert "cannot be used" in caplog.text
    assert read_end(sound) == End(id="o1", how="exited", exit_code=0, ended_at=1.0)


def test_all_that_a_record_says_of_an_end_is_known() -> None:
    end = End(
        id="o1",
        how="timed_out",
        exit_code=1,
        signal=15,
        size=9,
        left_out=2,
        started_at=1.5,
        ended_at=2,
        error="why",
    )
    assert all(getattr(end, each.name) != each.default for each in fields(End))
    assert read_end(asdict(end)) == end


# ── files of clients ──────────────────────────────────────────────────────────────────────────────


def _laughs(levels: int) -> str:
    """Each line is nine times the one before it."""
    lines = ["a0: &a0 [x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("yaml", _laughs(20)),
        ("yaml", "a: &a [*a]\n"),
        ("yaml", "a: !!python/object/apply:os.mkdir [ran]\n"),
        ("yaml", "- " * 5_000),
        ("toml", f"a = {LONG}"),
        ("toml", "a." * 1_000 + "a = 1"),
        ("json", '{"a":' * 5_000),
    ],
)
def test_a_clients_file_that_is_hard_work_is_refused_and_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, content: str
) -> None:
    monkeypatch.chdir(tmp_path)
    entry = ServerEntry(keys=("servers", "ours"), shape={"command": "x"})
    path = Path("a client's file")
    with pytest.raises(ChatbridgeError, match=f"{path}.*Nothing was written"):
        Document(
            path=path, format=form, content=content.encode(), parts=[entry], way_out="by hand"
        ).connected()
    assert list(tmp_path.iterdir()) == []


def test_yaml_that_repeats_a_little_is_read() -> None:
    text = _laughs(4)
    assert Yaml().load(text) == yaml.safe_load(text)


@pytest.mark.usefixtures("little_memory")
def test_what_stands_in_the_place_of_the_inboxs_token_is_named_and_not_replaced(
    tmp_path: Path, plant: Callable[[Path], None]
) -> None:
    path = tmp_path / "web-token"
    plant(path)
    with pytest.raises(SettingsError, match=rf"{path}.*Remove it"):
        web_token(tmp_path)


def test_a_token_of_the_inbox_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "web-token").write_bytes(b"\xff\0")
    with pytest.raises(SettingsError, match="it is not text"):
        web_token(tmp_path)
