"""Paths of the state, runtime and configuration directories, and of the files in them.

Also creates private directories and binds the hub's socket. Standard library only and cheap to
import, because every link imports it.
"""

from __future__ import annotations

import os
import socket
import stat

from chatbridge.core.errors import SettingsError, SocketUnusable
from chatbridge.digests import sha256_hex
from chatbridge.system import sockets
from chatbridge.system.platform import login_dir


def state_dir() -> str:
    """The directory of the database, the lock and the log. It may not exist yet."""
    if given := os.environ.get("CHATBRIDGE_STATE_DIR"):
        return absolute(given)
    return os.path.realpath(xdg("XDG_STATE_HOME", ".local/state", "chatbridge"))


def config_path() -> str:
    """The path of the configuration file. It may not exist."""
    if given := os.environ.get("CHATBRIDGE_CONFIG"):
        return absolute(given)
    return xdg("XDG_CONFIG_HOME", ".config", "chatbridge/config.toml")


def runtime_dir(state: str) -> str:
    """The directory of the socket. Ignores XDG_RUNTIME_DIR, which clients do not pass to links."""
    if given := os.environ.get("CHATBRIDGE_RUNTIME_DIR"):
        return absolute(given)
    return user_runtime_dir() or state


def socket_path(state: str) -> str:
    """The default socket of the hub of this state directory. Its lock file may name another one.
    :raises SocketUnusable: the path is too long for a Unix socket."""
    return _in_runtime_dir(state, f"hub-{sha256_hex(os.fsencode(state))[:8]}.sock")


def service_socket_path(state: str) -> str:
    """The socket of the user service, which systemd opens. It differs from the socket of other
    hubs, so that they do not conflict. Packagers of the units rely on its name."""
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
    """The file of the inbox's token, unless the owner has set one."""
    return os.path.join(state, "web-token")


def make_private(directory: str) -> None:
    """Create the directory (0700), or check that nobody else can write to it.
    :raises SettingsError: it cannot be created, or others can write to it."""
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


def bind_socket(path: str) -> socket.socket:
    """Listen at the path, and remove the socket of a dead hub. Call it only with the lock.
    :raises SocketUnusable: the path is too long, in use, or not a socket."""
    sockets.check_length(path)
    make_private(os.path.dirname(path))
    taken = True
    try:
        sockets.connect(path).close()
    except FileNotFoundError:
        taken = False
    except ConnectionRefusedError:
        # Linux refuses a connection to a plain file with the same error.
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise SocketUnusable(f"{path} is in the way: it is no socket. Remove it") from None
        os.unlink(path)
        taken = False
    except BlockingIOError:
        pass  # its queue is full
    except OSError as error:
        raise SocketUnusable(f"the socket {path} cannot be used ({error.strerror})") from error
    if taken:
        raise SocketUnusable(
            f"another process already listens at {path}. Stop it with: chatbridge stop, or set "
            "CHATBRIDGE_RUNTIME_DIR to another folder"
        )
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


def absolute(path: str) -> str:
    return os.path.realpath(os.path.expanduser(path))


def xdg(variable: str, default: str, rest: str) -> str:
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):  # the specification ignores relative paths
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
    """chatbridge's folder in the directory that lasts until a user logs out."""
    directory = login_dir()
    return os.path.join(directory, "chatbridge") if directory else None
