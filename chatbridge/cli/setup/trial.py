"""The test question: a real ask, through a link as an agent's, answered on the phone."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Any

from chatbridge import runtime_paths
from chatbridge.channels.spec import ChannelSpec, SetupSpec
from chatbridge.cli.hub.hub_client import ask_hub
from chatbridge.cli.ui import prompts
from chatbridge.core.errors import ChatbridgeError

Json = dict[str, Any]

CLIENT = "setup"
QUESTION: Json = {"id": "seen", "question": "Can you see this?", "type": "confirm"}
QUESTION_SECONDS = 600.0
LOOK_EVERY_SECONDS = 0.3
HINT_AFTER_SECONDS = 15.0


def ask_on_the_phone(channel: ChannelSpec[Any]) -> bool:
    """Whether it was answered. Esc leaves it."""
    from chatbridge.cli.hub.tool_client import NoAnswer, own_link

    # The name of the folder is on the card: ours says what the question is about.
    folder = os.path.dirname(runtime_paths.config_path())
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
            assert channel.setup is not None
            if not _answered(str(ticket["askId"]), channel.setup, asked_at):
                return False
            took = time.monotonic() - asked_at
            outcome = calls.content("wait_for_answer", {"askId": ticket["askId"]})
    except (NoAnswer, ChatbridgeError) as error:
        prompts.bad("The test question could not be asked.", prompts.shown(str(error)))
        return False
    if not outcome.get("answered"):
        prompts.say("  The test question was not answered. Again: chatbridge setup")
        return False
    (value,) = outcome["answers"][0]["values"]
    prompts.good(f'You answered "{str(value).capitalize()}", {took:.0f} s after it was sent')
    return True


def _answered(ask_id: str, setup: SetupSpec, since: float) -> bool:
    """Once it has ended; False: the person does not want to wait. The question goes then, too."""
    ended = hinted = False
    try:
        with prompts.keys() as keys:
            prompts.say_with_later(f"  A test question is {setup.test_place}. Answer it there.")
            while not ended and keys.wait(LOOK_EVERY_SECONDS) != prompts.ESCAPE:
                found = ask_hub("ask", id=ask_id, start=True)
                ended = found["ended"] is not None
                if not (ended or hinted) and time.monotonic() - since > HINT_AFTER_SECONDS:
                    hinted = True
                    prompts.say(f"  {setup.test_hint}")
                    for name, why in found["troubles"].items():
                        prompts.remark(f"{name}: {prompts.shown(why)}")
    finally:
        if not ended:
            with suppress(ChatbridgeError):
                ask_hub("cancel", id=ask_id, reason="setup was left")
    if not ended:
        prompts.say("  Left. The question is taken back.")
    return ended
