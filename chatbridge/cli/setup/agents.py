"""The last steps: how long agents wait, the service, and which agents use chatbridge."""

from __future__ import annotations

from chatbridge.cli.config_file import change
from chatbridge.cli.hub.stop import restart_hub
from chatbridge.cli.setup.state import Setup
from chatbridge.cli.ui import prompts
from chatbridge.cli.ui.prompts import Choice
from chatbridge.core.errors import ChatbridgeError
from chatbridge.durations import seconds

WAITS = (("1h", "1 hour"), ("8h", "8 hours"), ("30m", "30 minutes"))
KEEP = ""


def set_wait(setup: Setup) -> None:
    """How long an agent waits if it does not say, and at most."""
    now = setup.settings.default_timeout
    choices = [Choice(value=value, title=title) for value, title in WAITS]
    current = next((value for value, _ in WAITS if float(str(seconds(value))) == now), None)
    if current is None and "default_timeout" in setup.settings.model_fields_set:
        choices.insert(0, Choice(value=KEEP, title=f"{_in_words(now)}, as it is"))
        current = KEEP
    picked = prompts.pick("How long may an agent wait for you?", choices, default=current)
    if picked == KEEP or float(str(seconds(picked))) == now:
        return
    save_wait(setup, picked)


def save_wait(setup: Setup, wait: str) -> None:
    change(setup.path, {("default_timeout",): wait, ("max_timeout",): _as_setting(longest(wait))})
    setup.keeps("how long agents wait")
    restart_hub(start=False)


def longest(wait: str) -> float:
    """Twice that: there must be room for "+15 min" on a card."""
    return 2 * float(str(seconds(wait)))


def _as_setting(value: float) -> str:
    for unit, length in (("h", 3600), ("m", 60)):
        if value % length == 0:
            return f"{value / length:.0f}{unit}"
    return f"{value:.0f}s"


def _in_words(value: float) -> str:
    return f"{value / 3600:g} h" if value >= 3600 else f"{value / 60:g} min"


def set_service(setup: Setup) -> None:
    from chatbridge.cli.service import available, install, is_running

    why_not = available()
    if why_not is not None:
        prompts.wrapped(f"  {why_not}")
        return
    if is_running():
        prompts.good("the service runs")
        return
    question = "Start chatbridge with this computer (systemd user service)?"
    if not prompts.confirm(question, default=True):
        prompts.say("  Later, then: chatbridge service install")
        return
    try:
        if install(linger=True, say=lambda line: prompts.say(f"  {line}")):
            setup.keeps("the service")
    except ChatbridgeError as error:
        prompts.bad(str(error))


def connect_agents(setup: Setup) -> bool:
    """Whether one was connected that was not before."""
    from chatbridge.cli.connect import Plan, found_clients, plan, write

    found = found_clients()
    if not found:
        prompts.explain("  No agent was found here. For any: chatbridge connect --print")
        return False
    choices = [
        Choice(
            value=it.client,
            title=f"{it.shown}{', connected' if it.connected else ''}",
            picked=it.problem is None,
        )
        for it in found
    ]
    plans: list[Plan] = []
    for client in prompts.pick_several("Which agents use it?", choices):
        try:
            plans.append(plan(client))
        except ChatbridgeError as error:
            prompts.bad(prompts.shown(str(error)))
    plans = [it for it in plans if it.changes]
    if not plans:
        return False
    prompts.say()
    for it in plans:
        for file in it.changes:
            prompts.say(f"  {file.summary()}")
    if not prompts.confirm("Write these?", default=True):
        prompts.say("  Later, then: chatbridge connect")
        return False
    connected = False
    for it in plans:
        try:
            write(it)
        except ChatbridgeError as error:
            prompts.bad(prompts.shown(str(error)))
        else:
            setup.keeps(it.shown)
            connected = True
    return connected
