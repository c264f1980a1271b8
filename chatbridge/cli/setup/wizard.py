"""The wizard: one question after the other. Run again, it shows what is there and keeps it."""

from __future__ import annotations

import os

from chatbridge import settings
from chatbridge.channels.registry import channel_specs
from chatbridge.channels.spec import load_reference
from chatbridge.cli.config_file import config_file
from chatbridge.cli.setup import agents
from chatbridge.cli.setup.state import Setup
from chatbridge.cli.ui import prompts
from chatbridge.cli.ui.prompts import Choice
from chatbridge.cli.ui.running import INTERRUPTED
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import title_of
from chatbridge.settings.authority import variable_of

WELCOME = """
chatbridge brings your agents' questions to your phone. About three minutes.
You can run this again at any time; nothing is lost.
"""
BROWSER = Choice(value="", title="Browser only    nothing to install, this computer only")
KEEP = Choice(value="keep", title="As it is        nothing changes")
WAITS = ("CHATBRIDGE_DEFAULT_TIMEOUT", "CHATBRIDGE_MAX_TIMEOUT")


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
    steps = {spec.name: spec.setup for spec in channel_specs() if spec.setup}
    choices = [
        *([KEEP] if there else []),
        *(Choice(value=it, title=f"{title_of(it):<15} {steps[it].choice}") for it in steps),
        BROWSER,
    ]
    place = prompts.pick("Where do you want to answer?", choices, default=None)
    prompts.say()
    if place in steps:
        load_reference(steps[place].ask)(setup)
    elif place == BROWSER.value:
        _show_inbox()
    prompts.say()
    agents.set_wait(setup)
    agents.set_service(setup)
    prompts.say()
    return agents.connect_agents(setup)


def _there(now: settings.Settings) -> list[str]:
    """What is set up, in a line each."""
    lines = []
    for spec in now.active_channels():
        if spec.is_chat:
            table = now.table(spec)
            people = _people(spec.people_in(table))
            lines.append(f"{spec.title:<10} {spec.account(table)}, {people}")
    return lines and ["Set up now:", *(f"  {line}" for line in lines), ""]


def _people(listed: tuple[object, ...]) -> str:
    return f"paired: {', '.join(map(str, listed))}" if listed else "nobody is paired"


def _warn_of_variables() -> None:
    """A hub that starts from here would not use what is about to be written."""
    chats = [spec for spec in channel_specs() if spec.is_chat]
    tables = tuple(variable_of((spec.name, "")) for spec in chats)
    harmless = {variable_of((spec.name, key)) for spec in chats for key in spec.file_default}
    names = [it for it in sorted(os.environ) if it.startswith((*WAITS, *tables))]
    names = [it for it in names if it not in harmless]
    if names:
        prompts.remark(
            f"Set in this terminal, and counting over what is written here: {', '.join(names)}"
        )
        prompts.say()


def _show_inbox() -> None:
    from chatbridge.cli.hub import inbox

    if inbox.main([]) != 0:
        raise ChatbridgeError("The web inbox is not there. See: chatbridge doctor")
