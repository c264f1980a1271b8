"""The runner's main loop: messages of the hub, outputs and ends of commands, signals, time-outs.

Nothing in it blocks but the selector. The package's docstring describes the messages.
"""

from __future__ import annotations

import errno
import json
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable

from chatbridge import safe_json
from chatbridge.commands.runner import PROTOCOL, processes, records
from chatbridge.commands.runner.child import Child, Garbage, NotStarted, Order, allow_files
from chatbridge.framing import LineReader, Overlong
from chatbridge.system import children, sockets

Message = dict[str, object]

MAX_LINE = 16 * 1024 * 1024
"""Arguments and environment may be 2 MB on Linux, and JSON writes some bytes as six."""
_MAX_UNREAD_BYTES = 8 * 1024 * 1024
MAX_RUNNING = 512
_SPARE_FILES = 64
_MAX_HELD_ENDS = 4096
"""Ends that are held in memory; those beyond are in their files only."""
_MAX_NEWCOMERS = 16
_GREETING_SECONDS = 10.0
_MAX_WAIT_SECONDS = 3600.0
_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)


class Service:
    def __init__(self, *, listener: socket.socket, place: str, grace: float, linger: float) -> None:
        self._listener, self._place = listener, place
        self._grace, self._linger = grace, linger
        self._most = min(
            MAX_RUNNING, (allow_files(2 * MAX_RUNNING + _SPARE_FILES) - _SPARE_FILES) // 2
        )
        self._selector = selectors.DefaultSelector()
        self._children: dict[str, Child] = {}
        self._ended: dict[str, records.Record] = {}
        self._hub: Connection | None = None
        self._newcomers: dict[Connection, float] = {}
        """Connected, and has not said that it is a hub; until when it may."""
        self._idle_since: float | None = None
        self._left = False
        """The hub has gone for good: there is nothing to linger for."""
        self._terminated = False

    def run(self) -> None:
        """Until nothing runs and nobody wants it."""
        woken = self._catch_signals()
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(woken, selectors.EVENT_READ, lambda _: self._signalled(woken))
        while not self._over():
            for key, events in self._selector.select(self._patience()):
                # What came earlier in this round may have closed it.
                if self._selector.get_map().get(key.fd) is key:
                    key.data(events)
            self._due(time.monotonic())

    def _catch_signals(self) -> int:
        reading, writing = os.pipe()
        for end in (reading, writing):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        for number in _SIGNALS:
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        return reading

    def _signalled(self, woken: int) -> None:
        numbers = set(os.read(woken, 4096))
        now = time.monotonic()
        if numbers & {signal.SIGTERM, signal.SIGINT}:
            self._terminated = True
            for child in self._children.values():
                child.stop("stopped", now, error="what runs commands was ended")
        for child in list(self._children.values()):
            child.exits(now)
            if child.exited and child.pipe is None and not child.stopping:
                self._finish(child)
        self._reap_orphans()

    def _over(self) -> bool:
        now = time.monotonic()
        busy = bool(self._children) or (self._hub is not None and not self._terminated)
        if busy:
            self._idle_since = None
            return False
        if self._idle_since is None:
            self._idle_since = now
        if self._terminated or (self._left and not self._newcomers):
            return True
        return now >= self._idle_since + self._linger

    def _patience(self) -> float:
        now = time.monotonic()
        moments = [now + _MAX_WAIT_SECONDS, *self._newcomers.values()]
        moments += [child.look_at for child in self._children.values()]
        if self._idle_since is not None:
            moments.append(self._idle_since + self._linger)
        return max(min(moments) - now, 0.0)

    def _due(self, now: float) -> None:
        for newcomer, until in list(self._newcomers.items()):
            if now >= until:
                newcomer.close("it did not say what it is")
        due = [child for child in self._children.values() if now >= child.look_at]
        if stopping := [child for child in due if child.stopping]:
            seen = {process: child.mark for child in stopping for process in child.living}
            living = processes.living({child.mark: child.pid for child in stopping}, seen)
            for child in stopping:
                child.living = living[child.mark]
        for child in due:
            if child.look(now):
                self._finish(child)

    def _accept(self, _: int) -> None:
        try:
            sock, _address = self._listener.accept()
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ECONNABORTED):
                say(f"a connection was not accepted ({error.strerror})")
            return
        full = len(self._newcomers) >= _MAX_NEWCOMERS
        if full or not sockets.is_own(sock):
            sock.close()
            return
        newcomer = Connection(sock, self._selector, heard=self._heard, closed=self._closed)
        self._newcomers[newcomer] = time.monotonic() + _GREETING_SECONDS

    def _closed(self, connection: Connection, why: str) -> None:
        if why:
            say(f"a connection was closed: {why}")
        self._newcomers.pop(connection, None)
        if connection is self._hub:
            self._hub = None

    def _heard(self, connection: Connection, message: Message) -> None:
        if connection is not self._hub and "hub" in message:
            self._greet(connection, message["hub"])
        elif message.get("do") == "leave":  # of all protocols, so anybody may say it
            self._left = True
            connection.close()
        elif connection is self._hub:
            self._obey(message)
        else:
            raise Garbage("it did not say what it is")

    def _greet(self, newcomer: Connection, protocol: object) -> None:
        greeting: Message = {"runner": PROTOCOL, "pid": os.getpid()}
        if protocol != PROTOCOL:
            newcomer.tell(greeting)
            return
        before, self._hub = self._hub, newcomer
        del self._newcomers[newcomer]
        self._left = False
        if before is not None:
            before.tell({"replaced": True})
            before.close()
        held: Message = {"running": list(self._children), "held": list(self._ended)}
        newcomer.tell({**greeting, **held})
        for end in self._ended.values():
            newcomer.tell({"ended": end})

    def _obey(self, message: Message) -> None:
        match message:
            case {"do": "start"}:
                self._start(Order(message.get("order")))
            case {"do": "stop", "id": str(operation_id)}:
                if child := self._children.get(operation_id):
                    child.stop("stopped", time.monotonic())
            case {"do": "forget", "id": str(operation_id)}:
                self._ended.pop(operation_id, None)
                self._tell({"forgot": operation_id})
            case _:
                raise Garbage("a message is none of ours")

    def _start(self, order: Order) -> None:
        if order.id in self._children or order.id in self._ended:
            self._tell({"has": order.id})
            return
        end = records.read(order.output + records.END)  # an earlier runner had it
        if end is None and os.path.lexists(order.output):
            # What is written beside it is not ours to touch.
            end = order.not_started("its output is there already: it ran before")
        if end is not None:
            self._tell({"has": order.id})
            self._tell({"ended": end})
            return
        try:
            if self._terminated or len(self._children) >= self._most:
                raise NotStarted("no more commands can be run now; try again later")
            child = Child(order, place=self._place, grace=self._grace, now=time.monotonic())
        except NotStarted as error:
            self._tell({"has": order.id})
            self._end(order.not_started(str(error)))
            return
        self._children[order.id] = child
        self._tell({"has": order.id})
        assert child.pipe is not None
        self._selector.register(child.pipe, selectors.EVENT_READ, lambda _: self._readable(child))

    def _readable(self, child: Child) -> None:
        if child.read():
            return
        assert child.pipe is not None
        self._selector.unregister(child.pipe)
        os.close(child.pipe)
        child.pipe = None
        if child.exited and not child.stopping:
            self._finish(child)

    def _finish(self, child: Child) -> None:
        del self._children[child.order.id]
        if child.pipe is not None:
            self._selector.unregister(child.pipe)
        self._end(child.finish())
        self._reap_orphans()

    def _end(self, end: records.Record) -> None:
        try:
            records.end(str(end["output"]), end)
        except OSError as error:
            say(f"an end could not be written ({error.strerror})")
        self._ended[str(end["id"])] = end
        while len(self._ended) > _MAX_HELD_ENDS:
            del self._ended[next(iter(self._ended))]
        self._tell({"ended": end})

    def _tell(self, message: Message) -> None:
        if self._hub is not None:
            self._hub.tell(message)

    def _reap_orphans(self) -> None:
        """Processes that a command has left behind come to the runner when their parents go."""
        children.reap_orphans({child.pid for child in self._children.values()})


def say(what: str) -> None:
    """Into the hub's log, if that can be written: a full disk must not end what runs."""
    try:
        os.write(2, f"chatbridge runner: {what}\n".encode())
    except OSError:
        pass


class Connection:
    """Lines of JSON in both directions, without blocking."""

    def __init__(
        self,
        sock: socket.socket,
        selector: selectors.BaseSelector,
        *,
        heard: Callable[[Connection, Message], None],
        closed: Callable[[Connection, str], None],
    ) -> None:
        sock.setblocking(False)
        self._sock, self._selector = sock, selector
        self._heard, self._closed = heard, closed
        self._reader = LineReader(MAX_LINE)
        self._unsent = bytearray()
        self._open = True
        selector.register(sock, selectors.EVENT_READ, self._ready)

    def tell(self, message: Message) -> None:
        if not self._open:
            return
        self._unsent += json.dumps(message).encode() + b"\n"
        if len(self._unsent) > _MAX_UNREAD_BYTES:
            self.close("nothing was read there")
        else:
            self._send()

    def close(self, why: str = "") -> None:
        """What has not been sent is lost."""
        if self._open:
            self._open = False
            self._selector.unregister(self._sock)
            self._sock.close()
            self._closed(self, why)

    def _ready(self, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._send()
        if events & selectors.EVENT_READ and self._open:
            self._receive()

    def _receive(self) -> None:
        try:
            data = self._sock.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        for line in self._reader.feed(data):
            if not self._open:
                return
            try:
                self._heard(self, _parsed(line))
            except Garbage as error:
                self.close(str(error))

    def _send(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._sock.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)
        if self._selector.get_key(self._sock).events != wanted:
            self._selector.modify(self._sock, wanted, self._ready)


def _parsed(line: bytes | Overlong) -> Message:
    if isinstance(line, Overlong):
        raise Garbage("a line is too long")
    try:
        message = safe_json.loads(line)
    except ValueError:
        raise Garbage("a line is no JSON") from None
    if not isinstance(message, dict):
        raise Garbage("a line is no object")
    return message
