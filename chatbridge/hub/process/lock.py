"""The hub's lock while it is held, and what its file says about the holder."""

from __future__ import annotations

import json
import os
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from chatbridge import __version__, bounded_read, lock_file, runtime_paths
from chatbridge.core.errors import (
    BotInUse,
    ChatbridgeError,
    HubAlreadyRunning,
    SettingsError,
    StoreError,
)
from chatbridge.redaction import redacted

if TYPE_CHECKING:
    from chatbridge.channels.spec import AccountLock

HANDOVER_SECONDS = 10.0
LOOK_EVERY_SECONDS = 0.05


class Lock:
    """A context that holds the lock of a state directory. Who `takes_over`, as a service does, gets
    it from a hub that a link started; everybody else is refused.
    :raises HubAlreadyRunning: on entering."""

    def __init__(self, state: str, *, started_by: str, takes_over: bool = False) -> None:
        self.state = Path(state)
        self._takes_over = takes_over or started_by == "service"
        self.info = lock_file.LockInfo(
            pid=os.getpid(), version=__version__, socket=None, started_by=started_by
        )

    def __enter__(self) -> Lock:
        try:
            self._file = lock_file.acquire(str(self.state))
        except HubAlreadyRunning:
            if not self._takes_over:
                raise
            self._file = self._take_over()
        try:
            self.note()
        except OSError as error:  # a disk that was full before there was this file
            os.close(self._file)
            raise StoreError(
                f"the state directory {self.state} cannot be written to ({error.strerror}). Free "
                "some space, then try again"
            ) from None
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, ChatbridgeError) and not error.passing:
            self.note(error=redacted(str(error)))
        os.close(self._file)

    def note(self, **what: str) -> None:
        """Write what the holder says of itself: `socket` for links, `web` for the inbox."""
        for name, value in what.items():
            setattr(self.info, name, value)
        lock_file.write(self._file, self.info)

    def _take_over(self) -> int:
        until = time.monotonic() + HANDOVER_SECONDS
        told: set[int] = set()
        while True:
            # Each time: when the first lets go, a waiting link may have started another.
            holder = lock_file.find_holder(str(self.state))
            if holder is not None and holder.started_by == "link" and holder.pid not in told:
                told.add(holder.pid)
                with suppress(ProcessLookupError):
                    os.kill(holder.pid, signal.SIGTERM)
            try:
                return lock_file.acquire(str(self.state))
            except HubAlreadyRunning:
                if time.monotonic() > until:
                    raise
                time.sleep(LOOK_EVERY_SECONDS)


TEMPORARY = "/tmp"  # noqa: S108 - made and checked below
"""Not TMPDIR: every client may give its link another one."""


def account_lock_path(account: str) -> str:
    """The same for all hubs of a user, whatever their directories: none shares an account."""
    folder = runtime_paths.user_runtime_dir() or os.path.join(
        TEMPORARY, f"chatbridge-{os.getuid()}"
    )
    return os.path.join(folder, f"bot-{account}.lock")


@contextmanager
def account_held(account: AccountLock) -> Iterator[None]:
    """Hold the account's lock meanwhile. :raises BotInUse: :raises SettingsError:"""
    lock = hold_account(account)
    try:
        yield
    finally:
        os.close(lock)


def hold_account(account: AccountLock) -> int:
    """Take the account's lock; it is held until the returned descriptor is closed.
    :raises BotInUse: another hub holds it.
    :raises SettingsError: its folder is not private, or cannot be made or locked."""
    path = account_lock_path(account.id)
    _make_unshared(os.path.dirname(path))
    lock = lock_file.try_lock(path)
    if lock is None:
        holder = bounded_read.read_json(path)
        pid, state = holder.get("pid"), holder.get("state")
        raise BotInUse(
            bot=account.called,
            why=account.why,
            setting=account.setting,
            pid=pid if type(pid) is int else None,
            state_dir=state if isinstance(state, str) and state else None,
        )
    note = json.dumps({"pid": os.getpid(), "state": runtime_paths.state_dir()}) + "\n"
    try:
        os.ftruncate(lock, 0)
        os.pwrite(lock, note.encode(), 0)
    except OSError:
        pass  # the disk is full: the lock counts, the note is for a kinder message
    return lock


def _make_unshared(directory: str) -> None:
    """Like `make_private`, for a name that others could have taken before us."""
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise SettingsError(
            f"the directory {directory} cannot be made ({error.strerror}), and the lock of the "
            "bot has to be in it"
        ) from error
    found = os.lstat(directory)  # a link is refused though it may lead to a folder of ours
    mode = found.st_mode
    if not stat.S_ISDIR(mode) or found.st_uid != os.getuid() or mode & 0o022:
        raise SettingsError(
            f"{directory} has to be a directory of yours (uid {os.getuid()}) that nobody else can "
            f"write to, for the lock of the bot. It is: {stat.filemode(mode)}, of uid "
            f"{found.st_uid}. Remove it, or have it removed"
        )
