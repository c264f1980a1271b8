"""The configuration, and who else can get at its files, at those of the hub, and at its socket."""

from __future__ import annotations

import asyncio
import os
import shlex
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from chatbridge import lock_file
from chatbridge.channels.checks import Finding, fine, from_error, problem, remark
from chatbridge.channels.registry import channel_specs
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.ui.wording import shown
from chatbridge.core.errors import SettingsError
from chatbridge.settings import read

OTHERS = 0o077
NAMED_AT_MOST = 3
LOOKED_AT = 10_000
SHARED = "/run/chatbridge"
"""Where a system service has its socket, for a group."""


async def configuration(context: DoctorContext) -> Sequence[Finding]:
    return await asyncio.to_thread(_configuration, context)


async def files(context: DoctorContext) -> Sequence[Finding]:
    return await asyncio.to_thread(_files, context)


# ── the configuration ─────────────────────────────────────────────────────────────────────────────


def _configuration(context: DoctorContext) -> list[Finding]:
    name, path = "configuration", context.config
    found = list(_about(path, has_secrets=_has_secrets(path)))
    if context.unusable is not None:
        wrong = from_error(name, context.unusable, file=str(path))
        rest = remark(name, "everything below was looked at with the default settings")
        return [wrong, rest, *found]
    found += [from_error(name, said) for said in context.settings.remarks()]
    if found:
        return found
    try:
        mode = _mode(path)
    except FileNotFoundError:
        return [fine(name, f"no {shown(path)}: the defaults count", file=str(path))]
    return [fine(name, f"{shown(path)}, mode {mode:04o}", file=str(path), mode=f"{mode:04o}")]


def _about(path: Path, *, has_secrets: bool) -> Iterator[Finding]:
    name, quoted = "configuration", shlex.quote(str(path))
    try:
        mode = _mode(path)
    except FileNotFoundError:
        mode = 0
    except OSError as error:
        yield problem(name, f"{shown(path)} cannot be looked at ({error.strerror})")
        return
    if mode & 0o022:
        yield problem(
            name, f"others can write to {shown(path)} (mode {mode:04o})", f"chmod 600 {quoted}"
        )
    elif mode & OTHERS and has_secrets:
        yield problem(
            name,
            f"others can read {shown(path)} (mode {mode:04o}), and a secret is in it",
            f"chmod 600 {quoted}",
        )
    elif mode & OTHERS:
        yield remark(
            name, f"others can read {shown(path)} (mode {mode:04o})", f"chmod 600 {quoted}"
        )


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


# ── the hub's files and its socket ────────────────────────────────────────────────────────────────


def _files(context: DoctorContext) -> list[Finding]:
    state, name = context.state, "files"
    quoted = shlex.quote(str(state))
    try:
        own = os.stat(state)
    except FileNotFoundError:
        return [fine(name, f"{shown(state)} is made with the first hub", folder=str(state))]
    except OSError as error:
        return [problem(name, f"{shown(state)} cannot be looked at ({error.strerror})")]
    found = []
    mode = own.st_mode & 0o777
    if own.st_uid != os.getuid():
        found.append(problem(name, f"{shown(state)} belongs to another user (uid {own.st_uid})"))
    elif mode & OTHERS:
        found.append(
            problem(
                name,
                f"others can get at {shown(state)} (mode {mode:04o})",
                f"chmod 700 {quoted}",
            )
        )
    if not os.access(state, os.W_OK):
        found.append(problem(name, f"{shown(state)} cannot be written, so no hub can start"))
    inside = [path for path, each in _tree(state) if path != state and each & OTHERS]
    if inside:
        say = problem if mode & OTHERS else remark
        what = "others can read" if mode & OTHERS else "only the folder keeps others from"
        found.append(say(name, f"{what} {_named(inside)}", f"chmod -R go-rwx {quoted}"))
    found += _socket(context)
    if found:
        return found
    return [fine(name, f"only you can read {shown(state)}", folder=str(state), mode=f"{mode:04o}")]


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
            yield problem("files", f"the socket {shown(path)} is not there ({error.strerror})")
            return
        if mode & forbidden:
            yield problem(
                "files",
                f"others can get at {shown(each)} (mode {mode:04o})",
                f"chmod {who}-rwx {shlex.quote(str(each))}",
            )


def _tree(folder: Path) -> Iterator[tuple[Path, int]]:
    """Everything in it with its mode, itself first. A symbolic link has none of its own."""
    seen = 0
    waiting = [folder]
    while waiting and seen < LOOKED_AT:
        path = waiting.pop()
        seen += 1
        try:
            found = path.lstat()
            if stat.S_ISLNK(found.st_mode):
                continue
            yield path, stat.S_IMODE(found.st_mode)
            if stat.S_ISDIR(found.st_mode):
                waiting += sorted(path.iterdir(), reverse=True)
        except OSError:
            continue  # it has just gone, or is closed to us as well


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _named(paths: Sequence[Path]) -> str:
    names = [shown(path) for path in paths[:NAMED_AT_MOST]]
    more = len(paths) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")
