"""The command line: the first word says which part of chatbridge runs. Imports nothing heavy."""

from __future__ import annotations

import sys

from chatbridge import __version__

COMMANDS = {
    "mcp": (
        "chatbridge.link.loop",
        "what an MCP client starts: its agent's questions go to the hub",
    ),
    "hub": ("chatbridge.hub.start", "the process that holds the questions and talks to your chats"),
    "stop": ("chatbridge.cli.stop", "stop the hub"),
    "inbox": ("chatbridge.cli.inbox", "open the inbox in the browser"),
    "hook": ("chatbridge.cli.hook", "what Claude Code's hooks call"),
    "demo": ("chatbridge.cli.demo", "ask yourself a question, to see how it looks"),
}


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    word, rest = (words[0], words[1:]) if words else ("--help", [])
    if word in ("-h", "--help", "help"):
        sys.stdout.write(help_text())
        return 0
    if word in ("-V", "--version"):
        sys.stdout.write(f"chatbridge {__version__}\n")
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
        start = import_module("chatbridge.hub.start")
        return int(start.standalone_main([it for it in rest if it != "--standalone"]))
    return int(import_module(COMMANDS[word][0]).main(rest))


def help_text() -> str:
    width = max(map(len, COMMANDS))
    rows = "".join(f"  {name:<{width}}  {what}\n" for name, (_, what) in COMMANDS.items())
    return (
        "chatbridge carries your AI agents' questions to your phone and your answers back.\n\n"
        f"usage: chatbridge <command> [options]\n\n{rows}\n"
        "chatbridge <command> --help says more about one of them.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
