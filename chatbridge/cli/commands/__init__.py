"""The arguments of all commands, and where their work is, which is imported once they are read.

questions: commands that ask, list and answer questions, and those about quiet hours
agents: commands about agents, what they are told and what they may run
hub: commands about the hub, how it is kept running, and its inbox
setup: commands that set chatbridge up, and find what is wrong
arguments: functions that check the values of arguments
"""

from __future__ import annotations

from importlib import import_module

from chatbridge.cli.ui.running import Command

MODULES = {
    "questions": (
        *("ask", "notify", "pending", "answer", "cancel", "show", "snooze", "extend", "quiet"),
        *("history", "summary", "stats"),
    ),
    "agents": ("agents", "tell", "tools", "serve", "token"),
    "hub": ("status", "version", "stop", "restart", "service", "inbox"),
    "setup": ("setup", "connect", "disconnect", "pair", "people", "doctor", "completion"),
}
"""Which module has which commands: to run one, those of the others are not imported."""


def command(name: str) -> Command:
    module = next(module for module, names in MODULES.items() if name in names)
    found: Command = getattr(import_module(f"{__name__}.{module}"), name)
    return found
