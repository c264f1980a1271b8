"""The command line: the first word picks the part of chatbridge to run. Imports nothing heavy."""

from __future__ import annotations

import sys

from chatbridge import __version__


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
    from chatbridge.cli import APART, COMMANDS, command

    if word not in COMMANDS:
        from chatbridge.cli.ui.running import WRONG_USAGE, say
        from chatbridge.core.text import did_you_mean

        there = f". There are: {', '.join(COMMANDS)}"
        near = did_you_mean(word, COMMANDS, before=", ") or there
        say(f"chatbridge has no command {word!r}{near}", "All commands: chatbridge --help")
        return WRONG_USAGE
    from importlib import import_module

    if word == "mcp":
        start = import_module("chatbridge.hub.process.start")
        return int(start.standalone_main([it for it in rest if it != "--standalone"]))
    if word in APART:
        return int(import_module(APART[word]).main(rest))
    return command(word)(rest)


def help_text() -> str:
    from chatbridge.cli import COMMANDS, ROWS
    from chatbridge.cli.ui.running import HELP_WIDTH, columns, filled

    width = max(len(row) for part in ROWS for row in part)
    parts = [
        "".join(f"  {row:<{width}}   {COMMANDS[row.split(',')[0]]}\n" for row in part)
        for part in ROWS
    ]
    text = (
        "chatbridge carries your agents' questions to your phone, and your answers back.\n\n"
        f"usage: chatbridge <command> [options]\n\n{chr(10).join(parts)}\n"
        "chatbridge <command> --help says more about one of them."
    )
    return filled(text, min(columns(), HELP_WIDTH))


if __name__ == "__main__":
    sys.exit(main())
