"""The hub's log on standard error: format and levels.

Owns the handler, the levels and the places where Python itself would write to standard error.
Whatever passes here has every known secret taken out when the text is finished: a library's
message, an exception's, a traceback with all its causes.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from types import TracebackType
from typing import TextIO

from chatbridge.core.text import visible
from chatbridge.link.hub_start import open_log
from chatbridge.redaction import SECRETS, Secrets, redacted

log = logging.getLogger(__name__)

OURS = "chatbridge"
STANDARD_ERROR = 2
PRIORITIES = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}
KEEPS_KEYS = "peewee"
"""Logs each statement with its values at debug, which may be private keys of devices."""


def rotate_log(path: str, *, descriptor: int = STANDARD_ERROR) -> None:
    """Go on in a new file if standard error is this one and it has become long."""
    try:
        if os.path.samestat(os.fstat(descriptor), os.stat(path)):
            new = open_log(path)
            os.dup2(new, descriptor)
            os.close(new)
    except FileNotFoundError:
        pass  # standard error is something else
    except OSError as error:
        log.warning("the log %s is not rotated: %s", path, error)


def set_level(level: str) -> None:
    """`debug` is for everything; below it libraries say what is wrong and nothing else."""
    number = logging.getLevelNamesMapping()[level.upper()]
    logging.getLogger(OURS).setLevel(number)
    libraries = logging.DEBUG if number == logging.DEBUG else max(number, logging.WARNING)
    logging.getLogger().setLevel(libraries)
    logging.getLogger(KEEPS_KEYS).setLevel(max(libraries, logging.INFO))


def log_to_stderr() -> None:
    """The set-up, for the process as a whole: before it the settings cannot be read, so the level
    comes later."""
    handler = _Handler(sys.stderr)
    handler.setFormatter(Format(SECRETS, journal=_goes_to_journal()))
    logging.basicConfig(handlers=[handler])
    set_level("info")
    logging.captureWarnings(True)
    sys.excepthook = _uncaught
    threading.excepthook = _uncaught_in_thread
    sys.unraisablehook = _unraisable


class Format(logging.Formatter):
    """The journal has its own clock and reads the priority from the line's start."""

    def __init__(self, secrets: Secrets, *, journal: bool) -> None:
        line = "%(name)s: %(message)s"
        super().__init__(line if journal else f"%(asctime)s %(levelname)s {line}")
        self._secrets, self._journal = secrets, journal

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """As one line: agents write some of what is logged, and could forge a second one."""
        return visible(self._secrets.redact(super().formatMessage(record))).replace("\n", " ")

    def format(self, record: logging.LogRecord) -> str:
        text = self._secrets.redact(super().format(record))
        return f"<{PRIORITIES.get(record.levelname, 6)}>{text}" if self._journal else text


class _Handler(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """logging's own would print the message and its arguments as they are."""
        problem = redacted(traceback.format_exc())
        try:
            self.stream.write(f"a log line of {record.name} could not be written: {problem}")
        except (AttributeError, OSError, ValueError):
            pass  # there is no standard error, or not any more; nobody is left to be told


def _goes_to_journal() -> bool:
    """Whether standard error is the stream that the variable names: a link hands on the variable of
    the service that its client runs in, but the hub's log is a file."""
    try:
        stream = os.fstat(2)
    except OSError:  # it was started without one
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{stream.st_dev}:{stream.st_ino}"


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        log.critical("ends because of an unexpected error", exc_info=(kind, error, trace))


def _uncaught_in_thread(found: threading.ExceptHookArgs) -> None:
    if found.exc_value is not None and found.exc_type is not SystemExit:
        name = found.thread.name if found.thread else "a thread"
        log.error("%s ended with an error", name, exc_info=found.exc_value)


def _unraisable(found: sys.UnraisableHookArgs) -> None:
    what = found.err_msg or "an error while an object was deleted"
    log.error("%s: %r", what, found.object, exc_info=found.exc_value)
