"""Starts a detached hub with a clean environment. Standard library only.

The caller decides when to start one and reads its report (see docs/link-protocol.md).
"""

from __future__ import annotations

import fcntl
import os
import signal
import site
import sys

import chatbridge
from chatbridge import runtime_paths
from chatbridge.system import descriptors
from chatbridge.system.platform import MACOS

MAX_LOG_BYTES = 5 * 1024 * 1024
LINUX_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
MACOS_PATH = f"{LINUX_PATH}:/opt/homebrew/bin"
"""Homebrew's folder is the owner's own, so nothing in it replaces a program of the system."""
ENVIRONMENT_NAMES = frozenset((
    "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "XDG_CONFIG_HOME", "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR", "CREDENTIALS_DIRECTORY",
))  # fmt: skip
PROXY_NAMES = frozenset(
    ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir")
)
"""Variables for the connection to a chat, in lower case. The owner is told when they change:
whoever sets them can intercept that connection."""


def start_hub(state: str) -> int:
    """Start a hub in its own session and return the descriptor of its report. The hub becomes a
    child of init, not of the caller."""
    runtime_paths.make_private(state)
    environment = _hub_environment(state)
    opened = [open_log(runtime_paths.log_path(state))]
    try:
        opened += os.pipe()
        log, report, report_end = opened
        child = os.fork()
        if child == 0:
            _become_hub(environment, log=log, report=report_end)
        opened.remove(report)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    os.waitpid(child, 0)
    return report


def _become_hub(environment: dict[str, str], *, log: int, report: int) -> None:
    """Never returns: the forked child must not unwind into the caller's stack."""
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        null = os.open("/dev/null", os.O_RDWR)
        # Move them up first: a client may have started us with any of 0 to 3 closed.
        null, log, report = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (null, log, report))
        for descriptor, target in ((null, 0), (null, 1), (log, 2), (report, 3)):
            os.dup2(descriptor, target)
        descriptors.close_above(3)  # a client's pipe would stay open as long as the hub
        os.umask(0o077)
        os.chdir("/")
        for number in (signal.SIGTERM, signal.SIGINT):  # which the link of a command ignores
            signal.signal(number, signal.SIG_DFL)
        python = sys.executable
        words = ["-m", "chatbridge", "hub", "--started-by", "link", "--report-fd", "3"]
        os.execve(python, [python, *words], environment)
    except BaseException as error:  # noqa: BLE001 - this child must end here in any case
        os.write(2, f"chatbridge: the hub could not be started: {error}\n".encode())
    finally:
        os._exit(127)


def open_log(path: str) -> int:
    """Open the log for appending. Rotate a long one, replacing the previous one."""
    try:
        if os.path.getsize(path) > MAX_LOG_BYTES:
            os.replace(path, f"{path}.1")
    except FileNotFoundError:
        pass
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def last_log_line(path: str) -> str:
    """Empty if there is none."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
            return file.read().decode(errors="replace").strip().rpartition("\n")[2][:300]
    except OSError:
        return ""


def _hub_environment(state: str) -> dict[str, str]:
    """Return the variables of the link's environment that a hub needs, with absolute paths. The
    rest belongs to the client, such as a virtual environment or a debugger's variables. It must not
    affect the other agents."""
    environment = {name: value for name, value in os.environ.items() if _is_needed(name)}
    environment["CHATBRIDGE_STATE_DIR"] = state
    environment["PATH"] = MACOS_PATH if MACOS else LINUX_PATH
    for name in ("CHATBRIDGE_CONFIG", "CHATBRIDGE_RUNTIME_DIR"):
        if environment.get(name):
            environment[name] = runtime_paths.absolute(environment[name])
    # A package that is not installed is importable only from its own folder.
    package = os.path.dirname(os.path.dirname(os.path.abspath(chatbridge.__file__)))
    if package not in (*site.getsitepackages(), site.getusersitepackages()):
        environment["PYTHONPATH"] = package
    return environment


def _is_needed(name: str) -> bool:
    if name == "CHATBRIDGE_OPERATION":
        return False  # the client itself runs in a command; a hub refuses it
    of_us = name.startswith(("CHATBRIDGE_", "LC_"))
    return of_us or name in ENVIRONMENT_NAMES or name.lower() in PROXY_NAMES
