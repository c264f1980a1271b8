"""`chatbridge setup`: one question after the other. Again, it shows what is there and keeps it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from chatbridge.channels.registry import channel_specs
from chatbridge.channels.web.spec import WEB
from chatbridge.cli.connect.command import PARTS
from chatbridge.cli.connect.installed import installed_clients
from chatbridge.cli.connect.plans import Plan, plan, write
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.doctor.run import run_tonight
from chatbridge.cli.hub.commands import inbox
from chatbridge.cli.inbox.link import login_link
from chatbridge.cli.inbox.phone import reachable, show
from chatbridge.cli.people import listed_names
from chatbridge.cli.service.command import install
from chatbridge.cli.service.manager import this_manager, why_no_install
from chatbridge.cli.setup.state import Setup, ask_at
from chatbridge.cli.ui import prompts
from chatbridge.cli.ui.prompts import Choice
from chatbridge.cli.ui.running import INTERRUPTED, WrongUsage, fitted
from chatbridge.core.errors import ChatbridgeError, NoTerminal
from chatbridge.core.text import one_line, title_of
from chatbridge.durations import parse
from chatbridge.settings import Settings
from chatbridge.settings.authority import variable_of

WELCOME = """
chatbridge brings your agents' questions to your phone. It takes three minutes.
You can run this again at any time; nothing is lost.
"""
PHONE = Choice(value="phone", title="Inbox on phone  an app that rings, without a chat service")
BROWSER = Choice(value="", title="Browser only    nothing to install, this computer only")
KEEP = Choice(value="keep", title="As it is        nothing changes")
WAITS = {"8h": "8 hours, through the night", "1h": "1 hour", "30m": "30 minutes"}
WAIT_VARIABLES = ("CHATBRIDGE_DEFAULT_TIMEOUT", "CHATBRIDGE_MAX_TIMEOUT")


def setup(given: argparse.Namespace) -> int:
    if given.non_interactive:
        from chatbridge.cli.setup import scripted

        return scripted.run(given)
    if set(given.argv) - {"--no-hooks", "--no-instructions"}:
        raise WrongUsage("these flags are for --non-interactive")
    try:
        prompts.take_terminal("setup")
    except NoTerminal as error:
        sys.stderr.write(
            f"{error}. For scripts: chatbridge setup --non-interactive, with flags such as\n"
            "--telegram-token-file FILE --telegram-user ID, or --web-only. All of them:\n"
            "chatbridge setup --help\n"
        )
        return 2
    with prompts.unechoed():
        return run(given.leave_out)


def run(leave_out: Sequence[str]) -> int:
    """:raises ChatbridgeError: the settings that are there cannot be used."""
    prompts.explain(WELCOME)
    setup = Setup.here()
    _warn_of_variables()
    try:
        restart = _set_up(setup, leave_out)
    except KeyboardInterrupt:
        prompts.say()
        prompts.wrapped(f"Stopped. {setup.summary} Continue any time: chatbridge setup")
        return INTERRUPTED
    except ChatbridgeError as error:
        prompts.say()
        prompts.bad(one_line(str(error)))
        prompts.say()
        prompts.wrapped(f"{setup.summary} Continue any time: chatbridge setup")
        return 1
    prompts.say()
    run_tonight(DoctorContext.here())
    prompts.say()
    prompts.good("done. Restart the agents, then try:" if restart else "done. Now try:")
    prompts.say('\n    chatbridge ask "Deploy?" -o Yes -o No\n')
    return 0


def _set_up(setup: Setup, leave_out: Sequence[str]) -> bool:
    """Whether agents have to be restarted."""
    there = _there(setup.settings)
    for line in there:
        prompts.say(f"  {line}")
    specs = {spec.name: spec for spec in channel_specs()}
    steps = {name: spec.setup for name, spec in specs.items() if spec.setup}
    choices = [
        *([KEEP] if there else []),
        *(Choice(value=it, title=f"{title_of(it):<15} {steps[it].choice}") for it in steps),
        PHONE,
        BROWSER,
    ]
    place = prompts.pick("Where do you want to answer?", choices, default=None)
    prompts.say()
    if place in steps:
        specs[place].load(steps[place].ask)(setup)
    elif place == PHONE.value:
        _set_phone(setup)
    elif place == BROWSER.value and inbox([]) != 0:
        raise ChatbridgeError("The web inbox is not available. See: chatbridge doctor")
    prompts.say()
    _set_wait(setup)
    _set_service(setup)
    prompts.say()
    return _connect_agents(setup, leave_out)


def _set_phone(setup: Setup) -> None:
    try:
        served = reachable(yes=False)
    except ChatbridgeError as error:
        what, _, then = str(error).partition(". ")
        prompts.bad(one_line(what))
        prompts.explain(then)
        return
    if served is not None:
        setup.keeps("the inbox's address")
        show(login_link(served.url), in_tailnet=served.tailscale is not None)
        ask_at("in the inbox on your phone", hint="Log in there first, with the code above.")


def _there(now: Settings) -> list[str]:
    """What is set up, in a line each."""
    lines = []
    for spec in now.active_channels():
        if spec.is_chat:
            table = now.table(spec)
            people = listed_names(spec, table)
            paired = f"paired: {people}" if people else "nobody is paired"
            lines.append(f"  {spec.title:<10} {spec.account(table)}, {paired}")
    if url := now.table(WEB).url:
        lines.append(f"  {'Inbox':<10} {url}")
    return lines and ["Set up now:", *lines, ""]


def _warn_of_variables() -> None:
    """A hub that starts from here would not use what is about to be written."""
    chats = [spec for spec in channel_specs() if spec.is_chat]
    tables = tuple(variable_of((spec.name, "")) for spec in chats)
    harmless = {variable_of((spec.name, key)) for spec in chats for key in spec.file_default}
    names = [it for it in sorted(os.environ) if it.startswith((*WAIT_VARIABLES, *tables))]
    names = [it for it in names if it not in harmless]
    if names:
        prompts.remark(
            f"Set in this terminal, and overriding what is written here: {', '.join(names)}"
        )
        prompts.say()


def _set_wait(setup: Setup) -> None:
    """How long an agent waits if it does not say, and at most."""
    now = setup.settings.default_timeout
    choices = [Choice(value=value, title=title) for value, title in WAITS.items()]
    current = next((value for value in WAITS if parse(value) == now), None)
    if current is None and "default_timeout" in setup.settings.model_fields_set:
        words = f"{now / 3600:g} h" if now >= 3600 else f"{now / 60:g} min"
        choices.insert(0, Choice(value="", title=f"{words}, as it is"))
        current = ""
    picked = prompts.pick("How long may an agent wait for you?", choices, default=current)
    if picked and parse(picked) != now:
        setup.save_wait(picked)


def _set_service(setup: Setup) -> None:
    manager = this_manager()
    if why_not := why_no_install(manager):
        prompts.wrapped(f"  {why_not}")
        return
    if manager.state().running:
        prompts.good("the service is running")
        return
    when = "with this computer" if manager.lingering else "when you log in"
    question = f"Start chatbridge {when} ({manager.title})?"
    if not prompts.confirm(question, default=True):
        prompts.say("  To do it later: chatbridge service install")
        return
    try:
        if install(manager, linger=True, say=lambda line: prompts.say(f"  {line}")):
            setup.keeps("the service")
    except ChatbridgeError as error:
        prompts.bad(str(error))


def _connect_agents(setup: Setup, leave_out: Sequence[str]) -> bool:
    """Whether one was connected that was not before."""
    found = installed_clients()
    if not found:
        prompts.explain("  No agent was found here. For any other: chatbridge connect --print")
        return False
    choices = [
        Choice(
            value=it.client.name,
            title=f"{it.client.title}{', connected' if it.connected else ''}",
            picked=it.problem is None,
        )
        for it in found
    ]
    plans: list[Plan] = []
    for client in prompts.pick_several("Which agents should use it?", choices):
        try:
            plans.append(plan(client, leave_out=leave_out))
        except ChatbridgeError as error:
            prompts.bad(one_line(str(error)))
    plans = [it for it in plans if it.changes]
    if not plans:
        return False
    prompts.say()
    for it in plans:
        for file in it.changes:
            prompts.say(fitted(f"  {file.summary()}"))
    if any(len(it.changes) > 1 for it in plans):
        prompts.wrapped(f"  {PARTS}")
    if not prompts.confirm("Write these?", default=True):
        prompts.say("  To do it later: chatbridge connect")
        return False
    connected = False
    for it in plans:
        try:
            write(it)
        except ChatbridgeError as error:
            prompts.bad(one_line(str(error)))
        else:
            setup.keeps(it.title)
            connected = True
    return connected
