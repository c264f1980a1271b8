"""`chatbridge serve`: the hub in the foreground, with MCP over HTTP for agents elsewhere. And
`chatbridge token`: who may connect so. It works on the file, with or without a hub."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from chatbridge import lock_file, runtime_paths
from chatbridge.cli.ui.running import command, new_parser
from chatbridge.core.errors import ChatbridgeError, SettingsError
from chatbridge.hub.http import tokens

USUAL = "127.0.0.1:8788"


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    from chatbridge.hub.process.log import log_to_stderr
    from chatbridge.redaction import redacted

    log_to_stderr()
    try:
        serve(options.http, config=options.config)
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
        from chatbridge.hub.wiring.hub import run_hub

        uvloop.run(
            run_hub(lock, config=config, ready=lambda: None, systemd=Systemd(), http=address)
        )


def parser() -> argparse.ArgumentParser:
    made = new_parser(
        "serve",
        "Run the hub in the foreground, and let agents on other machines connect to it "
        "over HTTP. Each needs a token: chatbridge token add NAME. A hub that an agent has started "
        "hands over to this one. To have it always, set http.address in config.toml instead.",
        flowing=True,
    )
    made.add_argument(
        "--http",
        metavar="ADDRESS",
        type=_address,
        default=USUAL,
        help=f"where to listen (default: {USUAL}); agents connect to http://ADDRESS/mcp",
    )
    made.add_argument("--config", type=Path, help="the configuration file to use")
    return made


def _address(value: str) -> str:
    from chatbridge.settings.tools import host_and_port

    try:
        host_and_port(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return value


def _actions(parser: argparse.ArgumentParser) -> None:
    action = parser.add_subparsers(dest="do", required=True, metavar="add | list | remove")
    add = action.add_parser("add", help="make a token, and show it once")
    add.add_argument("name", metavar="NAME", help=tokens.ACCEPTED)
    shown = action.add_parser("list", help="show who has one, and when it was last used")
    shown.add_argument("--json", action="store_true", help="as JSON")
    remove = action.add_parser("remove", help="take it away at once, also from who is connected")
    remove.add_argument("name", metavar="NAME", help="the name it was made with")


@command(
    "token",
    "Tokens for agents that connect over HTTP, one for each. The token's name is "
    "what the cards show as the project.",
    extend=_actions,
    flowing=True,
)
def token(given: argparse.Namespace) -> int:
    state = _as_its_owner(runtime_paths.state_dir())
    if given.do == "add":
        made = tokens.add(state, given.name, now=time.time())
        # The token alone goes to standard output, so that a script can catch it.
        sys.stderr.write(
            f"A token for {given.name}. It is shown this once and stored nowhere, so copy it now.\n"
            "The agent sends it with every request, as the header  Authorization: Bearer <token>\n"
        )
        sys.stderr.flush()
        sys.stdout.write(f"{made}\n")
    elif given.do == "remove":
        tokens.remove(state, given.name)
        sys.stderr.write(
            f"Removed. {given.name} cannot connect any more. Its open questions stay open.\n"
        )
    else:
        _list(state, as_json=given.json)
    return 0


def _as_its_owner(state: str) -> str:
    """Where the directory is from now on. Root becomes its owner, who has to read what is written:
    a machine's service has a user that nobody can be otherwise, and a way there that is closed to
    that user."""
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


def _list(state: str, *, as_json: bool) -> None:
    found = tokens.listed(state)
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
