"""The wizard: one question after the other. Run again, it shows what is there and keeps it."""

from __future__ import annotations

import os

from chatbridge import settings
from chatbridge.cli.config_file import config_file
from chatbridge.cli.setup import agents, matrix, telegram
from chatbridge.cli.setup.state import Setup
from chatbridge.cli.ui import prompts
from chatbridge.cli.ui.prompts import Choice
from chatbridge.cli.ui.running import INTERRUPTED
from chatbridge.core.errors import ChatbridgeError

WELCOME = """
chatbridge brings your agents' questions to your phone. About three minutes.
You can run this again at any time; nothing is lost.
"""
PLACES = (
    Choice(value="telegram", title="Telegram        free, needs the app"),
    Choice(value="matrix", title="Matrix          your own server works"),
    Choice(value="web", title="Browser only    nothing to install, this computer only"),
)
KEEP = Choice(value="keep", title="As it is        nothing changes")
COUNT_OVER = ("TELEGRAM__", "MATRIX__", "DEFAULT_TIMEOUT", "MAX_TIMEOUT")
HARMLESS = ("TELEGRAM__API_BASE",)


def run() -> int:
    """:raises ChatbridgeError: the settings that are there cannot be used."""
    prompts.explain(WELCOME)
    path = config_file()
    setup = Setup(path=path, settings=settings.load(path))
    _warn_of_variables()
    try:
        restart = _set_up(setup)
    except KeyboardInterrupt:
        prompts.say()
        prompts.wrapped(f"Stopped. {setup.summary} Go on at any time: chatbridge setup")
        return INTERRUPTED
    except ChatbridgeError as error:
        prompts.say()
        prompts.bad(prompts.shown(str(error)))
        prompts.say()
        prompts.wrapped(f"{setup.summary} Go on at any time: chatbridge setup")
        return 1
    prompts.good("done. Restart the agents, then try:" if restart else "done. Now try:")
    prompts.say('\n    chatbridge ask "Deploy?" -o Yes -o No\n')
    return 0


def _set_up(setup: Setup) -> bool:
    """Whether agents have to be restarted."""
    there = _there(setup.settings)
    for line in there:
        prompts.say(f"  {line}")
    place = prompts.pick(
        "Where do you want to answer?", [*([KEEP] if there else []), *PLACES], default=None
    )
    prompts.say()
    if place == "telegram":
        telegram.set_up(setup)
    elif place == "matrix":
        matrix.set_up(setup)
    elif place == "web":
        _show_inbox()
    prompts.say()
    agents.set_wait(setup)
    agents.set_service(setup)
    prompts.say()
    return agents.connect_agents(setup)


def _there(now: settings.Settings) -> list[str]:
    """What is set up, in a line each."""
    lines = []
    if now.telegram.token is not None:
        bot = now.telegram.token.get_secret_value().partition(":")[0]
        lines.append(f"Telegram   bot {bot}, {_people(now.telegram.allowed_users)}")
    if now.matrix.on:
        lines.append(f"Matrix     {now.matrix.user_id}, {_people(now.matrix.allowed_users)}")
    return lines and ["Set up now:", *(f"  {line}" for line in lines), ""]


def _people(listed: tuple[object, ...]) -> str:
    return f"paired: {', '.join(map(str, listed))}" if listed else "nobody is paired"


def _warn_of_variables() -> None:
    """A hub that starts from here would not use what is about to be written."""
    names = [
        name
        for name in sorted(os.environ)
        if name.removeprefix("CHATBRIDGE_").startswith(COUNT_OVER)
        and name.startswith("CHATBRIDGE_")
        and name.removeprefix("CHATBRIDGE_") not in HARMLESS
    ]
    if names:
        prompts.remark(
            f"Set in this terminal, and counting over what is written here: {', '.join(names)}"
        )
        prompts.say()


def _show_inbox() -> None:
    from chatbridge.cli.hub import inbox

    if inbox.main([]) != 0:
        raise ChatbridgeError("The web inbox is not there. See: chatbridge doctor")
