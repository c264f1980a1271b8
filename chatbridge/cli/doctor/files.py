"""The configuration, and who else can get at its files, at those of the hub, and at its socket; and
how much room the files of questions have left."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

from chatbridge import lock_file
from chatbridge.attachments.files import RECEIVED, SENT
from chatbridge.attachments.pictures import EXTRA, can_shrink
from chatbridge.attachments.quota_folder import stored_bytes
from chatbridge.channels.checks import Finding, fine, from_error, problem, remark
from chatbridge.channels.registry import channel_specs
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.ui.wording import display_path, first_of
from chatbridge.core.cards.attached import format_size
from chatbridge.core.errors import SettingsError
from chatbridge.extras import command
from chatbridge.settings import read

OTHERS = 0o077
LOOKED_AT = 10_000
NEARLY_FULL = 0.9
SHARED = "/run/chatbridge"
"""Where a system service has its socket, for a group."""


def configuration(context: DoctorContext) -> list[Finding]:
    name, path = "configuration", context.config
    mode, found = None, []
    try:
        mode = _mode(path)
        found = _about(path, mode)
    except FileNotFoundError:
        pass
    except OSError as error:
        found = [problem(name, f"{display_path(path)} cannot be checked ({error.strerror})")]
    if context.unusable is not None:
        wrong = from_error(name, context.unusable, file=str(path))
        rest = remark(name, "everything below was checked with the default settings")
        return [wrong, rest, *found]
    found += [from_error(name, said) for said in context.settings.remarks()]
    if found:
        return found
    if mode is None:
        return [fine(name, f"no {display_path(path)}: defaults apply", file=str(path))]
    return [
        fine(name, f"{display_path(path)}, mode {mode:04o}", file=str(path), mode=f"{mode:04o}")
    ]


def _about(path: Path, mode: int) -> list[Finding]:
    name, bits, fix = display_path(path), f"{mode:04o}", f"chmod 600 {shlex.quote(str(path))}"
    if mode & 0o022:
        return [problem("configuration", f"others can write to {name} (mode {bits})", fix)]
    if not mode & OTHERS:
        return []
    if _has_secrets(path):
        what = f"others can read {name} (mode {bits}), and a secret is in it"
        return [problem("configuration", what, fix)]
    return [remark("configuration", f"others can read {name} (mode {bits})", fix)]


def _has_secrets(path: Path) -> bool:
    """Also one that cannot be used: what cannot be read is taken to have some. Secrets in files of
    their own are looked at where they are read."""
    try:
        found = read(path)
    except SettingsError:
        return True
    return any(
        isinstance(table := found.get(spec.name), dict)
        and any(key in table for key in spec.secrets())
        for spec in channel_specs()
    )


def files(context: DoctorContext) -> list[Finding]:
    """The hub's, and its socket."""
    state, name = context.state, "files"
    quoted, which = shlex.quote(str(state)), display_path(state)
    try:
        own = os.stat(state)
    except FileNotFoundError:
        return [fine(name, f"{which} will be created by the first hub", folder=str(state))]
    except OSError as error:
        return [problem(name, f"{which} cannot be checked ({error.strerror})")]
    found = []
    mode = own.st_mode & 0o777
    if own.st_uid != os.getuid():
        found.append(problem(name, f"{which} belongs to another user (uid {own.st_uid})"))
    elif mode & OTHERS:
        what = f"others can access {which} (mode {mode:04o})"
        found.append(problem(name, what, f"chmod 700 {quoted}"))
    if not os.access(state, os.W_OK):
        found.append(problem(name, f"{which} cannot be written, so no hub can start"))
    inside = [display_path(path) for path in _open_inside(state)]
    if inside:
        say = problem if mode & OTHERS else remark
        what = "others can read" if mode & OTHERS else "only the folder's mode protects"
        found.append(say(name, f"{what} {first_of(inside)}", f"chmod -R go-rwx {quoted}"))
    found += _socket(context)
    if found:
        return found
    return [fine(name, f"only you can read {which}", folder=str(state), mode=f"{mode:04o}")]


def attachments(context: DoctorContext) -> list[Finding]:
    """How much room pictures and files have left, and whether pictures can be shown."""
    name, quota = "attachments", context.settings.attachments.quota
    used = {folder: stored_bytes(context.state / folder) for folder in (SENT, RECEIVED)}
    if not any(used.values()):
        return []
    found = []
    for folder, whose in ((SENT, "agents' files"), (RECEIVED, "the files you sent")):
        if used[folder] > NEARLY_FULL * quota:
            what = f"{whose} take {format_size(used[folder])} of {format_size(quota)}"
            fix = "raise quota under [attachments], or lower retention: nothing more is taken soon"
            found.append(remark(name, what, fix, **used))
    if not can_shrink():
        what = "pictures are sent as files: what shrinks them is not installed"
        found.append(remark(name, what, command(EXTRA), **used))
    total = format_size(sum(used.values()))
    return found or [fine(name, f"{total} of pictures and files", **used)]


def _socket(context: DoctorContext) -> Iterator[Finding]:
    info = lock_file.find_holder(str(context.state))
    if info is None or info.socket is None:
        return
    path = Path(info.socket)
    forbidden, who = (0o007, "o") if str(path).startswith(f"{SHARED}/") else (OTHERS, "go")
    for each in (path, path.parent):
        try:
            mode = _mode(each)
        except OSError as error:
            yield problem(
                "files", f"the socket {display_path(path)} is not there ({error.strerror})"
            )
            return
        if mode & forbidden:
            what = f"others can access {display_path(each)} (mode {mode:04o})"
            yield problem("files", what, f"chmod {who}-rwx {shlex.quote(str(each))}")


def _open_inside(folder: Path) -> Iterator[Path]:
    """What others could get at. A symbolic link has no mode of its own."""
    tree = os.walk(folder)  # which passes over what has just gone
    inside = (Path(above, name) for above, *names in tree for name in chain(*names))
    for path in sorted(islice(inside, LOOKED_AT)):
        with suppress(OSError):  # it has just gone, or is closed to us as well
            mode = path.lstat().st_mode
            if mode & OTHERS and not stat.S_ISLNK(mode):
                yield path


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
