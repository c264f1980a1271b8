"""`chatbridge notify`: tells the person something, without waiting for an answer."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from chatbridge.cli.ui.running import FAILED, UNREACHABLE, complain, new_parser, run, say

Json = dict[str, Any]

CLIENT = "chatbridge-cli"
LEVELS = {"info": "info", "warn": "warning", "error": "error"}
WITHIN = 30.0
LONGEST = 10_000
EPILOG = "exit codes: 0 the hub has it, 4 no hub could be reached, 1 refused"


def parser() -> argparse.ArgumentParser:
    found = new_parser(
        "notify",
        "Tells you something on your phone, or wherever you answer, and does not wait.\n"
        "A hub is started if none runs; what cannot be shown now is shown later.",
        epilog=EPILOG,
    )
    found.add_argument("message", help="what to tell; - reads it from standard input")
    found.add_argument("--title", help="a heading")
    found.add_argument(
        "--level",
        choices=LEVELS,
        default="info",
        help="info (the default) arrives silently, warn and error make the phone ring",
    )
    return found


def main(argv: list[str]) -> int:
    command = parser()
    given = command.parse_args(argv)
    return run(lambda: _notify(given, command))


def _notify(given: argparse.Namespace, command: argparse.ArgumentParser) -> int:
    from chatbridge.cli.hub.tool_client import ALONE, NoAnswer, own_link

    message = (sys.stdin.read() if given.message == "-" else given.message).strip()
    if not message:
        command.error("the message is empty")
    if len(message) > LONGEST:
        command.error(f"the message has {len(message):,} characters, at most {LONGEST:,}")
    arguments: Json = {"message": message, "level": LEVELS[given.level]}
    if given.title:
        arguments["title"] = given.title
    try:
        with own_link(CLIENT, quiet=True) as calls:
            result = calls.call("notify_user", arguments, within=WITHIN)
    except NoAnswer as error:
        complain(str(error))
        return UNREACHABLE
    content = result.get("structuredContent")
    if result.get("isError") or not isinstance(content, dict):
        complain(str(result["content"][0]["text"]))
        return UNREACHABLE if (result.get("_meta") or {}).get(ALONE) else FAILED
    if content.get("delivery"):
        say(f"Kept, to be shown later. {content['delivery']}")
    return 0
