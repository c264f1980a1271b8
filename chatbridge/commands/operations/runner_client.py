"""The connection to the runner process over a socket, with orders one way and ends the other.

The connection is made when it is needed, and a runner is started for the first order. If a runner
dies, what had ended by then is in files; everything else is lost, its processes are ended, and that
is reported. A runner of another protocol, left by an update, ends with its last command. No other
one is started until then.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ConfigDict, TypeAdapter, ValidationError

from chatbridge import lock_file, runtime_paths, safe_json
from chatbridge.commands.runner import PROTOCOL, records, start
from chatbridge.commands.runner.service import MAX_LINE
from chatbridge.core.errors import ChatbridgeError, RunnerUnavailable
from chatbridge.core.ports import Clock
from chatbridge.system import sockets

log = logging.getLogger(__name__)

ATTEMPTS = 50
PAUSE_SECONDS = 0.02
"""Seconds, of the machine's own clock: a process that ends lets go of its socket before its lock.
"""
ANSWER_WITHIN_SECONDS = 30.0
LOOK_AGAIN_SECONDS = 5.0
_LONG_LINE = 4 * 1024 * 1024

Message = dict[str, Any]


How = Literal["exited", "timed_out", "stopped", "not_started", "lost"]
"""`not_started`: the program could not be started, and `error` says why. `lost`: the runner died,
and with it everything that is known of the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One command to be run, in a process group of its own, with nothing to read."""

    id: str
    executable: str
    argv: tuple[str, ...]
    folder: str
    environment: Mapping[str, str] = field(repr=False)
    """All of it: nothing is inherited."""
    output: str
    """The file for what it prints on both of its outputs."""
    limit: int
    """Bytes in that file. Beyond it the beginning and the end are kept."""
    timeout: float
    """Seconds; then the whole group is ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    id: str
    how: How
    exit_code: int | None = None
    signal: int | None = None
    size: int = 0
    """How many bytes it printed."""
    left_out: int = 0
    """How many of them are not in its file."""
    started_at: float | None = None
    ended_at: float
    error: str | None = None

    __pydantic_config__ = ConfigDict(strict=True, allow_inf_nan=False)  # for what records say


class NotHandedOver(RunnerUnavailable):
    """The runner does not have it, and will not get it."""


class RunnerClient:
    """One hub's way to the runner, which outlives it: what it runs goes on, and what ended
    meanwhile is known to the next hub until it is forgotten. `outputs` is the folder that orders
    have their outputs in; `bounds` are for a runner that it starts: see there."""

    def __init__(
        self, *, state: str, clock: Clock, outputs: Path, bounds: tuple[float, ...] = ()
    ) -> None:
        self.ended: Callable[[End], None] = lambda _end: None
        """Told of every end, once for each hub; of those that an earlier hub started, too."""
        self._state, self._clock, self._outputs = state, clock, str(outputs)
        self._bounds = bounds
        self._running: set[str] = set()
        self._ends: dict[str, End] = {}
        """Those that are not forgotten."""
        self._files: dict[str, str] = {}
        """The names of their outputs."""
        self._forgotten: set[str] = set()
        """Ends that are stored, which the runner may not know yet."""
        self._handed: dict[str, asyncio.Future[None]] = {}
        """Orders that the runner has not confirmed."""
        self._opening = asyncio.Lock()
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._recovering: asyncio.Task[None] | None = None
        self._closed = False
        self._replaced = False

    async def __aenter__(self) -> Self:
        runtime_paths.make_private(self._outputs)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Disconnect. Commands continue; a runner without commands exits."""
        self._closed = True
        tasks = [task for task in (self._reading, self._recovering) if task is not None]
        writer = self._writer
        if writer is not None:
            writer.write(_encoded({"do": "leave"}))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if writer is not None:
            writer.close()  # a task that was ended before it began has not
            with suppress(OSError):
                await writer.wait_closed()

    async def known(self) -> Mapping[str, End | None]:
        """What it runs (None), and what has ended and was not forgotten. What an operation's id is
        missing from was never handed over to this runner; an earlier one may have died with it.
        :raises RunnerUnavailable:"""
        with suppress(_OtherProtocol):  # the records tell enough
            await self._line(start_one=False)
        return {**dict.fromkeys(self._running), **self._ends}

    async def start(self, order: Order) -> None:
        """Hand it over; returns when the runner has it: its process is there, or its end is told.
        An id that it knows is not started again. :raises NotHandedOver: :raises RunnerUnavailable:
        it cannot be said whether the runner has it."""
        if order.id in self._running or order.id in self._ends:
            return
        handed = self._handed.get(order.id)
        if handed is None:
            try:
                writer = await self._line(start_one=True)
            except RunnerUnavailable as error:
                raise NotHandedOver(str(error)) from error
            assert writer is not None
            handed = self._handed.get(order.id) or self._hand_over(order, writer)
            await _drain(writer)
        try:
            async with asyncio.timeout(ANSWER_WITHIN_SECONDS):
                await asyncio.shield(handed)
        except TimeoutError:
            raise RunnerUnavailable("the runner does not answer; try again later") from None

    async def stop(self, operation_id: str) -> None:
        """End its whole process group, gently at first. Its end is told as any other."""
        if operation_id in self._ends:
            return
        if (handed := self._handed.get(operation_id)) is not None:
            await asyncio.wait((handed,), timeout=ANSWER_WITHIN_SECONDS)
        writer = await self._line(start_one=False)
        if writer is not None:
            writer.write(_encoded({"do": "stop", "id": operation_id}))
            await _drain(writer)

    async def forget(self, operation_id: str) -> None:
        """Its end is stored."""
        name = self._files.pop(operation_id, None)
        if name is None:
            return
        del self._ends[operation_id]
        self._forgotten.add(operation_id)
        records.remove(os.path.join(self._outputs, name) + records.END)
        if self._writer is not None:
            self._writer.write(_encoded({"do": "forget", "id": operation_id}))

    async def _line(self, *, start_one: bool) -> asyncio.StreamWriter | None:
        """None: there is no runner, and none is to be started. :raises RunnerUnavailable:"""
        async with self._opening:
            if self._closed or self._replaced:
                raise RunnerUnavailable("this hub is ending, and runs no more commands")
            if self._writer is None:
                try:
                    await self._open(start_one=start_one)
                except RunnerUnavailable:
                    raise
                except (OSError, ChatbridgeError) as error:
                    log.warning("the runner cannot be used: %s", error)
                    raise RunnerUnavailable(f"commands cannot be run now: {error}") from error
            return self._writer

    async def _open(self, *, start_one: bool) -> None:
        pid: int | None = None
        for _ in range(ATTEMPTS):
            path, pid = start.holder(self._state)
            try:
                sock = sockets.connect(path)
            except OSError:
                if await self._settle_alone():
                    if not start_one:
                        return
                    why = await asyncio.to_thread(start.start_runner, self._state, *self._bounds)
                    if why is not None:
                        log.warning("the runner could not be started: %s", why)
                        raise RunnerUnavailable(f"commands cannot be run now: {why}") from None
                    continue
            else:
                streams = await asyncio.open_unix_connection(sock=sock, limit=_LONG_LINE)
                if await self._greet(*streams):
                    return
            await asyncio.sleep(PAUSE_SECONDS)
        raise RunnerUnavailable(
            f"the process that runs commands (pid {pid}) cannot be reached. If this lasts, end it: "
            f"kill {pid}"
        )

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """False: it was about to end."""
        greeted = False
        try:
            writer.write(_encoded({"hub": PROTOCOL}))
            async with asyncio.timeout(ANSWER_WITHIN_SECONDS):
                greeting = await _next(reader)
            if greeting is None:
                return False
            if greeting.get("runner") != PROTOCOL:
                writer.write(_encoded({"do": "leave"}))
                # Take the state from the files, as it cannot be asked.
                self._running = await asyncio.to_thread(records.running, self._outputs)
                self._take(await asyncio.to_thread(self._settle, set(self._running)))
                self._recover()
                raise _OtherProtocol(
                    "commands of another version of chatbridge are still running; new ones can be "
                    "run when they have ended"
                )
            running, held = set(greeting["running"]), list(greeting["held"])
            async with asyncio.timeout(ANSWER_WITHIN_SECONDS):
                told = [await _next(reader) for _ in held]
            if None in told:
                return False
            ends = await asyncio.to_thread(self._settle, running.union(held))
            # Those whose records could not be written, as on a full disk, are known to it alone.
            ends += [message["ended"] for message in told if message is not None]
            greeted = True
        except TimeoutError:
            raise RunnerUnavailable("the runner does not answer; try again later") from None
        finally:
            if not greeted:
                writer.close()
        self._writer = writer
        self._running = running
        self._take(ends)
        for operation_id in self._forgotten:
            writer.write(_encoded({"do": "forget", "id": operation_id}))
        self._reading = asyncio.create_task(self._read(reader, writer), name="runner")
        return True

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (message := await _next(reader)) is not None:
                self._heard(message)
        except Exception:
            log.exception("the line to the runner failed")
        finally:
            writer.close()
            self._writer = None
            for handed in self._handed.values():
                if not handed.done():
                    handed.set_exception(RunnerUnavailable())
            self._handed.clear()
            if not self._closed and not self._replaced:
                self._recover()

    def _heard(self, message: Message) -> None:
        if "ended" in message:
            self._take([message["ended"]])
        elif "has" in message:
            if message["has"] not in self._ends:  # its end may have come first
                self._running.add(message["has"])
            handed = self._handed.pop(message["has"], None)
            if handed is not None and not handed.done():
                handed.set_result(None)
        elif "forgot" in message:
            self._forgotten.discard(message["forgot"])
        elif "replaced" in message:
            self._replaced = True
            log.warning("another hub has taken over the commands")

    def _hand_over(self, order: Order, writer: asyncio.StreamWriter) -> asyncio.Future[None]:
        handed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        words = {it.name: getattr(order, it.name) for it in fields(order)}
        words["environment"] = dict(order.environment)
        line = _encoded({"do": "start", "order": words})
        if len(line) > MAX_LINE:
            handed.set_result(None)
            why, now = "its arguments are too long", self._clock.time()
            self._take([{"id": order.id, "how": "not_started", "ended_at": now, "error": why}])
            return handed
        # Nobody may be waiting for it any more.
        handed.add_done_callback(lambda it: it.cancelled() or it.exception())
        self._handed[order.id] = handed
        writer.write(line)
        return handed

    def _take(self, ends: Iterable[records.Record]) -> None:
        for record in ends:
            end = read_end(record)
            if end is None:
                continue
            self._running.discard(end.id)
            if end.id not in self._ends and end.id not in self._forgotten:
                self._ends[end.id] = end
                self._files[end.id] = os.path.basename(str(record.get("output", end.id)))
                self.ended(end)

    def _recover(self) -> None:
        """Try until a runner answers or there is none. Without one, its commands are lost."""
        if self._recovering is None or self._recovering.done():
            self._recovering = asyncio.create_task(self._look_again(), name="runner's end")

    async def _look_again(self) -> None:
        while True:
            try:
                await self._line(start_one=False)
            except RunnerUnavailable as error:
                if self._closed or self._replaced:
                    return
                log.warning("the runner is not there: %s", error)
            except Exception:
                log.exception("looking for the runner failed")
            else:
                return
            await self._clock.sleep(LOOK_AGAIN_SECONDS)

    async def _settle_alone(self) -> bool:
        """End everything if there is no runner. False: there is one."""

        def settle() -> list[records.Record] | None:
            lock = lock_file.try_lock(start.lock_path(self._state))
            if lock is None:
                return None
            try:
                return self._settle(set())
            finally:
                os.close(lock)

        ends = await asyncio.to_thread(settle)
        if ends is None:
            return False
        self._take(ends)
        # If there are any, then somebody has emptied the folder.
        now = self._clock.time()
        self._take({"id": it, "how": "lost", "ended_at": now} for it in list(self._running))
        self._forgotten.clear()
        return True

    def _settle(self, held: set[str]) -> list[records.Record]:
        return records.settle(
            self._outputs, held=held, place=start.place(self._state), now=self._clock.time()
        )


@cache
def _end_reader() -> TypeAdapter[End]:
    return TypeAdapter(End)


def read_end(record: records.Record) -> End | None:
    """What a record says; None: nobody of ours has written it."""
    try:
        return _end_reader().validate_json(json.dumps(record))
    except ValidationError:
        log.warning("the record of an end cannot be used: %s", record)
        return None


class _OtherProtocol(RunnerUnavailable):
    """The runner was started by another version of chatbridge."""


def _encoded(message: Message) -> bytes:
    return json.dumps(message).encode() + b"\n"


async def _next(reader: asyncio.StreamReader) -> Message | None:
    """The runner's next message; None at the end, or if it is not a message."""
    try:
        line = await reader.readline()
        message = safe_json.loads(line) if line.endswith(b"\n") else None
    except (OSError, ValueError):
        return None
    return message if isinstance(message, dict) else None


async def _drain(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):  # whoever reads has noticed
        await writer.drain()
