"""`chatbridge serve`: the hub in the foreground, with MCP over HTTP for agents elsewhere. And
`chatbridge token`: who may connect so. It works on the file, with or without a hub."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from chatbridge import lock_file, runtime_paths
from chatbridge.core.errors import ChatbridgeError, SettingsError
from chatbridge.extras import need
from chatbridge.hub.http import tokens
from chatbridge.store.fence import POSTGRES

if TYPE_CHECKING:
    from chatbridge.store.postgres.connection import Address


def serve_command(given: argparse.Namespace) -> int:
    from chatbridge.hub.process.log import log_to_stderr
    from chatbridge.redaction import redacted

    log_to_stderr()
    try:
        serve(given.http, config=Path(given.config) if given.config else None)
    except ChatbridgeError as error:
        sys.stderr.write(redacted(f"{error}\n"))
        return 1
    return 0


def serve(address: str, *, config: Path | None) -> None:
    """:raises ChatbridgeError:"""
    from chatbridge.hub.process.lock import Lock

    state = runtime_paths.state_dir()
    holder = lock_file.find_holder(state)
    if holder is not None and holder.started_by != "link":
        who = "as a service" if holder.started_by == "service" else "in another terminal"
        raise SettingsError(
            f"the hub already runs {who} (pid {holder.pid}). It can do this, too: put\n\n"
            f'  [http]\n  address = "{address}"\n\n'
            f"into {config or runtime_paths.config_path()}, then restart it"
        )
    with Lock(state, started_by="person", takes_over=True) as lock:
        import uvloop

        from chatbridge.hub.process.systemd import Systemd
        from chatbridge.hub.wiring.serving import run_hub

        uvloop.run(
            run_hub(lock, config=config, ready=lambda: None, systemd=Systemd(), http=address)
        )


def token(given: argparse.Namespace) -> int:
    if given.do == "add":
        made = _add(given.name)
        # The token alone goes to standard output, so that a script can catch it.
        sys.stderr.write(
            f"A token for {given.name}. It is shown only once and stored nowhere: copy it now.\n"
            "The agent sends it with every request, as the header  Authorization: Bearer <token>\n"
        )
        sys.stderr.flush()
        sys.stdout.write(f"{made}\n")
    elif given.do == "remove":
        _remove(given.name)
        sys.stderr.write(
            f"Removed. {given.name} cannot connect any more. Its open questions stay open.\n"
        )
    else:
        _list(_listed(), as_json=given.json)
    return 0


def _add(name: str) -> str:
    if (address := _shared()) is None:
        return tokens.add(_state(), name, now=time.time())
    from chatbridge.hub.http import shared_tokens

    return asyncio.run(shared_tokens.add(address, name, now=time.time()))


def _remove(name: str) -> None:
    if (address := _shared()) is None:
        tokens.remove(_state(), name)
        return
    from chatbridge.hub.http import shared_tokens

    asyncio.run(shared_tokens.remove(address, name))


def _listed() -> list[tuple[tokens.Token, float | None]]:
    if (address := _shared()) is None:
        return tokens.listed(_state())
    from chatbridge.hub.http import shared_tokens

    return asyncio.run(shared_tokens.listed(address))


def _shared() -> Address | None:
    """The database that several hubs share, and their tokens with it; None: these are in a file.
    :raises SettingsError: nobody can tell. A hub that still runs may go by either."""
    from chatbridge.settings import load

    server = load().server()
    if server is None:
        return None
    need(POSTGRES)
    from chatbridge.store.postgres.connection import Address

    return Address(*server)


def _state() -> str:
    return _as_its_owner(runtime_paths.state_dir())


def _as_its_owner(state: str) -> str:
    """Return the path of the directory. Root becomes the directory's owner, who has to read what is
    written. That user may not enter the folders above it, so the path is relative then."""
    try:
        about = os.stat(state)
    except OSError:
        return state
    if os.getuid() != 0 or about.st_uid == 0:
        return state
    os.chdir(state)
    os.setgroups([])
    os.setgid(about.st_gid)
    os.setuid(about.st_uid)
    return "."


def _list(found: list[tuple[tokens.Token, float | None]], *, as_json: bool) -> None:
    if as_json:
        rows = [{"name": it.name, "created": it.created, "lastUsed": used} for it, used in found]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    elif not found:
        sys.stderr.write("No agent has a token. Make one with: chatbridge token add NAME\n")
    else:
        width = max(4, *(len(it.name) for it, _ in found))
        sys.stdout.write(f"{'NAME':<{width}}  {'CREATED':<16}  LAST USED\n")
        for it, used in found:
            last = _when(used) if used else "never"
            sys.stdout.write(f"{it.name:<{width}}  {_when(it.created):<16}  {last}\n")


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
