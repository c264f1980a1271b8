"""Commands for people: their names, and what each is for in a line.

ui: how commands run, print and ask
setup: `chatbridge setup`
doctor: `chatbridge doctor`
connect: `chatbridge connect` and `disconnect`
people: `chatbridge people`
pairing: `chatbridge pair`
agents: `chatbridge agents`, `tell`, `hook`, `serve`, `token` and `tools`
questions: `chatbridge ask`, `notify`, `pending`, `answer`, `cancel`, `show`, `snooze`, `extend`,
    `history`, `summary`, `stats`, `audit` and `quiet`
hub: `chatbridge status`, `version`, `stop` and `restart`
inbox: `chatbridge inbox`
service: `chatbridge service`
config_file: changes config.toml
database: reads the database without a hub
demo: `chatbridge demo`
completion: `chatbridge completion`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatbridge.cli.ui.running import Command

COMMANDS = {
    "mcp": "started by agents and services, not by you",
    "hub": "the process that holds the questions and talks to your chats",
    "stop": "stop the hub",
    "restart": "restart the hub, after a change of the settings",
    "setup": "set chatbridge up, step by step",
    "pair": "pair a phone; people lists who may answer",
    "people": "who may answer; remove somebody",
    "store": "move the questions to a team's database",
    "doctor": "find what is wrong, and say how to fix it",
    "connect": "add chatbridge to an agent's MCP servers",
    "disconnect": "remove it again",
    "service": "keep the hub running with systemd or launchd",
    "serve": "for remote agents; store copy: move to PostgreSQL",
    "token": "make, list and remove those tokens",
    "tools": "the commands that your agents may run",
    "ask": "ask yourself from a script; notify only tells you",
    "notify": "tell yourself something from a script",
    "pending": "the open questions; live with --watch",
    "answer": "answer one here, cancel it, see its files",
    "agents": "who is connected; write to one; what they may run",
    "tell": "write to a running agent",
    "show": "the files of a question; opens one",
    "cancel": "cancel an open question",
    "snooze": "put one off, give it more time, hush the chats",
    "extend": "give a question more time",
    "history": "what was asked before, and who did what",
    "summary": "what happened while you were away",
    "stats": "how long agents waited for you",
    "audit": "who asked, answered, allowed and ran what",
    "quiet": "quiet hours by hand: on 2h, until 08:00, off",
    "inbox": "open the inbox in the browser",
    "status": "whether the hub runs; stop and restart it",
    "version": "the installed version",
    "completion": "let your shell complete all this",
    "hook": "what Claude Code's hooks call",
    "demo": "see how a question looks",
}

APART = {
    "mcp": "chatbridge.link.loop",
    "hub": "chatbridge.hub.process.start",
    "hook": "chatbridge.cli.agents.hook",
    "demo": "chatbridge.cli.demo",
}
"""The modules of commands that read their arguments by themselves."""

DECLARED = {
    "questions": (
        *("ask", "notify", "pending", "answer", "cancel", "show", "snooze", "extend", "quiet"),
        *("history", "summary", "stats", "audit"),
    ),
    "agents": ("agents", "tell", "tools", "serve", "token"),
    "hub": ("status", "version", "stop", "restart", "service", "inbox"),
    "setup": ("setup", "connect", "disconnect", "pair", "people", "store", "doctor", "completion"),
}
"""The folders whose `commands` has the arguments of these, and says where their work is."""

ROWS = (
    ("setup", "doctor", "connect, disconnect", "service", "pair, people", "serve, token, store"),
    (
        "ask, notify",
        "pending, inbox, summary",
        "answer, cancel, show",
        "agents, tell, tools",
        "snooze, extend, quiet",
        "history, stats, audit",
        "status, stop, restart",
    ),
    ("demo, version, completion", "mcp, hub, hook"),
)
"""The rows of `--help`. A row has the text of its first command, so that all fits on a screen."""


def command(name: str) -> Command:
    """One of those in `DECLARED`. No other folder's are imported."""
    from importlib import import_module

    folder = next(folder for folder, names in DECLARED.items() if name in names)
    found: Command = getattr(import_module(f"{__name__}.{folder}.commands"), name)
    return found
