"""`--attach` and `chatbridge show` as people and scripts run them: real processes, one real hub."""

from __future__ import annotations

import json
import os
import select
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import House, house
from tests.fakes.on_terminal import OnTerminal
from tests.fakes.program import bare
from tests.fakes.sample_files import png

Json = dict[str, Any]
PICTURE = png(40, 30)
PAGE = b"<!doctype html><script>alert(1)</script>\n"
ARCHIVE = b"PK\x03\x04" + bytes(40)
OPENER = """#!/bin/sh
printf '%s\\n' "$1" > "$HOME/opened"
"""
"""Tells a pipe what it should open."""


@pytest.fixture(scope="module")
def home() -> Iterator[House]:
    with house() as it:
        folder = it.project.parent
        it.environment |= {"PATH": f"{folder}/bin:{os.environ['PATH']}", "TMPDIR": str(folder)}
        (folder / "bin").mkdir()
        opener = folder / "bin/xdg-open"
        opener.write_text(OPENER)
        opener.chmod(0o755)
        os.mkfifo(folder / "opened")
        (it.project / "shot.png").write_bytes(PICTURE)
        (folder / "page.html").write_bytes(PAGE)
        (it.project / "all.zip").write_bytes(ARCHIVE)
        yield it


@pytest.fixture(scope="module")
def opened(home: House) -> Iterator[BinaryIO]:
    """The paths of what was opened."""
    with open(os.open(home.project.parent / "opened", os.O_RDWR), "rb", buffering=0) as pipe:
        yield pipe


def next_path(opened: BinaryIO) -> Path:
    assert select.select([opened], [], [], PATIENCE)[0], "nothing was opened"
    return Path(os.fsdecode(opened.readline().strip()))


def is_quiet(opened: BinaryIO) -> bool:
    return not select.select([opened], [], [], 0.0)[0]


def run(home: House, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*home.chatbridge, *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=home.project,
        env=bare(home.environment),
    )


@contextmanager
def asking(home: House, question: str, *words: str) -> Iterator[tuple[subprocess.Popen[str], Json]]:
    """A command that waits, and its question."""
    with subprocess.Popen(
        [*home.chatbridge, "ask", question, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home.project,
        env=bare(home.environment),
    ) as process:
        try:
            yield process, home.until(lambda ask: ask["questions"][0]["question"] == question)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def asked(home: House) -> Iterator[Json]:
    """A question with three files, one of them outside of the project."""
    words = ["--attach", "shot.png", "--attach", "../page.html", "--attach", "all.zip"]
    with asking(home, "Is it right?", *words) as (process, ask):
        yield ask
        home.answer(ask, "Yes")
        assert process.communicate(timeout=PATIENCE)[0] == "Yes\n"


def test_the_files_of_a_question_are_listed(home: House, asked: Json, opened: BinaryIO) -> None:
    (ask,) = json.loads(run(home, "pending", "--json").stdout)
    names = [(it["name"], it["type"], it["size"]) for it in ask["attachments"]]
    assert names == [
        ("shot.png", "image/png", len(PICTURE)),
        ("page.html", "text/plain", len(PAGE)),
        ("all.zip", "application/zip", len(ARCHIVE)),
    ]
    assert "path" not in ask["attachments"][0]
    shown = run(home, "show", asked["id"][:6])
    assert shown.returncode == 0, shown.stderr
    head, *rows = shown.stdout.splitlines()
    assert head.split() == ["NAME", "TYPE", "SIZE", "OF", "WHERE"]
    assert [row.split()[:3] for row in rows] == [
        ["1", "shot.png", "image/png"],
        ["2", "page.html", "text/plain"],
        ["3", "all.zip", "application/zip"],
    ]
    listed = json.loads(run(home, "show", asked["id"], "--json").stdout)
    assert Path(listed[0]["path"]).read_bytes() == PICTURE
    assert is_quiet(opened)  # there is no terminal


def test_a_picture_is_opened_as_what_it_is(home: House, asked: Json, opened: BinaryIO) -> None:
    with OnTerminal(home.environment, "show", asked["id"], "1", cwd=home.project) as terminal:
        code, shown = terminal.finish()
    assert (code, "shot.png" in shown, "page.html" in shown) == (0, True, False)
    path = next_path(opened)
    assert (path.suffix, path.read_bytes()) == (".png", PICTURE)


def test_a_page_is_opened_as_text_and_an_archive_not_at_all(
    home: House, asked: Json, opened: BinaryIO
) -> None:
    assert run(home, "show", asked["id"], "2", "--open").returncode == 0
    path = next_path(opened)
    assert (path.suffix, path.read_bytes()) == (".txt", PAGE)
    refused = run(home, "show", asked["id"], "3", "--open")
    assert refused.returncode == 1
    assert "application/zip" in refused.stderr
    assert is_quiet(opened)


def test_files_are_copied_and_nothing_is_written_over(
    home: House, asked: Json, tmp_path: Path
) -> None:
    (tmp_path / "shot.png").write_text("mine")
    saved = run(home, "show", asked["id"], "--save", str(tmp_path))
    assert saved.returncode == 0, saved.stderr
    paths = [Path(line) for line in saved.stdout.splitlines()]
    assert [path.name for path in paths] == ["shot-2.png", "page.html", "all.zip"]
    assert [path.read_bytes() for path in paths] == [PICTURE, PAGE, ARCHIVE]
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}
    assert (tmp_path / "shot.png").read_text() == "mine"


def test_a_message_has_files_too(home: House) -> None:
    told = run(home, "notify", "Done", "--attach", "shot.png")
    assert told.returncode == 0, told.stderr
    notice = next(it for it in home.api("/api/notices") if it["message"] == "Done")
    listed = json.loads(run(home, "show", notice["id"][:8], "--json").stdout)
    assert [(it["name"], it["from"]) for it in listed] == [("shot.png", "message")]


@pytest.mark.parametrize("command", ["ask", "notify"])
def test_what_cannot_be_attached_is_said_and_nobody_is_asked(home: House, command: str) -> None:
    for path, code in (("gone.png", 2), (".", 2), (f"{home.state}/hub.lock", 1)):
        words = ["--timeout", "10"] if command == "ask" else []
        refused = run(home, command, "Never seen", "--attach", path, *words)
        assert refused.returncode == code, refused.stderr
        assert f"--attach {path!r}: " in refused.stderr
    many = ["--attach", "shot.png"] * 6
    refused = run(home, command, "Never seen", *many)
    assert refused.stderr == "--attach 'shot.png': at most 5 files fit into one call\n"
    assert all(ask["questions"][0]["question"] != "Never seen" for ask in home.asks())
    assert all(notice["message"] != "Never seen" for notice in home.api("/api/notices"))


class Inbox:
    """A browser that is logged in to the inbox."""

    def __init__(self, home: House) -> None:
        link = next(it for it in run(home, "inbox").stdout.split() if it.startswith("http"))
        self._address, _, code = link.partition("/login/")
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self.send("/login", urllib.parse.urlencode({"code": code}).encode())

    def send(self, path: str, data: bytes, **headers: str) -> None:
        headers = {"Origin": self._address, **headers}
        request = urllib.request.Request(self._address + path, data=data, headers=headers)
        with self._opener.open(request, timeout=PATIENCE) as reply:
            assert reply.status == 200


def test_what_a_person_sends_back_is_named_with_its_path(home: House) -> None:
    with asking(home, "What do you see?") as (process, ask):
        inbox, page = Inbox(home), f"/asks/{ask['id']}"
        inbox.send(f"{page}/files?question=0", PICTURE, **{"X-File-Name": "photo.png"})
        answer = urllib.parse.urlencode({"do": "text", "step": "0", "text": "Red"})
        inbox.send(f"{page}/form", answer.encode())
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, "Red\n")
    told = f"Attached: photo.png (image/png, {len(PICTURE)} bytes): "
    (path,) = (line.removeprefix(told) for line in err.splitlines() if line.startswith(told))
    assert Path(path).read_bytes() == PICTURE
    (listed,) = json.loads(run(home, "show", ask["id"], "--json").stdout)
    assert (listed["name"], listed["from"], listed["path"]) == ("photo.png", "answer", path)


def test_what_is_not_there_is_not_shown(home: House, asked: Json) -> None:
    assert "There is no file 4" in run(home, "show", asked["id"], "4").stderr
    assert run(home, "show", "ffffffff").returncode == 1
    assert run(home, "show", asked["id"], "--save", "/no/folder").returncode == 1
