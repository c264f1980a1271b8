"""What the steps of a set-up share: where it writes, what it has kept, secrets from files, and the
test question: a real ask, through a link as an agent's, answered on the phone."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chatbridge.channels.spec import ChannelSpec
from chatbridge.cli.config_file import change, config_file
from chatbridge.cli.hub.control import restart_hub
from chatbridge.cli.hub.hub_client import ask_hub
from chatbridge.cli.hub.tool_client import NoAnswer, own_link
from chatbridge.cli.ui import prompts
from chatbridge.core.errors import ChatbridgeError, SettingsError
from chatbridge.core.text import one_line
from chatbridge.durations import parse
from chatbridge.settings import Settings, load

Work = Callable[[], None]
MAX_SECRET_CHARACTERS = 4096
LIKE_TOKEN = re.compile(r"[^/]{24,}")
CLIENT = "setup"
QUESTION: dict[str, Any] = {"id": "seen", "question": "Can you see this?", "type": "confirm"}
QUESTION_SECONDS = 600.0
CHECK_SECONDS = 0.3
HINT_AFTER_SECONDS = 15.0


@dataclass(slots=True, kw_only=True)
class Setup:
    path: Path
    settings: Settings
    """As they were at the start."""
    kept: list[str] = field(default_factory=list)

    @classmethod
    def here(cls) -> Setup:
        """:raises ChatbridgeError: the settings that are there cannot be used."""
        path = config_file()
        return cls(path=path, settings=load(path))

    def keeps(self, what: str) -> None:
        """Something is written, and counts whatever happens next."""
        self.kept.append(what)

    @property
    def summary(self) -> str:
        return f"Kept: {', '.join(self.kept)}." if self.kept else "Nothing was changed."

    def save_wait(self, wait: str) -> None:
        """How long an agent waits if it does not say. Twice that at most: there must be room for
        "More time…" on a card."""
        longest = 2 * parse(wait)
        units = (("h", 3600), ("m", 60), ("s", 1))
        unit, length = next(it for it in units if it[1] == 1 or longest % it[1] == 0)
        most = f"{longest / length:.0f}{unit}"
        change(self.path, {("default_timeout",): wait, ("max_timeout",): most})
        self.keeps("how long agents wait")
        restart_hub(start=False)


def read_secret(file: str) -> str:
    """The secret in this file; `-` is standard input.
    :raises SettingsError: without what is in it."""
    try:
        if file == "-":
            found = sys.stdin.read(MAX_SECRET_CHARACTERS)
        else:
            with Path(file).open(encoding="utf-8") as opened:
                found = opened.read(MAX_SECRET_CHARACTERS)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise SettingsError(
            f"{name_of(file)} cannot be read: {why}. Check the path and its permissions"
        ) from None
    if not found.strip():
        raise SettingsError(f"{name_of(file)} is empty. Put the secret into it, and nothing else")
    return found.rstrip("\r\n")


def name_of(file: str) -> str:
    """Not what somebody may have given instead of a file's name: a token."""
    if file == "-":
        return "standard input"
    return "what was given as a file" if LIKE_TOKEN.fullmatch("".join(file.split())) else file


def ask_on_the_phone(channel: ChannelSpec[Any]) -> bool:
    """Whether it was answered. Esc leaves it."""
    assert channel.setup is not None
    return ask_at(channel.setup.test_place, hint=channel.setup.test_hint)


def ask_at(place: str, *, hint: str) -> bool:
    """The same; `hint` is said if it is not answered for a while."""
    folder = os.path.expanduser("~")  # its name is on the card, and no folder of ours looks right
    try:
        with own_link(CLIENT, folder=folder, quiet=True) as calls:
            arguments = {
                "questions": [QUESTION],
                "timeout": int(QUESTION_SECONDS * 1000),
                "wait": False,
            }
            ticket = calls.content("ask_user", arguments)
            asked_at = time.monotonic()
            prompts.say()
            if not _answered(str(ticket["askId"]), place, hint, asked_at):
                return False
            took = time.monotonic() - asked_at
            outcome = calls.content("wait_for_answer", {"askId": ticket["askId"]})
    except (NoAnswer, ChatbridgeError) as error:
        prompts.bad("The test question could not be asked.", one_line(str(error)))
        return False
    if not outcome.get("answered"):
        prompts.say("  The test question was not answered. To try again: chatbridge setup")
        return False
    (value,) = outcome["answers"][0]["values"]
    prompts.good(f'You answered "{str(value).capitalize()}", {took:.0f} s after it was sent')
    return True


def _answered(ask_id: str, place: str, hint: str, since: float) -> bool:
    """Once it has ended; False: the person does not want to wait. The question goes then, too."""
    ended = hinted = False
    try:
        with prompts.keys():
            prompts.say_with_later(f"  A test question is {place}. Answer it there.")
            while not ended and prompts.key(CHECK_SECONDS) != prompts.ESCAPE:
                found = ask_hub("ask", id=ask_id, start=True)
                ended = found["ended"] is not None
                if not (ended or hinted) and time.monotonic() - since > HINT_AFTER_SECONDS:
                    hinted = True
                    prompts.say(f"  {hint}")
                    for name, why in found["troubles"].items():
                        prompts.remark(f"{name}: {one_line(why)}")
    finally:
        if not ended:
            with suppress(ChatbridgeError):
                ask_hub("cancel", id=ask_id, reason="setup was left")
    if not ended:
        prompts.say("  Skipped. The question is withdrawn.")
    return ended
