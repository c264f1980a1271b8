"""The command line: the first word picks the part of chatbridge to run. Imports nothing heavy."""

from __future__ import annotations

import sys

from chatbridge import __version__

COMMANDS = {
    "mcp": ("chatbridge.link.loop", "started by agents and services, not by you"),
    "hub": (
        "chatbridge.hub.process.start",
        "the process that holds the questions and talks to your chats",
    ),
    "stop": ("chatbridge.cli.hub.control:stop", "stop the hub"),
    "setup": ("chatbridge.cli.setup.command", "set chatbridge up, step by step"),
    "pair": ("chatbridge.cli.people:pair_command", "pair a phone; people lists who may answer"),
    "people": ("chatbridge.cli.people", "who may answer, and taking somebody out"),
    "doctor": ("chatbridge.cli.doctor.command", "look for what is wrong, and say what to do"),
    "connect": ("chatbridge.cli.connect.command", "add chatbridge to an agent's MCP servers"),
    "disconnect": ("chatbridge.cli.connect.command:disconnect", "take it out again"),
    "service": ("chatbridge.cli.service.command", "keep the hub running with systemd"),
    "serve": ("chatbridge.cli.agents.serve", "let agents on other machines ask, too"),
    "token": ("chatbridge.cli.agents.serve:token", "make, list and remove those tokens"),
    "tools": ("chatbridge.cli.commands:tools", "the commands that your agents may run"),
    "ask": ("chatbridge.cli.commands:ask", "ask yourself from a script; notify only tells you"),
    "notify": ("chatbridge.cli.commands:notify", "tell yourself something from a script"),
    "pending": ("chatbridge.cli.commands:pending", "the open questions; live with --watch"),
    "answer": ("chatbridge.cli.commands:answer", "answer one here, or cancel it"),
    "cancel": ("chatbridge.cli.commands:cancel", "cancel an open question"),
    "history": ("chatbridge.cli.commands:history", "what was asked before, and how it ended"),
    "inbox": ("chatbridge.cli.hub.control:inbox", "open the inbox in the browser"),
    "status": ("chatbridge.cli.hub.control:status", "whether the hub runs; stop ends it"),
    "version": ("chatbridge.cli.hub.control:version", "the installed version"),
    "completion": ("chatbridge.cli.completion", "let your shell complete all this"),
    "hook": ("chatbridge.cli.agents.hook", "what Claude Code's hooks call"),
    "demo": ("chatbridge.cli.demo", "see how a question looks"),
}

ROWS = (
    ("setup", "doctor", "connect, disconnect", "service", "pair, people", "serve, token", "tools"),
    ("ask, notify", "pending", "answer, cancel", "history", "inbox", "status, stop"),
    ("demo, version, completion", "mcp, hub, hook"),
)
"""The rows of `--help`. A row has the text of its first command, so that all fits on a screen."""


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    word, rest = (words[0], words[1:]) if words else ("--help", [])
    if word in ("-h", "--help", "help"):
        print(help_text(), end="")  # print works even if standard output is closed
        return 0
    if word in ("-V", "--version"):
        print(f"chatbridge {__version__}")
        return 0
    if word == "mcp" and "--standalone" not in rest:
        from chatbridge.link import loop

        return loop.main(rest)
    if word not in COMMANDS:
        sys.stderr.write(
            f"chatbridge has no command {word!r}. There are: {', '.join(COMMANDS)}. "
            "Try: chatbridge --help\n"
        )
        return 2
    from importlib import import_module

    if word == "mcp":
        start = import_module("chatbridge.hub.process.start")
        return int(start.standalone_main([it for it in rest if it != "--standalone"]))
    if word == "completion":
        from chatbridge.cli import completion

        return completion.main(rest, COMMANDS)
    module, _, name = COMMANDS[word][0].partition(":")
    return int(getattr(import_module(module), name or "main")(rest))


def help_text() -> str:
    width = max(len(row) for part in ROWS for row in part)
    parts = [
        "".join(f"  {row:<{width}}   {COMMANDS[row.split(',')[0]][1]}\n" for row in part)
        for part in ROWS
    ]
    return (
        "chatbridge carries your agents' questions to your phone, and your answers back.\n\n"
        f"usage: chatbridge <command> [options]\n\n{chr(10).join(parts)}\n"
        "chatbridge <command> --help says more about one of them.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
