"""`chatbridge cancel`: declines an open question, with a reason or without one."""

from __future__ import annotations

import argparse

from chatbridge.cli.ui.running import new_parser, run, say


def parser() -> argparse.ArgumentParser:
    found = new_parser(
        "cancel",
        "Cancels an open question: the agent is told that you will not answer. An\n"
        "approval is denied in the chat, not here.",
    )
    found.add_argument("id", metavar="ID", help="the beginning of its id is enough")
    found.add_argument("--reason", metavar="TEXT", help="what the agent is told with it")
    return found


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    return run(lambda: _cancel(given))


def _cancel(given: argparse.Namespace) -> int:
    from chatbridge.cli.hub.hub_client import ask_hub

    reply = ask_hub("cancel", id=given.id, reason=given.reason)
    heard = reply.get("heard", True)  # a hub from before an upgrade does not say
    say(f"Cancelled. {'The agent is told.' if heard else 'No agent was waiting.'}")
    return 0
