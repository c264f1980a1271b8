"""What a model reads about a command's tool: what it does first, then how to go about it.

Short, because every model pays for every word of every tool. A synchronous tool has not a word
about operations: there is nothing to look after.
"""

from __future__ import annotations

import re

from chatbridge.commands.definitions.command import Command
from chatbridge.core.cards.phrases import spoken

_GUIDANCE = """\
Runs in the background: the call returns an operationId at once. Go on with other work; do not \
wait. {told} Call await only for the final validation, when nothing else is left to do."""
_PUSHED = (
    "The result is pushed to you when it ends, and status, which never waits, shows it at any time."
)
_LOOKED_UP = "Look at the result with status, which never waits."
_ASKED = {
    "never": "",
    "always": "A person is asked on their phone before each run, and may deny it.",
    "once-per-session": "A person is asked on their phone before the first run of a session, and "
    "may deny it.",
}
_FINAL = "What it does cannot be taken back: call it only if you are meant to."


def description_of(command: Command, *, pushed: bool = True) -> str:
    """`pushed`: whether its client can be told of an end outside of a call."""
    return "\n".join(part for part in _parts(command, pushed) if part)


def _parts(command: Command, pushed: bool) -> list[str]:
    about = [
        _sentence(command.description),
        _FINAL if command.destructive else "",
        _ASKED[command.approve],
    ]
    if command.synchronous:
        return about
    hints = "; ".join(hint.strip().rstrip(".") for hint in command.hints)
    return [
        *about,
        _GUIDANCE.format(told=_PUSHED if pushed else _LOOKED_UP),
        f"Meanwhile: {hints}." if hints else "",
        f"It is ended after {spoken(command.timeout)}.",
    ]


def _sentence(text: str) -> str:
    text = text.strip()
    return text if re.search(r"[.!?:…]$", text) else f"{text}."
