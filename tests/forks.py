"""Runs the tests in several processes: a pytest plug-in, for `make test`.

Tests are collected once, and each worker is a fork of the process that has them. To collect takes
ten seconds of work, and pytest-xdist does it in each worker; it also sends five messages for each
of fourteen thousand tests, where one is enough.

Each worker begins with tests that are side by side, so that few open what a module or a session
shares. One that has no more takes half of what the busiest still has.
"""

from __future__ import annotations

import atexit
import os
import random
import sys
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import StringIO
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import Any, cast

import pytest
from _pytest._io import TerminalWriter
from _pytest.capture import FDCapture

AHEAD = 2
"""Tests that a worker has at least: which one is the next says what of a module is kept for it."""
SHOWN = 0.005
"""Seconds that a set-up or its end has to take to be listed by `--durations`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, help="number of processes that run tests")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    option = session.config.option
    if not option.forks or option.collectonly or session.testsfailed:
        return None
    forks = Forks(session)
    try:
        forks.run(min(option.forks, len(session.items)))
    finally:
        forks.close()
    return True


@dataclass(eq=False, slots=True)
class Worker:
    name: str
    queue: deque[int]
    """Items, by number, that it has not been told of."""
    pid: int = 0
    pipe: Connection = field(init=False)
    told: deque[int] = field(default_factory=deque)
    """The one that it runs, and those after it."""


class Forks:
    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._hook = session.config.hook
        self._workers: list[Worker] = []

    def run(self, number: int) -> None:
        _factory(self._session).getbasetemp()  # each worker's is in it
        items = len(self._session.items)
        for at in range(number):
            share = range(at * items // number, (at + 1) * items // number)
            self._start(f"gw{at}", deque(share))
        while self._workers:
            pipes = {worker.pipe: worker for worker in self._workers}
            for pipe in wait([*pipes]):
                worker = pipes[cast("Connection", pipe)]
                try:
                    reports = worker.pipe.recv()
                except (EOFError, ConnectionError):
                    self._ended(worker)
                else:
                    self._done(worker, reports)
                self._stop_if_wanted()

    def close(self) -> None:
        """They end, with what they have opened, when nobody tells them what is next."""
        for worker in self._workers:
            worker.pipe.close()
        for worker in self._workers:
            os.waitpid(worker.pid, 0)

    def _start(self, name: str, queue: deque[int]) -> None:
        worker = Worker(name, queue)
        worker.pipe, theirs = Pipe()
        sys.stdout.flush()
        worker.pid = os.fork()
        if not worker.pid:
            for other in (worker, *self._workers):
                other.pipe.close()
            _work(self._session, name, theirs)
        theirs.close()
        self._workers.append(worker)
        for _ in range(AHEAD):
            self._tell(worker)

    def _tell(self, worker: Worker) -> None:
        """Which one comes after those that it knows of; None: there are no more."""
        if not worker.queue:
            busiest = max(self._workers, key=lambda it: len(it.queue))
            for _ in range(self._half(busiest.queue)):
                worker.queue.appendleft(busiest.queue.pop())
        number = worker.queue.popleft() if worker.queue else None
        if number is not None:
            worker.told.append(number)
        with suppress(ConnectionError):  # the end of the pipe says so, too
            worker.pipe.send(number)

    def _half(self, queue: deque[int]) -> int:
        """How many of its last ones are about half, and whole modules where that can be."""
        paths = [self._session.items[number].path for number in queue]
        middle = len(paths) // 2
        edges = (at for at in range(middle, len(paths)) if at and paths[at] != paths[at - 1])
        return len(paths) - next(edges, middle)

    def _done(self, worker: Worker, reports: Sequence[dict[str, Any]]) -> None:
        item = self._session.items[worker.told.popleft()]
        for data in reports:
            report = self._hook.pytest_report_from_serializable(
                config=self._session.config, data=data
            )
            self._hook.pytest_runtest_logreport(report=report)
        self._hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        self._tell(worker)

    def _ended(self, worker: Worker) -> None:
        """It has no more to do; or it crashed, and another goes on."""
        worker.pipe.close()
        _, status = os.waitpid(worker.pid, 0)
        self._workers.remove(worker)
        if not worker.told:
            return
        item = self._session.items[worker.told.popleft()]
        crash = f"worker {worker.name} ended in it: {os.waitstatus_to_exitcode(status)}"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", crash, "call")
        self._hook.pytest_runtest_logreport(report=report)
        if rest := deque((*worker.told, *worker.queue)):
            self._start(f"{worker.name}x", rest)

    def _stop_if_wanted(self) -> None:
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)


class Sender:
    """What a worker has to say of a test."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.reports: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed or report.duration >= SHOWN:
            data = self._config.hook.pytest_report_to_serializable(
                config=self._config, report=report
            )
            self.reports.append(data)


def _work(session: pytest.Session, name: str, pipe: Connection) -> None:
    """In the fork: does not return."""
    config = session.config
    code = 1
    try:
        sender = _become(session, name)
        for item, after in _told(session, pipe):
            config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            pipe.send(sender.reports)
            sender.reports.clear()
        code = 0
    except (EOFError, ConnectionError, KeyboardInterrupt):
        pass  # the run ends
    except Exception:  # noqa: BLE001 - nobody is above it
        config.pluginmanager.getplugin("capturemanager").stop_global_capturing()
        traceback.print_exc(file=sys.__stderr__)
    finally:
        try:
            session._setupstate.teardown_exact(None)
            config._ensure_unconfigure()
            atexit._run_exitfuncs()
        finally:
            os._exit(code)


def _told(
    session: pytest.Session, pipe: Connection
) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Each item with the one after it."""
    number = pipe.recv()
    while number is not None:
        after = pipe.recv()
        yield session.items[number], None if after is None else session.items[after]
        number = after


def _become(session: pytest.Session, name: str) -> Sender:
    """What a process of its own has: files, a place for them, chance, and nothing to end for
    another."""
    config = session.config
    atexit._clear()
    random.seed()
    os.environ["PYTEST_XDIST_WORKER"] = name
    _print_apart(config)
    factory = _factory(session)
    factory._basetemp = factory.getbasetemp() / name
    factory._basetemp.mkdir(mode=0o700)
    config.pluginmanager.unregister(name="terminalreporter")
    silent = SimpleNamespace(_tw=TerminalWriter(StringIO()))
    config.pluginmanager.register(silent, "terminalreporter")
    sender = Sender(config)
    config.pluginmanager.register(sender)
    return sender


def _print_apart(config: pytest.Config) -> None:
    """What is printed goes to files of its own. The objects stay: some modules have kept
    `sys.stderr` since they were imported."""
    capturing = config.pluginmanager.getplugin("capturemanager")._global_capturing
    for each in (capturing.out, capturing.err) if capturing else ():
        if isinstance(each, FDCapture):
            with TemporaryFile() as file:
                os.dup2(file.fileno(), each.tmpfile.fileno(), inheritable=False)
                os.dup2(file.fileno(), each.targetfd)


def _factory(session: pytest.Session) -> pytest.TempPathFactory:
    return cast("pytest.TempPathFactory", session.config._tmp_path_factory)  # type: ignore[attr-defined]
