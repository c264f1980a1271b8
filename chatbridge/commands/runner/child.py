"""One command from its order to its end: its process, its output, its limits.

Time is monotonic and stands still while the machine is suspended, as the command does. The first
process is not reaped until all is over: until then nobody else can get its pid, which is also the
id of the session and the group.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import time
from collections.abc import Iterable

from chatbridge.commands.runner import processes, records
from chatbridge.commands.runner.records import Output
from chatbridge.system import children

DRAIN_SECONDS = 0.25
"""For what others of its processes still print when the first one has gone."""
GIVE_UP_SECONDS = 5.0
"""After SIGKILL. A process that the kernel holds may never end."""
_CHUNK_BYTES = 1 << 16
_MIN_PAUSE, _MAX_PAUSE = 0.02, 0.5
"""Seconds from one look at processes that are being ended to the next."""
_MAX_TIMEOUT_SECONDS = 1e9
"""Some decades: of a number without bounds no time can be counted."""
_RESTORED_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
"""Python ignores SIGPIPE, and whoever started the hub may have ignored others."""
_file_limits = resource.getrlimit(resource.RLIMIT_NOFILE)
"""As the runner found them: programs that count on a low number get it."""


class Child:
    """Its process runs when it has been made. :raises NotStarted: nothing was started."""

    def __init__(self, order: Order, *, place: str, grace: float, now: float) -> None:
        self.order = order
        self.mark = processes.mark(order.id, place)
        self.stopping: str | None = None
        """How it will have ended, if it is being ended."""
        self.living: set[processes.Process] = set()
        """What the last look has found of it, while it is being ended."""
        self._error: str | None = None
        self._exit: tuple[int | None, int | None] | None = None
        self._exited_at = 0.0
        self._drained_by = 0.0
        self._grace = grace
        self._signalled = False
        self._kill_at = 0.0
        self._pause = _MIN_PAUSE
        self.started_at = time.time()
        self.look_at = now + order.timeout
        """When something is due, whatever it is."""
        self._output = _output(order, self.started_at)
        environment = {**order.environment, processes.MARK: self.mark}
        try:
            self.pid, pipe = spawn(order.executable, order.argv, environment, folder=order.folder)
        except BaseException:
            self._output.close()
            raise
        records.started(order.output, self.pid)
        self.pipe: int | None = pipe
        order.argv, order.environment = [], {}  # they may be large, and secret

    @property
    def exited(self) -> bool:
        return self._exit is not None

    def stop(self, how: str, now: float, *, error: str | None = None) -> None:
        """At the next look its processes are told to end; later they are ended."""
        self.exits(now)
        if self.stopping is None and not self.exited:
            self.stopping, self._error = how, error
            self._kill_at = now + self._grace
            self.look_at = now

    def exits(self, now: float) -> None:
        """Look whether the first process has gone."""
        if self.exited:
            return
        found = children.ended(self.pid)
        if found is None:
            return
        self._exit = found
        self._exited_at = time.time()
        self._drained_by = now + DRAIN_SECONDS
        self.look_at = now if self.stopping else self._drained_by

    def read(self) -> bool:
        """Read what it has printed. False: the output has ended."""
        assert self.pipe is not None
        try:
            data = os.read(self.pipe, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        self._output.write(data)
        return bool(data)

    def look(self, now: float) -> bool:
        """Do what is due. True: the command is over."""
        if self.stopping is None:
            if self.exited:
                return now >= self._drained_by
            self.stop("timed_out", now)
            return False
        if not self._signalled:
            self._signalled = True
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)  # one that is halted could not end
        elif self.exited and not self.living:
            return True
        elif now >= self._kill_at + GIVE_UP_SECONDS:
            self._error = "not all of its processes could be ended, and those run on"
            return True
        elif now >= self._kill_at:
            self._signal(signal.SIGKILL)
        self.look_at = now + self._pause
        if now < self._kill_at:
            self.look_at = min(self.look_at, self._kill_at)
        self._pause = min(2 * self._pause, _MAX_PAUSE)
        return False

    def finish(self) -> records.Record:
        """Release everything and return how it ended. What is left of it cannot print any more."""
        if self.pipe is not None:
            for _ in range(2):  # as much as a pipe holds
                self.read()
            os.close(self.pipe)
            self.pipe = None
        if self.stopping:
            self._send_group(signal.SIGKILL)
        # One that cannot be ended, because it became another user's, is an orphan from now on.
        children.release(self.pid)
        self._output.close()
        code, number = self._exit or (None, None)
        return {
            "id": self.order.id,
            "output": self.order.output,
            "how": self.stopping or "exited",
            "exit_code": code,
            "signal": number,
            "size": self._output.size,
            "left_out": self._output.left_out,
            "started_at": self.started_at,
            "ended_at": self._exited_at or time.time(),
            "error": self._error or self._output.error,
        }

    def _signal(self, number: int) -> None:
        grouped = self._send_group(number)
        rest = {it for it in self.living if not grouped or _group(it[0]) != self.pid}
        processes.send(rest, number)

    def _send_group(self, number: int) -> bool:
        """Only while its number is nobody else's."""
        if self.exited and not children.HELD:
            return False
        processes.send_group(self.pid, number)
        return True


def _output(order: Order, now: float) -> Output:
    """The file, after the record that the command runs. :raises NotStarted:"""
    output = None
    try:
        output = Output(order.output, limit=order.limit)
        records.begin(order.output, {"id": order.id, "started_at": now})
        return output
    except OSError as error:
        if output is not None:
            output.close()
        raise NotStarted(f"its output cannot be written ({error.strerror})") from error


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


class NotStarted(Exception):
    """Says why, in words for the agent and its owner."""


def allow_files(wanted: int) -> int:
    """Let the runner have that many open files; how many it really can."""
    _, most = _file_limits
    if most != resource.RLIM_INFINITY:
        wanted = min(wanted, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(wanted, _file_limits[0]), most))
    return max(wanted, _file_limits[0])


def spawn(
    executable: str, argv: list[str], environment: dict[str, str], *, folder: str
) -> tuple[int, int]:
    """Start a process in a session of its own: its pid, and where to read its output. posix_spawn
    knows no working directory, so the runner changes its own and back again: that is cheaper than
    a fork, and errors come back as they are. :raises NotStarted:"""
    for path in (executable, folder):
        if not os.path.isabs(path):
            raise NotStarted(f"{path} is not a whole path; nothing was started")
    try:
        reading, writing = os.pipe()
    except OSError as error:
        raise NotStarted(f"too much is open already ({error.strerror})") from error
    now = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        try:
            os.chdir(folder)
        except OSError as error:
            why = f"the folder {folder} cannot be entered ({error.strerror})"
            raise NotStarted(why) from error
        resource.setrlimit(resource.RLIMIT_NOFILE, _file_limits)
        pid = os.posix_spawn(
            executable,
            argv,
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, writing, 1),
                (os.POSIX_SPAWN_DUP2, writing, 2),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=_RESTORED_SIGNALS,
        )
        os.set_blocking(reading, False)
    except BaseException as error:
        os.close(reading)
        if isinstance(error, OSError):
            raise NotStarted(_why(executable, error)) from error
        if isinstance(error, ValueError):  # a zero byte, or a character that is none
            raise NotStarted(f"its arguments cannot be handed over ({error})") from error
        raise
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, now)
        os.chdir("/")
        os.close(writing)
    return pid, reading


def _why(executable: str, error: OSError) -> str:
    if error.errno == errno.ENOENT and os.path.exists(executable):
        return f"{executable} could not be started: the program that its first line names is gone"
    if error.errno == errno.E2BIG:
        return f"{executable} could not be started: its arguments are too long for this machine"
    return f"{executable} could not be started ({error.strerror})"


class Garbage(ValueError):
    """What was sent is no message of ours."""


class Order:
    """`runner_client.Order` as it comes over the socket. It is no dataclass: importing dataclasses
    would take longer than the rest of the runner's start."""

    def __init__(self, given: object) -> None:
        """:raises Garbage: it is no order."""
        if not isinstance(given, dict):
            raise Garbage("an order is no object")
        self.id = _text(given, "id")
        self.executable = _text(given, "executable")
        self.folder = _text(given, "folder")
        self.output = _text(given, "output")
        argv, environment = given.get("argv"), given.get("environment")
        if not isinstance(argv, list) or not argv or not _all_texts(argv):
            raise Garbage("an order's argv is no list of texts")
        if not isinstance(environment, dict) or not _all_texts(environment.values()):
            raise Garbage("an order's environment is no object of texts")
        limit, timeout = given.get("limit"), given.get("timeout")
        if type(limit) is not int or limit < 0:
            raise Garbage("an order's limit is no number of bytes")
        if not isinstance(timeout, int | float) or not 0 <= timeout <= _MAX_TIMEOUT_SECONDS:
            raise Garbage("an order's timeout is no number of seconds")
        self.argv: list[str] = argv
        self.environment: dict[str, str] = environment
        self.limit, self.timeout = limit, float(timeout)

    def not_started(self, why: str) -> records.Record:
        end: records.Record = {"id": self.id, "output": self.output, "how": "not_started"}
        return {**end, "ended_at": time.time(), "error": why}


def _text(given: dict[str, object], name: str) -> str:
    found = given.get(name)
    if not isinstance(found, str) or not found or "\0" in found:
        raise Garbage(f"an order's {name} is no text")
    try:
        os.fsencode(found)
    except UnicodeEncodeError:
        raise Garbage(f"an order's {name} can name no file") from None
    return found


def _all_texts(found: Iterable[object]) -> bool:
    return all(isinstance(text, str) for text in found)
