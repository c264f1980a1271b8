"""Where links, the hub and the commands meet: directories, the lock file, the socket.

Owns no protocol and no settings beyond the paths; starting a hub is in link/hub_start.py. Standard
library only, and cheap to import: every link pays for it.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import stat

from chatbridge import bounded_read, sockets
from chatbridge.core.errors import HubAlreadyRunning, SettingsError, SocketUnusable
from chatbridge.digests import sha256_hex

_LOCK_SIZE = 1024


def state_dir() -> str:
    """The directory of the database, the lock and the log. It need not exist yet."""
    given = os.environ.get("CHATBRIDGE_STATE_DIR")
    if given:
        return absolute(given)
    return os.path.realpath(_xdg("XDG_STATE_HOME", ".local/state", "chatbridge"))


def config_path() -> str:
    """The configuration file that the environment names. It need not exist."""
    given = os.environ.get("CHATBRIDGE_CONFIG")
    return (
        absolute(given) if given else _xdg("XDG_CONFIG_HOME", ".config", "chatbridge/config.toml")
    )


def runtime_dir(state: str) -> str:
    """The directory of the socket. Clients start links without XDG_RUNTIME_DIR: it is not asked."""
    given = os.environ.get("CHATBRIDGE_RUNTIME_DIR")
    if given:
        return absolute(given)
    return user_runtime_dir() or state


def socket_path(state: str) -> str:
    """Where the hub of this state directory listens unless its lock file says otherwise.

    :raises SocketUnusable: the path is too long for a Unix socket.
    """
    return _in_runtime_dir(state, f"hub-{sha256_hex(os.fsencode(state))[:8]}.sock")


def service_socket_path(state: str) -> str:
    """Where systemd listens for the user service's hub: another place than that of other hubs, so
    that neither takes it from the other. Its name is known to whoever packages the units."""
    usual = os.path.realpath(os.path.join(_home(), ".local/state/chatbridge"))
    if state == usual and not os.environ.get("CHATBRIDGE_RUNTIME_DIR"):
        name = "hub.sock"
    else:
        name = f"service-{sha256_hex(os.fsencode(state))[:8]}.sock"
    return _in_runtime_dir(state, name)


def _in_runtime_dir(state: str, name: str) -> str:
    path = os.path.join(runtime_dir(state), name)
    sockets.check_length(path)
    return path


def lock_path(state: str) -> str:
    return os.path.join(state, "hub.lock")


def log_path(state: str) -> str:
    return os.path.join(state, "hub.log")


def token_path(state: str) -> str:
    """Where the inbox's token is, unless the owner has set one."""
    return os.path.join(state, "web-token")


def make_private(directory: str) -> None:
    """Make the directory (0700), or check that nobody else can put files into it.

    :raises SettingsError: it cannot be made, or others can write to it.
    """
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        found = os.stat(directory)
    except OSError as error:
        raise SettingsError(
            f"the directory {directory} cannot be made ({error.strerror}). Make it yourself, or "
            "set CHATBRIDGE_STATE_DIR (and CHATBRIDGE_RUNTIME_DIR) to folders that you can write to"
        ) from error
    if found.st_uid != os.getuid():
        raise SettingsError(
            f"the directory {directory} belongs to another user (uid {found.st_uid}, "
            f"you are {os.getuid()}). "
            "Set CHATBRIDGE_STATE_DIR and CHATBRIDGE_RUNTIME_DIR to folders of yours"
        )
    if found.st_mode & 0o022:
        raise SettingsError(
            f"others can write to the directory {directory} (mode {found.st_mode & 0o777:04o}). "
            f"Run: chmod 700 {directory}, or name another folder"
        )


class LockInfo:
    """What the holder of the lock says about itself; `error` if it could not start, and why."""

    __slots__ = ("error", "pid", "socket", "started_by", "version", "web")

    def __init__(
        self,
        *,
        pid: int,
        version: str,
        socket: str | None,
        started_by: str,
        web: str | None = None,
        error: str | None = None,
    ) -> None:
        self.pid, self.version, self.socket = pid, version, socket
        self.started_by, self.web, self.error = started_by, web, error


def read_lock(state: str) -> LockInfo | None:
    """What the lock file says, or None. Its writer may be gone, or halfway through writing."""
    found = read_json(lock_path(state))
    pid = found.get("pid")
    if type(pid) is not int:
        return None
    return LockInfo(
        pid=pid,
        version=str(found.get("version", "")),
        socket=_path(found.get("socket")),
        started_by=str(found.get("started_by", "")),
        web=_text(found.get("web")),
        error=_text(found.get("error")),
    )


def acquire_lock(state: str) -> int:
    """Take the hub's lock; it is held until the returned descriptor is closed.

    :raises HubAlreadyRunning: another process holds it.
    :raises SettingsError: the directory is not private, or cannot be locked.
    """
    make_private(state)
    lock = try_lock(lock_path(state))
    if lock is None:
        holder = read_lock(state)
        raise HubAlreadyRunning(pid=holder.pid if holder else None, state_dir=state)
    return lock


def try_lock(path: str) -> int | None:
    """A descriptor that holds `flock` on the file, or None if another process does."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SettingsError(f"the lock file {path} cannot be opened ({error.strerror})") from error
    try:
        return _flocked(lock)
    except OSError as error:
        raise SettingsError(
            f"the file {path} cannot be locked ({error.strerror}). Set CHATBRIDGE_STATE_DIR to a "
            "folder on a local disk"
        ) from error


def try_turn(state: str) -> int | None:
    """A descriptor that says that we start a hub now, until it is closed; None if another process
    does. It is the directory that is locked: that needs no file, for which there may be no room.

    :raises OSError: turns cannot be had here.
    """
    return _flocked(os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))


def _flocked(opened: int) -> int | None:
    """The descriptor, locked; else it is closed. None: another process has it. :raises OSError:"""
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(opened)
        return None
    except OSError:
        os.close(opened)
        raise
    return opened


def write_lock(lock: int, info: LockInfo) -> None:
    """Write in place: a renamed file would be another file than the one that is locked. In one go
    and never shorter than before: so nobody reads half of it, and a full disk has room for it."""
    line = json.dumps({name: getattr(info, name) for name in LockInfo.__slots__}).encode()
    size = max(len(line) + 1, _LOCK_SIZE)
    os.pwrite(lock, line.ljust(size - 1) + b"\n", 0)
    os.ftruncate(lock, size)


def lock_holder(state: str) -> LockInfo | None:
    """Who really holds the lock, without touching it: a trial lock could fail a starting hub."""
    info = read_lock(state)
    if info is None:
        return None
    if _locks(info.pid, lock_path(state)):
        return info
    # The kernel's list may be hidden from us; whoever listens for links has the lock.
    try:
        with sockets.connect(info.socket or "") as sock:
            return info if sockets.peer(sock)[0] == info.pid else None
    except (OSError, SocketUnusable):
        return None


def _locks(pid: int, path: str) -> bool:
    try:
        inode = os.stat(path).st_ino
        with open("/proc/locks", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return False
    # The device is not compared: btrfs and overlayfs show another one there than stat does. A row
    # with an arrow is a process that waits.
    return any(
        row[1] == "FLOCK" and row[4] == str(pid) and row[5].endswith(f":{inode}") for row in rows
    )


def bind_socket(path: str) -> socket.socket:
    """Listen at the path. Only for the holder of the lock: it removes what a dead hub left there.

    :raises SocketUnusable: the path is too long, taken by a living process, or no socket.
    """
    sockets.check_length(path)
    make_private(os.path.dirname(path))
    try:
        sockets.connect(path).close()
    except FileNotFoundError:
        pass
    except ConnectionRefusedError:
        # Linux refuses a connection to a plain file with the same error.
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise SocketUnusable(f"{path} is in the way: it is no socket. Remove it") from None
        os.unlink(path)
    except BlockingIOError:
        raise SocketUnusable(_taken(path)) from None
    except OSError as error:
        raise SocketUnusable(f"the socket {path} cannot be used ({error.strerror})") from error
    else:
        raise SocketUnusable(_taken(path))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o077)
    try:
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise SocketUnusable(f"cannot listen at {path} ({error.strerror})") from error
    finally:
        os.umask(before)
    return listener


def _taken(path: str) -> str:
    return (
        f"another process already listens at {path}. Stop it with: chatbridge stop, or set "
        "CHATBRIDGE_RUNTIME_DIR to another folder"
    )


def absolute(path: str) -> str:
    return os.path.realpath(os.path.expanduser(path))


def _xdg(variable: str, default: str, rest: str) -> str:
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):  # the specification: a relative one is ignored
        base = os.path.join(_home(), default)
    return os.path.join(base, rest)


def _home() -> str:
    home = os.environ.get("HOME", "")
    if os.path.isabs(home):
        return home
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise SettingsError(
            "there is no HOME variable and no home directory for this user. "
            "Set CHATBRIDGE_STATE_DIR to a folder of yours"
        ) from None


def user_runtime_dir() -> str | None:
    """Ours among those that systemd makes for every user who is logged in."""
    uid = os.getuid()
    try:
        if os.stat(f"/run/user/{uid}").st_uid == uid:
            return f"/run/user/{uid}/chatbridge"
    except OSError:
        pass
    return None


def read_json(path: str) -> dict[str, object]:
    """What a lock file says about its holder; nothing if it cannot be read."""
    try:
        found = json.loads(bounded_read.read(path, most=65536))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _path(value: object) -> str | None:
    """One that the system could take."""
    text = _text(value) or ""
    try:
        return text if text.startswith("/") and b"\0" not in os.fsencode(text) else None
    except UnicodeEncodeError:
        return None
