"""`chatbridge token`: who may connect over HTTP. Works on the file, with or without a hub."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time

from chatbridge import runtime_paths
from chatbridge.cli.ui.running import run
from chatbridge.hub.http import tokens

ADDED = """\
A token for {name}. It is shown this once and stored nowhere, so copy it now.
The agent sends it with every request, as the header  Authorization: Bearer <token>
"""
REMOVED = "Removed. {name} cannot connect any more. Its open questions stay open.\n"
NONE = "No agent has a token. Make one with: chatbridge token add NAME\n"


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    return run(lambda: _do(options))


def _do(options: argparse.Namespace) -> int:
    state = _as_its_owner(runtime_paths.state_dir())
    if options.do == "add":
        _add(state, options.name)
    elif options.do == "remove":
        tokens.remove(state, options.name)
        sys.stderr.write(REMOVED.format(name=options.name))
    else:
        _list(state, as_json=options.json)
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


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="chatbridge token",
        description="Tokens for agents that connect over HTTP, one for each. The token's name is "
        "what the cards show as the project.",
    )
    action = parser.add_subparsers(dest="do", required=True, metavar="add | list | remove")
    add = action.add_parser("add", help="make a token, and show it once")
    add.add_argument("name", metavar="NAME", help=tokens.ACCEPTED)
    shown = action.add_parser("list", help="show who has one, and when it was last used")
    shown.add_argument("--json", action="store_true", help="as JSON")
    remove = action.add_parser("remove", help="take it away at once, also from who is connected")
    remove.add_argument("name", metavar="NAME", help="the name it was made with")
    return parser


def _add(state: str, name: str) -> None:
    token = tokens.add(state, name, now=time.time())
    # The token alone goes to standard output, so that a script can catch it.
    sys.stderr.write(ADDED.format(name=name))
    sys.stderr.flush()
    sys.stdout.write(f"{token}\n")


def _list(state: str, *, as_json: bool) -> None:
    found = tokens.listed(state)
    if as_json:
        rows = [
            {"name": token.name, "created": token.created, "lastUsed": used}
            for token, used in found
        ]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    elif not found:
        sys.stderr.write(NONE)
    else:
        width = max(4, *(len(token.name) for token, _ in found))
        sys.stdout.write(f"{'NAME':<{width}}  {'CREATED':<16}  LAST USED\n")
        for token, used in found:
            last = _when(used) if used else "never"
            sys.stdout.write(f"{token.name:<{width}}  {_when(token.created):<16}  {last}\n")


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
