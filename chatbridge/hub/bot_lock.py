"""The lock of a Telegram bot: of all hubs of a user one may poll it, whatever their directories."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from chatbridge import rendezvous
from chatbridge.core.errors import BotInUse, SettingsError

TEMPORARY = "/tmp"  # noqa: S108 - made and checked below
"""Not TMPDIR: every client may give its link another one."""


def bot_lock_path(bot_id: str) -> str:
    """The same for all hubs of a user, whatever their directories: they must not share a bot."""
    folder = rendezvous.user_runtime_dir() or os.path.join(TEMPORARY, f"chatbridge-{os.getuid()}")
    return os.path.join(folder, f"bot-{bot_id}.lock")


@contextmanager
def bot_held(bot_id: str) -> Iterator[None]:
    """Holds the bot's lock meanwhile. :raises BotInUse: :raises SettingsError:"""
    lock = hold_bot(bot_id)
    try:
        yield
    finally:
        os.close(lock)


def hold_bot(bot_id: str) -> int:
    """Take the bot's lock; it is held until the returned descriptor is closed.

    :raises BotInUse: another hub holds it.
    :raises SettingsError: its folder is not private, or cannot be made or locked.
    """
    path = bot_lock_path(bot_id)
    _make_unshared(os.path.dirname(path))
    lock = rendezvous.try_lock(path)
    if lock is None:
        holder = rendezvous.read_json(path)
        pid, state = holder.get("pid"), holder.get("state")
        raise BotInUse(
            bot_id=bot_id,
            pid=pid if type(pid) is int else None,
            state_dir=state if isinstance(state, str) and state else None,
        )
    note = json.dumps({"pid": os.getpid(), "state": rendezvous.state_dir()}) + "\n"
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
            "Telegram bot has to be in it"
        ) from error
    found = os.lstat(directory)  # a link is refused though it may lead to a folder of ours
    mode = found.st_mode
    if not stat.S_ISDIR(mode) or found.st_uid != os.getuid() or mode & 0o022:
        raise SettingsError(
            f"{directory} has to be a directory of yours (uid {os.getuid()}) that nobody else can "
            f"write to, for the lock of the Telegram bot. It is: {stat.filemode(mode)}, of uid "
            f"{found.st_uid}. Remove it, or have it removed"
        )
