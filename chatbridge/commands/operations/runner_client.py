"""The hub's line to the runner: `running.Runner` over its socket.

Owns the connection: it is made when it is needed, a runner is started for the first order, and one
that has died is noticed. What had ended by then is in files, and what had not is lost: its
processes are ended, and that is told. A runner of another protocol, which an update has left
behind, ends with its last command; no other is started until then.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from chatbridge import lock_file, runtime_paths, safe_json, sockets
from chatbridge.commands.operations.runner_port import End, NotHandedOver, Order
from chatbridge.commands.operations.runner_state import Known
from chatbridge.commands.runner import PROTOCOL, records, start
from chatbridge.commands.runner.connection import MAX_LINE
from chatbridge.core.errors import ChatbridgeError, RunnerUnavailable
from chatbridge.core.ports import Clock

log = logging.getLogger(__name__)

ATTEMPTS = 50
PAUSE = 0.02
"""Seconds, of the machine's own clock: a process that ends lets go of its socket before its lock.
"""
PATIENCE = 30.0
AGAIN = 5.0
"""Seconds until the next look for a runner that cannot be talked to."""
_LONG_LINE = 4 * 1024 * 1024

Message = dict[str, Any]


class RunnerLine:
    """One hub's. `outputs` is the folder that orders have their outputs in; `bounds` are for a
    runner that it starts: see there."""

    def __init__(
        self, *, state: str, clock: Clock, outputs: Path, bounds: tuple[float, ...] = ()
    ) -> None:
        self.ended: Callable[[End], None] = lambda _end: None
        self._state, self._clock, self._outputs = state, clock, str(outputs)
        self._bounds = bounds
        self._known = Known(self._outputs, self._tell)
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

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """What runs goes on; a runner with nothing to do ends."""
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
            try:
                await writer.wait_closed()
            except OSError:
                pass

    async def known(self) -> Mapping[str, End | None]:
        try:
            await self._line(start_one=False)
        except _OtherProtocol:
            pass  # the records tell enough
        return self._known.all()

    async def start(self, order: Order) -> None:
        if order.id in self._known.running or self._known.has_ended(order.id):
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
            async with asyncio.timeout(PATIENCE):
                await asyncio.shield(handed)
        except TimeoutError:
            raise RunnerUnavailable("the runner does not answer; try again later") from None

    async def stop(self, operation_id: str) -> None:
        if self._known.has_ended(operation_id):
            return
        if (handed := self._handed.get(operation_id)) is not None:
            await asyncio.wait((handed,), timeout=PATIENCE)
        writer = await self._line(start_one=False)
        if writer is not None:
            writer.write(_encoded({"do": "stop", "id": operation_id}))
            await _drain(writer)

    async def forget(self, operation_id: str) -> None:
        if self._known.forget(operation_id) and self._writer is not None:
            self._writer.write(_encoded({"do": "forget", "id": operation_id}))

    # The connection.

    async def _line(self, *, start_one: bool) -> asyncio.StreamWriter | None:
        """Connected; None only if there is no runner and none is to be started.

        :raises RunnerUnavailable:
        """
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
                    await self._start_one()
                    continue
            else:
                streams = await asyncio.open_unix_connection(sock=sock, limit=_LONG_LINE)
                if await self._greet(*streams):
                    return
            await asyncio.sleep(PAUSE)
        raise RunnerUnavailable(
            f"the process that runs commands (pid {pid}) cannot be reached. If this lasts, end it: "
            f"kill {pid}"
        )

    async def _start_one(self) -> None:
        why = await asyncio.to_thread(start.start_runner, self._state, *self._bounds)
        if why is not None:
            log.warning("the runner could not be started: %s", why)
            raise RunnerUnavailable(f"commands cannot be run now: {why}")

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """False: it was about to end."""
        try:
            writer.write(_encoded({"hub": PROTOCOL}))
            async with asyncio.timeout(PATIENCE):
                greeting = await _next(reader)
            if greeting is None:
                writer.close()
                return False
            if greeting.get("runner") != PROTOCOL:
                writer.write(_encoded({"do": "leave"}))
                await self._look_at_records()
                self._recover()
                raise _OtherProtocol(
                    "commands of another version of chatbridge are still running; new ones can be "
                    "run when they have ended"
                )
            running, held = set(greeting["running"]), list(greeting["held"])
            async with asyncio.timeout(PATIENCE):
                told = [await _next(reader) for _ in held]
            if None in told:
                writer.close()
                return False
            ends = await asyncio.to_thread(self._settle, running.union(held))
            # Those whose records could not be written, as on a full disk, are known to it alone.
            ends += [message["ended"] for message in told if message is not None]
        except TimeoutError:
            writer.close()
            raise RunnerUnavailable("the runner does not answer; try again later") from None
        except BaseException:
            writer.close()
            raise
        self._writer = writer
        self._known.running = running
        self._known.end(ends)
        for operation_id in self._known.forgotten:
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
            self._known.end([message["ended"]])
        elif "has" in message:
            self._known.runs(message["has"])
            handed = self._handed.pop(message["has"], None)
            if handed is not None and not handed.done():
                handed.set_result(None)
        elif "forgot" in message:
            self._known.forgotten.discard(message["forgot"])
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
            self._known.end([_too_long(order, self._clock.time())])
            return handed
        # Nobody may be waiting for it any more.
        handed.add_done_callback(lambda it: it.cancelled() or it.exception())
        self._handed[order.id] = handed
        writer.write(line)
        return handed

    # What became of commands.

    def _tell(self, end: End) -> None:
        self.ended(end)  # whoever hears it is known later than this line is made

    def _recover(self) -> None:
        """Look again until there is a runner to talk to, or none: then what it ran is lost."""
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
            await self._clock.sleep(AGAIN)

    async def _look_at_records(self) -> None:
        """For a runner that cannot be asked: what it has not recorded as ended runs."""
        running = await asyncio.to_thread(records.running, self._outputs)
        self._known.running = running
        self._known.end(await asyncio.to_thread(self._settle, set(running)))

    async def _settle_alone(self) -> bool:
        """There is no runner: what it ran is over. False: there is one."""

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
        self._known.end(ends)
        # If there are any, then somebody has emptied the folder.
        now = self._clock.time()
        self._known.end(
            {"id": it, "how": "lost", "ended_at": now} for it in list(self._known.running)
        )
        self._known.forgotten.clear()
        return True

    def _settle(self, held: set[str]) -> list[records.Record]:
        return records.settle(
            self._outputs, held=held, place=start.place(self._state), now=self._clock.time()
        )


class _OtherProtocol(RunnerUnavailable):
    """The runner was started by another version of chatbridge."""


def _too_long(order: Order, now: float) -> records.Record:
    why = "its arguments are too long"
    return {"id": order.id, "how": "not_started", "ended_at": now, "error": why}


def _encoded(message: Message) -> bytes:
    return json.dumps(message).encode() + b"\n"


async def _next(reader: asyncio.StreamReader) -> Message | None:
    """The runner's next message, or None if there will be none, or none that is one."""
    try:
        line = await reader.readline()
        message = safe_json.loads(line) if line.endswith(b"\n") else None
    except (OSError, ValueError):
        return None
    return message if isinstance(message, dict) else None


async def _drain(writer: asyncio.StreamWriter) -> None:
    try:
        await writer.drain()
    except OSError:
        pass  # whoever reads has noticed
