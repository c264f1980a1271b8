"""Previews of pictures. Owns the worker process: when it runs, and what it is given.

A preview lies beside its picture. Whatever goes wrong, the picture has none, the log says why, and
it travels as a file. Nothing is decoded in the hub's own process.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from chatbridge.attachments.content_type import inspect
from chatbridge.core.ports import Clock, Preview
from chatbridge.core.tasks import end_tasks
from chatbridge.extras import Extra

log = logging.getLogger(__name__)

EXTRA = Extra(name="pictures", modules=("PIL",), package="pillow")
MAX_SIDE = 1_568
"""What models see of a picture. Larger ones are shrunk by them."""
MAX_BYTES = 1_100_000
"""As base64 it is less than 1.5 MB."""
MAX_PIXELS = 50_000_000
TIMEOUT_SECONDS = 10.0
RETRY_AFTER_SECONDS = 600.0
MAX_REMEMBERED = 1_000
SUFFIX = ".preview"
TYPES = ("image/png", "image/jpeg")
INHERITED = ("PATH", "HOME", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH")
WORKER = (sys.executable, "-P", str(Path(__file__).with_name("picture_worker.py")))
"""As a file, so that it finds Pillow and needs nothing of ours."""


def can_shrink() -> bool:
    """Whether Pillow is installed, without importing it. It may be added while the hub runs."""
    return find_spec("PIL") is not None


class NoPreview(Exception):
    """Why there is none."""


class Pictures:
    def __init__(self, *, clock: Clock, timeout: float = TIMEOUT_SECONDS) -> None:
        self._clock = clock
        self._worker = PictureWorker(timeout=timeout)
        self._running: dict[str, asyncio.Task[Preview | None]] = {}
        self._failed: dict[str, float] = {}  # When it may be tried again, by path

    async def preview(self, path: str, *, made: Callable[[int], None]) -> Preview | None:
        """Of the picture at this path. `made` is told the size of a new one."""
        if found := await asyncio.to_thread(_stored, path):
            return found
        if self._failed.get(path, 0.0) > self._clock.monotonic() or not can_shrink():
            return None
        if (task := self._running.get(path)) is None:
            task = self._running[path] = asyncio.ensure_future(self._make(path, made))
            task.add_done_callback(lambda _: self._running.pop(path, None))
        return await asyncio.shield(task)

    async def close(self) -> None:
        await end_tasks(list(self._running.values()))
        await self._worker.close()

    async def _make(self, path: str, made: Callable[[int], None]) -> Preview | None:
        folder, name = os.path.split(path)
        target = os.path.join(folder, f".{name}{SUFFIX}.{os.urandom(6).hex()}")
        try:
            await self._worker.make(path, target)
            return await asyncio.to_thread(_take, target, path, made)
        except (NoPreview, OSError) as error:
            log.warning("no preview of %s: %s", name, error)
            while len(self._failed) >= MAX_REMEMBERED:
                del self._failed[next(iter(self._failed))]
            self._failed[path] = self._clock.monotonic() + RETRY_AFTER_SECONDS
            return None
        finally:
            await asyncio.to_thread(Path(target).unlink, missing_ok=True)


class PictureWorker:
    """One process, started for the first picture. It ends by itself when there is none for a
    while, and with the hub."""

    def __init__(self, *, timeout: float) -> None:
        self._timeout = timeout
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    async def make(self, source: str, target: str) -> None:
        """:raises NoPreview: :raises OSError: no process can be started."""
        order: dict[str, object] = {"source": source, "target": target}
        order |= {"side": MAX_SIDE, "pixels": MAX_PIXELS, "most": MAX_BYTES}
        line = json.dumps(order).encode() + b"\n"
        async with self._turn:
            before = self._process
            answer = await self._asked(line)
            if not answer and before is not None:  # it ended by itself at this very moment
                answer = await self._asked(line)
        if not answer:
            raise NoPreview("the worker has crashed")
        try:
            problem = json.loads(answer)["problem"]
        except (ValueError, LookupError, TypeError):
            problem = "the worker's answer cannot be read"
        if problem:
            raise NoPreview(str(problem))

    async def close(self) -> None:
        await self._end()

    async def _asked(self, line: bytes) -> bytes:
        """The answer; empty if the process has ended."""
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await asyncio.create_subprocess_exec(
                *WORKER, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd="/", env=_environment()
            )
        assert process.stdin is not None
        assert process.stdout is not None
        answer = b""
        try:
            async with asyncio.timeout(self._timeout):
                process.stdin.write(line)
                await process.stdin.drain()
                answer = await process.stdout.readline()
        except TimeoutError:
            raise NoPreview(f"not decoded within {self._timeout:g} s") from None
        except (ConnectionError, ValueError):  # ValueError: an answer without an end
            pass
        finally:
            if not answer.endswith(b"\n"):
                await self._end()
        return answer

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            try:
                process.kill()
            except ProcessLookupError:
                pass
        await process.wait()


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in INHERITED if name in os.environ}


def _stored(path: str) -> Preview | None:
    try:
        return _read(path + SUFFIX)
    except (OSError, NoPreview):
        return None


def _read(path: str) -> Preview:
    """:raises NoPreview: it is none of ours. :raises OSError:"""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        found = inspect(file)
    if found.type not in TYPES or found.width is None or found.height is None or size > MAX_BYTES:
        raise NoPreview("the worker's picture cannot be used")
    return Preview(path=path, type=found.type, size=size, width=found.width, height=found.height)


def _take(made_at: str, path: str, made: Callable[[int], None]) -> Preview:
    size = _read(made_at).size
    os.rename(made_at, path + SUFFIX)
    made(size)
    return _read(path + SUFFIX)
