"""`chatbridge store copy`: from the SQLite file to a PostgreSQL server."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from chatbridge import lock_file, runtime_paths
from chatbridge.cli.config_file import change, config_file
from chatbridge.cli.hub.control import end_hub
from chatbridge.cli.ui import prompts, tables
from chatbridge.cli.ui.running import WrongUsage, is_interactive, say
from chatbridge.cli.ui.tables import Column, Table
from chatbridge.cli.ui.wording import display_path
from chatbridge.core.errors import ChatbridgeError, HubAlreadyRunning, StoreError
from chatbridge.extras import need
from chatbridge.hub.http.tokens import listed
from chatbridge.hub.process.lock import Lock
from chatbridge.redaction import hide
from chatbridge.settings import Settings, load, secrets
from chatbridge.settings.authority import variable_of
from chatbridge.settings.store import (
    POSTGRESQL,
    SQLITE,
    database_address,
    passwords_in,
    without_password,
)
from chatbridge.store.fence import POSTGRES

if TYPE_CHECKING:
    from chatbridge.store.postgres.connection import Address
    from chatbridge.store.postgres.copying import Copied
    from chatbridge.store.postgres.tokens import TokenRow

A_SERVER = f"{POSTGRESQL}user@host/database"
STORE = ("store",)
PASSWORD = ("store_password",)
LISTED = {
    "asks": "questions",
    "notices": "notices",
    "operations": "commands of agents",
    "owner_messages": "messages to agents",
    "audit": "lines of the audit trail",
}
START_HUB = "chatbridge restart (a service: chatbridge service start)"
NEXT = f"{START_HUB}, then chatbridge doctor"
STOPPED = f"The hub is stopped. Start it again: {START_HUB}"
SHOWN_EVERY_SECONDS = 0.2


def store(given: argparse.Namespace) -> int:
    if given.do is None:
        raise WrongUsage(f"say what to do: chatbridge store copy --to {A_SERVER}")
    settings = load()
    for secret in settings.secrets():
        hide(secret)
    state = Path(runtime_paths.state_dir())
    target = _target(given.to, settings)
    source = _source(given.source, settings, state, target)
    files = _files_of(source, state)
    tokens = _tokens(files)
    from chatbridge.store.postgres import copying  # whose extra is there

    with ExitStack() as stack:
        if not given.dry_run:  # which only reads the file, as it is at one moment
            if given.stop:
                asyncio.run(copying.check(source, target, tokens=tokens))
                stack.enter_context(_without_hub(str(state)))
            _lock(stack, state, files)
        with _Progress() as progress:
            copied = asyncio.run(
                copying.copy(
                    source,
                    target,
                    files=files,
                    tokens=tokens,
                    rehearse=given.dry_run,
                    progress=progress,
                )
            )
        _report(copied, source, target, rehearse=given.dry_run)
        if not given.dry_run:
            # Before the lock is let go: an agent might start a hub on the old database.
            _switch(target, settings, unasked=given.yes)
    return 0


def _source(given: str | None, settings: Settings, state: Path, target: Address) -> Path:
    if given is not None and not given.startswith(SQLITE):
        raise WrongUsage(f"--from has to be {SQLITE}path/to/file.db")
    path = settings.model_copy(update={"store": given}).database(state) if given else None
    path = path or settings.database(state)
    if path.exists():
        return path
    nothing = (
        "Nothing was asked here yet? Then nothing has to be copied: put "
        f'store = "{without_password(target.dsn)}" into {display_path(config_file())}. '
        "Otherwise name"
    )
    raise StoreError(
        f"there is no database {path}. {'Name' if given else nothing} the file: chatbridge store "
        f"copy --from {SQLITE}path/to/file.db"
    )


def _target(given: str | None, settings: Settings) -> Address:
    if given is not None and not given.startswith(POSTGRESQL):
        raise WrongUsage(f"--to has to be {A_SERVER}")
    if given:
        try:
            database_address(given)
        except ValueError as error:
            raise WrongUsage(f"--to: {error}") from None
        for password in passwords_in(given):
            hide(password)
        settings = settings.model_copy(update={"store": given})
    server = settings.server()
    if server is None:
        raise WrongUsage(f"say where to: --to {A_SERVER}")
    need(POSTGRES)
    from chatbridge.store.postgres.connection import Address

    return Address(*server, given_in="--to" if given else "store")


def _files_of(source: Path, state: Path) -> Path:
    """The state directory of the hub whose database it is."""
    return source.parent if os.path.exists(runtime_paths.lock_path(str(source.parent))) else state


def _tokens(files: Path) -> list[TokenRow]:
    """Those of agents over HTTP. :raises SettingsError: they cannot be read."""
    from chatbridge.store.postgres.tokens import TokenRow

    known = listed(str(files))
    return [TokenRow(token.name, token.created, token.digest, used) for token, used in known]


def _lock(locks: ExitStack, state: Path, files: Path) -> None:
    """Also that of the hub whose database it is. :raises StoreError: our own hub runs.
    :raises HubAlreadyRunning: another one does."""
    folders = {folder.resolve(): folder for folder in (files, state)}
    for folder in folders.values():
        try:
            locks.enter_context(Lock(str(folder), started_by="person"))
        except HubAlreadyRunning as error:
            if folder != state:
                raise
            raise StoreError(
                f"a hub runs (pid {error.pid}), so nothing was copied. Let the copy stop it: --stop"
            ) from error


@contextmanager
def _without_hub(state: str) -> Iterator[None]:
    """Stop it. If that was in vain, say so at the end."""
    stopped = end_hub(state) is not None
    try:
        yield
    except BaseException as error:
        if not stopped or lock_file.find_holder(state) is not None:
            raise
        if isinstance(error, ChatbridgeError):
            raise StoreError(f"{error}. {STOPPED}") from error
        say(STOPPED)
        raise


class _Progress:
    """One line that changes, on a terminal, until the end of the block."""

    def __init__(self) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._last = time.monotonic()
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __call__(self, table: str, done: int, of: int) -> None:
        if self._on_terminal and time.monotonic() - self._last > SHOWN_EVERY_SECONDS:
            self._last, self._shown = time.monotonic(), True
            sys.stderr.write(f"\r\033[K{LISTED.get(table, table)}: {done:,} of {of:,}")
            sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _report(copied: Copied, source: Path, target: Address, *, rehearse: bool) -> None:
    did = "Would copy" if rehearse else "Copied"
    counts = {name: copied.rows[table] for table, name in LISTED.items()}
    counts["what goes with them"] = sum(copied.rows.values()) - sum(counts.values())
    counts["files"] = copied.files
    counts["tokens of remote agents"] = copied.tokens
    rows = [(name, f"{count:,}") for name, count in counts.items()]
    rows[1:1] = [("  of them open", f"{copied.open_asks:,}")]
    columns = (Column(title="WHAT"), Column(title="ROWS", right=True))
    tables.write(
        f"{did} {display_path(source)} to {target.name}:",
        Table(columns=columns, rows=rows),
    )
    if copied.replaced:
        say(
            f"{copied.replaced:,} of the texts had something in them that PostgreSQL cannot store "
            "(NUL, or half a character); it was replaced."
        )
    if rehearse:
        print("Nothing was changed there.")


def _switch(target: Address, settings: Settings, *, unasked: bool) -> None:
    """Let hubs use it, if the owner wants that now."""
    plain, passwords = without_password(target.dsn), passwords_in(target.dsn)
    path = config_file()
    if settings.store in (target.dsn, plain):
        print(f"Next: {NEXT}")
        return
    if os.environ.get(variable := variable_of(STORE)):
        print(f'Next: set {variable} to "{plain}". Then {NEXT}')
        return
    if not unasked and not _wanted(path):
        print(f'Next: store = "{plain}" in {display_path(path)}. Then {NEXT}')
        return
    if passwords:
        secrets.keep(path, *PASSWORD, value=passwords[-1])
    change(path, {STORE: plain})
    print(f"Set store in {display_path(path)}. Next: {NEXT}")


def _wanted(path: Path) -> bool:
    if not is_interactive():
        return False
    prompts.take_terminal("store copy")
    with prompts.unechoed():
        return prompts.confirm(f"Set store in {display_path(path)} now?", default=True)
