"""Files of agents and people in the state directory: what is kept, refused, removed, counted."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import stat
import tracemalloc
from collections.abc import AsyncIterator, Iterable
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from sqlite3 import connect
from typing import BinaryIO

import pytest

from chatbridge.attachments.content_type import inspect
from chatbridge.attachments.files import AttachmentFiles
from chatbridge.attachments.quota_folder import GRACE_SECONDS, NewFile
from chatbridge.attachments.received_copies import copy_into_project
from chatbridge.attachments.settings import AttachmentLimits
from chatbridge.core.errors import AttachmentError
from chatbridge.core.model import Ask, Attachment, AttachmentKind, Project
from tests.contract.asks import an_ask
from tests.contract.stores import store_in
from tests.fakes.clock import StillClock
from tests.fakes.databases import SqliteFile
from tests.fakes.loop_watch import calls_in_this_thread
from tests.fakes.sample_files import GIF, PNG

LIMITS = AttachmentLimits(largest=1_000, quota=1_500)
OUTSIDER = Project(key="http:laptop:1", name="laptop")


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def files(tmp_path: Path, clock: StillClock) -> AsyncIterator[AttachmentFiles]:
    opened = AttachmentFiles(tmp_path, LIMITS, clock)
    yield opened
    await opened.close()


async def added(files: AttachmentFiles, content: bytes, name: str = "build.log") -> Attachment:
    return await files.add(io.BytesIO(content), name=name)


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for piece in given:
        yield piece


async def received(
    files: AttachmentFiles, *content: bytes, ask: Ask | None = None, name: str | None = "a.txt"
) -> Attachment:
    return await files.receive(pieces(*content), name=name, to=ask or an_ask())


def there(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


# ── what is stored ────────────────────────────────────────────────────────────────────────────────


async def test_an_agents_file_is_stored_by_its_digest_for_the_owner_alone(
    files: AttachmentFiles, tmp_path: Path
) -> None:
    found = await added(files, b"one\ntwo\n", name="logs/../build.log")
    digest = sha256(b"one\ntwo\n").hexdigest()
    assert found == Attachment(
        digest=digest,
        name="build.log",
        type="text/plain",
        size=8,
        kind=AttachmentKind.TEXT,
        excerpt="one\ntwo",
    )
    path = tmp_path / "attachments" / digest
    assert files.path(found) == str(path)
    assert path.read_bytes() == b"one\ntwo\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_the_same_content_is_stored_and_counted_once(
    files: AttachmentFiles, tmp_path: Path
) -> None:
    first = await added(files, b"x" * 900)
    again = await added(files, b"x" * 900, name="other.log")
    assert replace(again, name=first.name) == first
    await added(files, b"y" * 600)
    assert len(there(tmp_path)) == 2


async def test_what_a_person_sends_is_stored_for_the_ask_under_a_name_of_ours(
    files: AttachmentFiles, tmp_path: Path
) -> None:
    ask = an_ask()
    found = await received(files, PNG[:20], PNG[20:], ask=ask, name="../../etc/passwd")
    path = tmp_path / "received" / ask.id / f"{sha256(PNG).hexdigest()[:12]}.png"
    assert (found.name, found.type, found.ask_id) == ("passwd", "image/png", ask.id)
    assert (found.width, found.height) == (3, 2)
    assert found.path == files.path(found) == str(path)
    assert path.read_bytes() == PNG
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_an_agent_elsewhere_is_told_no_path(files: AttachmentFiles) -> None:
    found = await received(files, b"text", ask=an_ask(project=OUTSIDER))
    assert found.path is None
    assert files.path(found) is not None


class Long(io.RawIOBase, BinaryIO):
    """A text of 20 MB that is never in memory as a whole."""

    left = 20_000_000

    def read(self, size: int | None = -1, /) -> bytes:
        piece = (b"word " * 100_000)[: min(size or 0, self.left)]
        self.left -= len(piece)
        return piece


async def test_a_long_file_is_never_in_memory_as_a_whole_and_never_read_in_the_loop(
    tmp_path: Path, clock: StillClock
) -> None:
    async def uploaded() -> AsyncIterator[bytes]:
        source = Long()
        while piece := source.read(64 * 1024):
            yield piece

    files = AttachmentFiles(tmp_path, AttachmentLimits(received="project"), clock)
    ask = an_ask(project=Project(key=str(tmp_path), name="shop"))
    tracemalloc.start()
    try:
        with calls_in_this_thread(inspect, NewFile.write, copy_into_project) as called:
            sent = await files.add(Long(), name="build.log")
            found = await files.receive(uploaded(), name="build.log", to=ask)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sent.size == found.size == 20_000_000
    assert peak < 4_000_000
    assert called == []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


async def test_where_the_owner_wants_it_the_agent_finds_a_copy_in_its_project(
    tmp_path: Path, project: Path, clock: StillClock
) -> None:
    files = AttachmentFiles(tmp_path / "state", AttachmentLimits(received="project"), clock)
    for_project = an_ask(project=Project(key=str(project), name="shop"))
    found = await received(files, PNG, ask=for_project)
    copy = project / ".chatbridge" / "received" / f"{found.digest[:12]}.png"
    assert found.path == str(copy)
    assert copy.read_bytes() == PNG
    assert files.path(found) == f"{tmp_path}/state/received/{for_project.id}/{copy.name}"
    assert (await received(files, PNG, ask=an_ask(project=OUTSIDER))).path is None
    alone = await received(files, PNG, ask=an_ask(project=Project(key="link:1", name="alone")))
    assert alone.path == files.path(alone)


async def test_a_project_that_takes_no_copy_costs_no_file(
    tmp_path: Path, project: Path, clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    (project / ".chatbridge").symlink_to(tmp_path)
    files = AttachmentFiles(tmp_path / "state", AttachmentLimits(received="project"), clock)
    found = await received(files, PNG, ask=an_ask(project=Project(key=str(project), name="shop")))
    assert found.path == files.path(found)
    assert "stays in" in caplog.text


# ── what is refused, and leaves nothing behind ────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("content", "at_most", "said"),
    [
        (b"", None, "The file is empty."),
        (b"x" * 1_001, None, "too large: there is room for 1 KB"),
        (b"x" * 101, 100, "too large: there is room for 100 bytes"),
        (b"x" * 1_001, 5_000, "too large: there is room for 1 KB"),
    ],
)
async def test_a_file_that_does_not_fit_is_refused_and_gone(
    files: AttachmentFiles, tmp_path: Path, content: bytes, at_most: int | None, said: str
) -> None:
    with pytest.raises(AttachmentError, match=said):
        await files.add(io.BytesIO(content), name="a", at_most=at_most)
    assert there(tmp_path) == set()


async def test_an_endless_file_is_read_no_further_than_its_limit(files: AttachmentFiles) -> None:
    class Endless(io.RawIOBase, BinaryIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return b"x" * 10

    with pytest.raises(AttachmentError, match="too large"):
        await files.add(Endless(), name="zero")


async def test_a_person_is_told_what_to_do_with_a_file_that_is_too_large(
    files: AttachmentFiles, tmp_path: Path
) -> None:
    with pytest.raises(AttachmentError, match=r"there is room for 1 KB\. Send a smaller one\."):
        await received(files, b"x" * 600, b"x" * 600)
    assert there(tmp_path) == set()


async def test_a_full_quota_refuses_what_is_new_and_the_refused_takes_no_room(
    files: AttachmentFiles,
) -> None:
    await added(files, b"x" * 900)
    with pytest.raises(AttachmentError, match=r"raise quota under \[attachments\]"):
        await added(files, b"y" * 700)
    await added(files, b"z" * 600)


async def test_agents_cannot_use_up_the_room_of_people(files: AttachmentFiles) -> None:
    await added(files, b"x" * 900)
    await added(files, b"y" * 600)
    await received(files, b"z" * 900)
    with pytest.raises(AttachmentError, match="Answer in words, or raise quota"):
        await received(files, b"a" * 900)


async def test_what_an_earlier_hub_stored_counts(
    files: AttachmentFiles, tmp_path: Path, clock: StillClock
) -> None:
    await added(files, b"x" * 900)
    await received(files, b"x" * 900)
    again = AttachmentFiles(tmp_path, LIMITS, clock)
    with pytest.raises(AttachmentError, match="full"):
        await added(again, b"y" * 700)
    with pytest.raises(AttachmentError, match="full"):
        await received(again, b"y" * 700)


async def test_what_a_crash_left_is_removed_by_the_next_start(
    tmp_path: Path, clock: StillClock
) -> None:
    for name in ("attachments/.new-1", "received/.new-2", "received/ask/.a.png.preview.3"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * 1_500)
    files = AttachmentFiles(tmp_path, LIMITS, clock)
    kept = await added(files, b"x" * 900)
    assert there(tmp_path) == {f"attachments/{kept.digest}"}


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "disk of the user's computer is full"),
        (errno.EDQUOT, "disk of the user's computer is full"),
        (errno.EROFS, "cannot be stored (Read-only file system)"),
    ],
)
async def test_a_disk_that_takes_nothing_is_said_and_leaves_nothing(
    files: AttachmentFiles,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    said: str,
) -> None:
    def full(_file: int) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(AttachmentError) as refused:
            await added(files, b"x" * 900)
        assert said in str(refused.value)
        with pytest.raises(AttachmentError, match="nswer in words"):
            await received(files, b"x" * 900)
    assert there(tmp_path) == set()
    await added(files, b"x" * 900)


async def test_a_reader_that_fails_is_no_fault_of_the_disk(files: AttachmentFiles) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"begun"
        raise ConnectionResetError("the service hung up")

    with pytest.raises(ConnectionResetError):
        await files.receive(broken(), name="a", to=an_ask())


async def test_a_cancelled_upload_leaves_nothing(files: AttachmentFiles, tmp_path: Path) -> None:
    begun, never = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"x" * 900
        begun.set()
        await never.wait()

    task = asyncio.ensure_future(files.receive(slow(), name="a", to=an_ask()))
    await asyncio.wait_for(begun.wait(), 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert there(tmp_path) == set()
    await received(files, b"x" * 1_000)


@pytest.mark.parametrize("id", ["..", "a/b", "", ".", "a\0b"])
async def test_an_id_that_is_no_name_of_a_folder_takes_no_file(
    files: AttachmentFiles, tmp_path: Path, id: str
) -> None:
    with pytest.raises(AttachmentError):
        await received(files, b"text", ask=an_ask(id=id))
    forged = Attachment(digest="0" * 64, name="a", type="text/plain", size=1, ask_id=id)
    assert files.path(forged) is None
    assert there(tmp_path) == set()


def test_a_digest_that_is_none_is_no_path(tmp_path: Path, clock: StillClock) -> None:
    (tmp_path / "web-token").write_text("secret")
    (tmp_path / "attachments").mkdir()
    (tmp_path / "attachments" / ("A" * 64)).touch()
    files = AttachmentFiles(tmp_path, LIMITS, clock)
    for digest in ("../web-token", "", ".", "A" * 64):
        assert files.path(Attachment(digest=digest, name="a", type="b", size=1)) is None


# ── sweeping ──────────────────────────────────────────────────────────────────────────────────────


async def test_files_go_with_their_ask_and_not_within_the_first_hour(
    files: AttachmentFiles, tmp_path: Path, clock: StillClock
) -> None:
    async with store_in(SqliteFile(tmp_path / "chatbridge.db")) as store:
        kept, gone = await added(files, b"kept"), await added(files, b"gone")
        ask = an_ask(attachments=(kept,))
        sent, late = await received(files, b"sent", ask=ask), await received(files, b"late")
        await store.write(lambda tx: tx.add_ask(ask))
        clock.advance(GRACE_SECONDS - 1)
        await files.sweep(store)
        assert all(map(files.path, (kept, gone, sent, late)))
        clock.advance(2)
        again = await added(files, b"again")
        await files.sweep(store)
        assert files.path(kept)
        assert files.path(sent)
        assert files.path(again)
        assert files.path(gone) is None
        assert files.path(late) is None
        assert not (tmp_path / "received" / str(late.ask_id)).exists()


async def test_a_file_that_is_sent_again_has_its_hour_again(
    files: AttachmentFiles, tmp_path: Path, clock: StillClock
) -> None:
    async with store_in(SqliteFile(tmp_path / "chatbridge.db")) as store:
        await added(files, b"x" * 900)
        clock.advance(GRACE_SECONDS + 1)
        again = await added(files, b"x" * 900)
        await files.sweep(store)
        assert files.path(again)


async def test_what_is_swept_makes_room(
    files: AttachmentFiles, tmp_path: Path, clock: StillClock
) -> None:
    async with store_in(SqliteFile(tmp_path / "chatbridge.db")) as store:
        for letter in (b"a", b"b", b"c"):
            await added(files, letter * 1_000)
            await received(files, letter * 1_000)
            clock.advance(GRACE_SECONDS + 1)
            await files.sweep(store)


async def test_an_upload_that_was_given_up_on_goes_and_makes_no_room_that_it_never_took(
    files: AttachmentFiles, tmp_path: Path, clock: StillClock
) -> None:
    async with store_in(SqliteFile(tmp_path / "chatbridge.db")) as store:
        ask = an_ask(attachments=(await added(files, b"x" * 900),))
        await store.write(lambda tx: tx.add_ask(ask))
        left = tmp_path / "attachments" / ".new-1"
        left.write_bytes(b"x" * 1_000)
        os.utime(left, (clock.time(), clock.time()))
        clock.advance(GRACE_SECONDS + 1)
        await files.sweep(store)
        assert not left.exists()
        with pytest.raises(AttachmentError, match="full"):
            await added(files, b"y" * 700)


async def test_a_preview_goes_with_its_picture(
    files: AttachmentFiles, tmp_path: Path, clock: StillClock
) -> None:
    async with store_in(SqliteFile(tmp_path / "chatbridge.db")) as store:
        picture = await added(files, GIF)
        path = tmp_path / "attachments" / f"{picture.digest}.preview"
        path.write_bytes(b"preview")
        os.utime(path, (clock.time(), clock.time()))
        clock.advance(GRACE_SECONDS + 1)
        await files.sweep(store)
        assert not path.exists()


async def test_files_of_an_ask_that_only_another_version_can_read_stay(
    files: AttachmentFiles, tmp_path: Path, clock: StillClock
) -> None:
    async with store_in(SqliteFile(tmp_path / "chatbridge.db")) as store:
        ask = an_ask(attachments=(await added(files, b"of the agent"),))
        sent = await received(files, b"of the person", ask=ask)
        await store.write(lambda tx: tx.add_ask(ask))
    with closing(connect(tmp_path / "chatbridge.db")) as database:
        database.execute("UPDATE asks SET questions = 'of a newer version'")
        database.commit()
    clock.advance(GRACE_SECONDS + 1)
    async with store_in(SqliteFile(tmp_path / "chatbridge.db")) as store:
        assert await store.ask(ask.id) is None
        await files.sweep(store)
    assert files.path(sent)
    assert files.path(ask.attachments[0])


async def test_a_database_that_cannot_be_read_costs_no_file(
    files: AttachmentFiles, tmp_path: Path, clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    kept = await added(files, b"kept")
    async with store_in(SqliteFile(tmp_path / "chatbridge.db")) as store:
        pass
    clock.advance(GRACE_SECONDS + 1)
    await files.sweep(store)
    assert files.path(kept)
    assert "not swept" in caplog.text


def test_an_idle_store_makes_no_folder(tmp_path: Path, clock: StillClock) -> None:
    async def sweep() -> None:
        async with store_in(SqliteFile(tmp_path / "db" / "chatbridge.db")) as store:
            await AttachmentFiles(tmp_path, LIMITS, clock).sweep(store)

    (tmp_path / "db").mkdir()
    asyncio.run(sweep())
    assert _folders(tmp_path.iterdir()) == ["db"]


def _folders(paths: Iterable[Path]) -> list[str]:
    return [path.name for path in paths]
