"""The process that has imported and compiled what chatbridge needs, and forks hubs and commands
whenever it is asked.

Each has a session, descriptors, an environment and a working directory of its own, and runs the
same code from `chatbridge.__main__.main` on. A hub belongs to init, as one that a link executes
does. A command is this process' child: whoever asked for it keeps the connection open, is told its
pid and how it ended, and takes it along by leaving. Before the fork there is no thread and no loop.
This process ends with its standard input, which the tests hold; hubs are the tests' to end.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import marshal
import os
import select
import signal
import socket
import sys
import termios
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

HEAVY = (
    "anyio._backends._asyncio",
    "encodings.idna",
    "encodings.utf_16_le",
    "httpcore",
    "uvicorn.lifespan.off",
    "uvloop",
    "chatbridge.__main__",
    "chatbridge.hub.process.start",
    "chatbridge.hub.wiring.serving",
    "chatbridge.channels.web.channel",
    "chatbridge.channels.telegram.channel",
    "chatbridge.channels.matrix.channel",
    "chatbridge.channels.slack.channel",
    "chatbridge.channels.discord.channel",
    "chatbridge.channels.ntfy.channel",
    "chatbridge.channels.web.doctor",
    "chatbridge.cli.agents.messages",
    "chatbridge.cli.questions.commands",
    "chatbridge.cli.doctor.run",
    "chatbridge.cli.pairing",
    "chatbridge.cli.people",
    "chatbridge.cli.questions.lists",
    "chatbridge.cli.setup.wizard",
    "chatbridge.tools.journal.yaml_text",
    "chatbridge.tools.server",
    "questionary",
    "segno",
    "tomlkit",
    "yaml",
)
LARGEST = 128 * 1024
ABOVE = 10
"""Where descriptors are out of the way of those that a process is given."""


def main() -> int:
    given = int(sys.argv[1])
    listener = socket.socket(fileno=fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, ABOVE))
    os.close(given)
    gc.disable()
    for name in HEAVY:
        import_module(name)
    _make_what_is_kept()
    gc.freeze()
    gc.enable()
    assert len(os.listdir("/proc/self/task")) == 1, "no fork would have the other thread"
    os.write(1, b"ready\n")
    words = Server(listener).serve()
    if words is None:
        return 0
    from chatbridge.__main__ import main as chatbridge

    try:
        code = chatbridge(words)
    except SystemExit as stop:  # of a wrong usage
        if not isinstance(stop.code, int):
            raise
        code = stop.code
    if words[:1] != ["hub"]:
        _end_at_once(code)
    return code


def _make_what_is_kept() -> None:
    """What a process makes when it first needs it, and has from then on."""
    _, templates = import_module("chatbridge.channels.web.channel").look()
    templates.compile()
    import_module("chatbridge.settings").settings_type().model_rebuild()
    import_module("chatbridge.channels.telegram.client.response_checks").connections(1)
    model, rows = import_module("chatbridge.core.model"), import_module("chatbridge.store.rows")
    for kind in (model.Ask, model.Call, model.Post, rows.Summary):
        rows.adapter(kind)
        rows._fields(kind)


@dataclass(slots=True)
class Server:
    listener: socket.socket
    hubs: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Pid and state directory, by a descriptor of the process."""
    commands: dict[int, tuple[int, socket.socket]] = field(default_factory=dict)
    """Pid and who waits for it, by a descriptor of the process."""

    def serve(self) -> list[str] | None:
        """Returns in each fork, with its words; at the end of the tests with None."""
        while True:
            waiting = {it.fileno(): process for process, (_, it) in self.commands.items()}
            watched = [0, self.listener.fileno(), *self.hubs, *self.commands, *waiting]
            ready, _, _ = select.select(watched, [], [])
            if 0 in ready:
                return None
            for process in ready:
                if process in self.hubs:
                    os.close(process)
                    del self.hubs[process]
                elif process in self.commands:
                    self._ended(process)
                elif process in waiting and waiting[process] in self.commands:
                    os.kill(self.commands[waiting[process]][0], signal.SIGKILL)
                    self._ended(waiting[process])
            if self.listener.fileno() in ready and (words := self._asked()) is not None:
                return words

    def _asked(self) -> list[str] | None:
        """Returns words in the fork alone."""
        connection, _ = self.listener.accept()
        data, descriptors, _, _ = socket.recv_fds(connection, LARGEST, 8)
        if not data:  # it was killed before it could ask
            connection.close()
            return None
        request = marshal.loads(data)  # noqa: S302 - our own
        if "of" in request:
            over, _, _ = select.select([*self.hubs], [], [], 0)
            living = [
                pid
                for process, (pid, state) in self.hubs.items()
                if state == request["of"] and process not in over
            ]
            with connection:
                _tell(connection, " ".join(map(str, living)))
            return None
        is_hub = request["kind"] == "hub"
        pid = _fork_for_init() if is_hub else os.fork()
        if not pid:
            for held in (connection, self.listener, *(it for _, it in self.commands.values())):
                held.close()
            for process in (*self.hubs, *self.commands):
                os.close(process)
            _become(request, descriptors)
            words: list[str] = request["words"]
            return words
        for descriptor in descriptors:
            os.close(descriptor)
        if not is_hub:
            _tell(connection, str(pid))
            self.commands[os.pidfd_open(pid)] = (pid, connection)
            return None
        try:
            state = request["environment"]["CHATBRIDGE_STATE_DIR"]
            self.hubs[os.pidfd_open(pid)] = (pid, state)
        except ProcessLookupError:
            pass  # it has ended already
        with connection:
            _tell(connection, "taken")
        return None

    def _ended(self, process: int) -> None:
        pid, connection = self.commands.pop(process)
        os.close(process)
        _, status = os.waitpid(pid, 0)
        with connection:
            _tell(connection, str(os.waitstatus_to_exitcode(status)))


def _tell(connection: socket.socket, text: str) -> None:
    with suppress(ConnectionError):  # whoever asked was killed
        connection.send(text.encode())


def _fork_for_init() -> int:
    """The pid of a process that is nobody's child; there, 0."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reading)
        if pid := os.fork():
            os.write(writing, str(pid).encode())
            os._exit(0)
        os.close(writing)
        return 0
    os.close(writing)
    os.waitpid(child, 0)
    pid = int(os.read(reading, 20))
    os.close(reading)
    return pid


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    folder = descriptors.pop()
    os.fchdir(folder)
    os.close(folder)
    waiting = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, ABOVE) for descriptor in descriptors]
    for descriptor in descriptors:
        os.close(descriptor)
    for place, descriptor in enumerate(waiting):
        os.dup2(descriptor, place)
        os.close(descriptor)
    if request["kind"] == "command":
        os.setsid()
        if request["terminal"]:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        _open_standard_streams()
        import chatbridge

        # From where it would have been imported: hubs that it starts are.
        if path := request["environment"].get("PYTHONPATH"):
            folder = path.partition(os.pathsep)[0]
            chatbridge.__file__ = os.path.join(folder, "chatbridge", "__init__.py")
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    os.umask(request["umask"])
    sys.argv = [import_module("chatbridge.__main__").__file__ or "", *request["words"]]


def _end_at_once(code: int) -> None:
    """Without taking apart all that was imported. Returns where something is left to be told."""
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            return
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return
    os._exit(code)


def _open_standard_streams() -> None:
    """As Python does for what they are now."""
    as_ever: dict[str, Any] = {"encoding": sys.stdout.encoding, "closefd": False}
    errors = sys.stdout.errors
    sys.stdin = os.fdopen(0, errors=errors, **as_ever)
    sys.stdout = os.fdopen(1, "w", 1 if os.isatty(1) else -1, errors=errors, **as_ever)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", **as_ever)


if __name__ == "__main__":
    sys.exit(main())
