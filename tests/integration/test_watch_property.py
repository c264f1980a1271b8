"""Whatever is done to the folders, what was read last is what is there."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.watched import there, watched

FOLDERS = ("a", "a/t", "b", "c", "link")
FILES = ("a/t/x.json", "a/t/y.json", "link/x.json", "d/z.json")
NUMBERS = itertools.count()


def made(at: Path, _other: Path) -> None:
    at.mkdir(parents=True)


def written(at: Path, _other: Path) -> None:
    at.write_text(str(next(NUMBERS)))


def removed(at: Path, _other: Path) -> None:
    shutil.rmtree(at) if at.is_dir() and not at.is_symlink() else at.unlink()


def moved(at: Path, other: Path) -> None:
    os.replace(at, other)


def linked(at: Path, other: Path) -> None:
    at.symlink_to(other)


Change = tuple[Callable[[Path, Path], None], str, str]
folders, files = st.sampled_from(FOLDERS), st.sampled_from(FILES)
changes: st.SearchStrategy[Change] = st.one_of(
    st.tuples(st.just(written), files, files),
    st.tuples(st.just(made), folders, folders),
    st.tuples(st.just(linked), folders, folders),
    st.tuples(st.just(linked), files, files),
    st.tuples(st.just(removed), folders | files, folders),
    st.tuples(st.just(moved), folders, folders),
    st.tuples(st.just(moved), files, files),
)


@settings(max_examples=30, deadline=None)
@given(done=st.lists(changes, min_size=4, max_size=12))
def test_what_was_read_last_is_what_is_there(done: list[Change]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_tried(Path(folder), done))


async def _tried(root: Path, done: list[Change]) -> None:
    dirs = [root / "a" / "t", root / "link"]
    for folder in ("a/t", "b", "d"):
        (root / folder).mkdir(parents=True)
    for file in ("d/z.json", "b/x.json"):
        (root / file).write_text("first")
    for at, other in (("link", "b"), ("a/t/x.json", "d/z.json")):
        linked(root / at, root / other)
    async with watched(*dirs) as it:
        for change, at, other in done:
            with suppress(OSError):
                change(root / at, root / other)
            await it.settled()
            assert it.seen == there(dirs)
