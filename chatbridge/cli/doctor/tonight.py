"""`chatbridge doctor --tonight`: whether agents can be left alone until the morning.

Owns what matters for a night alone: a phone that was reached, how long questions may wait, what
each client would stop for, disk space, and questions that end in the night.
"""

from __future__ import annotations

import asyncio
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chatbridge.channels.checks import Finding, Mark, fine, from_error, problem, remark
from chatbridge.channels.spec import ChannelSpec
from chatbridge.cli.connect.installed import InstalledClient, Readiness, readiness
from chatbridge.cli.database import asks
from chatbridge.cli.doctor.clients import agents_elsewhere, connected_clients, limit_of
from chatbridge.cli.doctor.computer import service
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.doctor.files import configuration
from chatbridge.cli.doctor.hub import hub
from chatbridge.cli.ui.wording import HOUR, counted, duration, lasted
from chatbridge.core.cards.outcome_text import in_place
from chatbridge.core.cards.phrases import format_time
from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.model import Ask, Outcome
from chatbridge.core.nights.nights import Nights
from chatbridge.core.nights.switching import format_hours, format_now
from chatbridge.core.text import one_line, shortened

NIGHT = 8 * HOUR
RECENT = HOUR
MIN_FREE_BYTES = 500 * 1024**2
FULL_BYTES = 10 * 1024**2
"""With less free, what works now does not for long."""
MAX_NAME = 40
ENDED = "SELECT * FROM asks WHERE settled_at > ?"
ENDING = "SELECT * FROM asks WHERE status = 'open' AND deadline < ? ORDER BY deadline"
TEST_QUESTION = 'chatbridge ask "Can you see this?" -o Yes    (and answer it on the phone)'
SET_WAIT = 'chatbridge setup    (or default_timeout = "8h" in config.toml)'
RINGS = {"approval": "approvals", "urgent": "urgent questions"}
SET_APPROVALS = '[approvals] timeout = "8h" in config.toml'


async def basis(context: DoctorContext) -> Sequence[Finding]:
    """What keeps everything else from working."""
    found = [*await asyncio.to_thread(configuration, context), *await hub(context)]
    return [it for it in found if it.mark is not Mark.FINE]


# ── people ────────────────────────────────────────────────────────────────────────────────────────


def places_to_answer(context: DoctorContext) -> list[ChannelSpec[Any]]:
    """The channels that a person has in their pocket."""
    settings = context.settings
    return [it for it in settings.active_channels() if it.is_elsewhere(settings.table(it))]


async def phone(context: DoctorContext) -> Sequence[Finding]:
    places, found = places_to_answer(context), await context.hub()
    if not places:
        what = "questions reach only the browser of this computer"
        return [problem("phone", what, "chatbridge setup")]
    troubles = [(spec, found.trouble_of(spec.name)) for spec in places]
    if broken := [from_error(spec.title.lower(), why) for spec, why in troubles if why]:
        return broken
    last = await asyncio.to_thread(last_answer, context)
    if last is None or last.by is None:
        what = "nobody has answered from a phone in the last hour"
        return [problem("phone", what, TEST_QUESTION)]
    who = shortened(one_line(last.by.name), MAX_NAME) or "somebody"
    ago = lasted(max(context.clock.time() - last.at, 0.0))
    return [fine("phone", f"{who} answered {in_place(last.by.channel)} {ago} ago")]


def last_answer(context: DoctorContext) -> Outcome | None:
    """The newest of the last hour that came from a phone."""
    names = {spec.name for spec in places_to_answer(context)}
    since = context.clock.time() - RECENT
    ended = [ask.outcome for ask in _asks(context, ENDED, since)]
    found = [it for it in ended if it and it.by and it.by.channel in names]
    return max(found, key=lambda it: it.at, default=None)


def offer_test_question(context: DoctorContext) -> None:
    """Ask one now, if a person at the terminal wants it."""
    from chatbridge.cli.setup.state import ask_on_the_phone
    from chatbridge.cli.ui import prompts

    chats = [spec for spec in places_to_answer(context) if spec.setup]
    if not chats or last_answer(context) is not None:
        return
    prompts.take_terminal("doctor --tonight")
    with prompts.unechoed():
        if prompts.confirm("Send a test question to your phone now?", default=True):
            ask_on_the_phone(chats[0])
    prompts.say()


# ── waiting ───────────────────────────────────────────────────────────────────────────────────────


def waiting(context: DoctorContext) -> list[Finding]:
    settings = context.settings
    wait, approvals = settings.default_timeout, settings.approvals.timeout
    details = {"defaultTimeout": wait, "approvalsTimeout": approvals}
    nights, what = context.nights(), f"questions may wait {duration(wait)}"
    quiet_seconds = _quiet_seconds(nights, now=context.clock.time())
    if wait < NIGHT and quiet_seconds and nights.policy.extend_deadlines:
        needed = quiet_seconds + nights.policy.grace
        if settings.max_timeout < needed:
            longest = duration(settings.max_timeout)
            what = f"questions end after {longest} at most, before quiet hours are over"
            fix = f'max_timeout = "{math.ceil(needed / HOUR)}h" in config.toml'
            return [problem("waiting", what, fix, **details)]
        what = "questions wait until quiet hours are over"
        approvals = approvals or wait
    elif wait < NIGHT:
        what = f"questions end after {duration(wait)} if the agent does not ask for more"
        return [problem("waiting", what, SET_WAIT, **details)]
    if approvals is not None and approvals < NIGHT:
        what = f"{what}, but approvals are denied after {duration(approvals)}"
        return [remark("waiting", what, SET_APPROVALS, **details)]
    return [fine("waiting", what, **details)]


def _quiet_seconds(nights: Nights, *, now: float) -> float:
    """How long it is quiet tonight, by the settings or, if that is a whole night, by hand."""
    switch = nights.switch_at(now)
    if switch is None:
        return nights.hours.longest
    if not switch.on:
        return 0.0
    left = switch.period.end - now
    return max(nights.hours.longest, left if left >= NIGHT else 0.0)


def quiet(context: DoctorContext) -> list[Finding]:
    """When the chats are quiet, what rings nevertheless, and when somebody is reminded."""
    nights, now = context.nights(), context.clock.time()
    policy, hours, switch = nights.policy, format_hours(nights), nights.switch_at(now)
    how = "held until they end" if policy.quiet and policy.quiet.hold else "without sound"
    usual = "no regular quiet hours" if switch else "no quiet hours: every question rings"
    said = [f"{hours}, {how}" if hours else usual]
    if switch:
        said.append(f"by hand {format_now(nights, now=now)}" + ("" if hours else f", {how}"))
    rings = [name for key, name in RINGS.items() if key in policy.let_through]
    if (hours or switch) and rings:
        said.append(f"{' and '.join(rings)} ring")
    after = " and ".join(duration(seconds) for seconds in policy.reminders)
    said.append(f"reminders after {after}" if after else "no reminders")
    return [fine("quiet", "; ".join(said))]


def quiet_hours(context: DoctorContext) -> list[Finding]:
    """The same where there are some."""
    nights = context.nights()
    some = any(nights.hours.windows) or nights.switch_at(context.clock.time())
    return quiet(context) if some else []


def deadlines(context: DoctorContext) -> list[Finding]:
    """Open questions that nobody could answer in time."""
    now = context.clock.time()
    ending = _asks(context, ENDING, now + NIGHT)
    if not ending:
        return []
    first = min(ending, key=_deadline)
    project = shortened(one_line(first.project.name), MAX_NAME)
    what = f"{counted(len(ending), 'open question')} would time out in the night"
    at = f"{project} at {format_time(_deadline(first), now=now)}"
    detail = f", {at}" if len(ending) == 1 else f", the first ({at})"
    return [remark("questions", f"{what}{detail}", "answer now: chatbridge pending")]


def _asks(context: DoctorContext, sql: str, at: float) -> list[Ask]:
    try:
        return asks(context.database, sql, (at,))
    except ChatbridgeError:
        return []  # there is none yet, or the check of the database says why


def _deadline(ask: Ask) -> float:
    return ask.deadline or 0.0


# ── agents ────────────────────────────────────────────────────────────────────────────────────────


def agents(context: DoctorContext) -> list[Finding]:
    connected = connected_clients()
    if not connected:
        nobody = problem("agents", "none is set up", "chatbridge connect")
        return agents_elsewhere(context) or [nobody]
    return [_agent(it, context.settings.default_timeout) for it in connected]


def _agent(found: InstalledClient, wait: float) -> Finding:
    name, again = found.client.name, f"chatbridge connect {found.client.name}"
    if found.problem is not None:
        return problem(name, found.problem)
    ready = readiness(found)
    if ready.permission is False:
        what = "would ask for your permission in its own window before it asks you"
        return problem(name, what, again)
    if ready.hooks is False:
        what = "its own questions and permissions stay in its window"
        return remark(name, what, again)
    if ready.hook_timeout is not None and ready.hook_timeout < wait:
        what = f"its own questions end after {duration(ready.hook_timeout)}"
        return remark(name, what, again)
    limit = limit_of(found, wait)
    return limit if limit.mark is not Mark.FINE else replace(limit, what=_has(found, ready))


def _has(found: InstalledClient, ready: Readiness) -> str:
    own = found.gives_up
    limit = "no limit is known" if own is None else f"a call waits up to {lasted(own)}"
    have = [word for word in ("permission", "hooks") if getattr(ready, word)]
    return f"{limit}; {' and '.join(have)} set" if have else limit


# ── the computer ──────────────────────────────────────────────────────────────────────────────────


def full_disk(context: DoctorContext) -> list[Finding]:
    """At any time of the day. What is not full is no news."""
    return [it for it in _free(context, least=FULL_BYTES) if it.mark is Mark.PROBLEM]


def disk(context: DoctorContext) -> list[Finding]:
    return _free(context, least=MIN_FREE_BYTES)


def _free(context: DoctorContext, *, least: int) -> list[Finding]:
    folder = next(it for it in (context.state, *context.state.parents) if it.exists())
    free = shutil.disk_usage(folder).free
    shown = f"{free / 1024**3:,.0f} GB" if free >= 10 * 1024**3 else f"{free / 1024**2:,.0f} MB"
    where = "where the log is" if context.settings.server() else "where the database is"
    if free < least:
        what = f"{shown} free {where}"
        return [problem("disk", what, "make room, or questions cannot be stored", free=free)]
    return [fine("disk", f"{shown} free", free=free)]


def night_service(context: DoctorContext) -> list[Finding]:
    """Like `service`, but one that could be installed should be."""
    found = service(context)
    if found[0].details.get("installed") is False:
        what = "not installed: the hub ends when you log out"
        if context.manager.lingering is None:
            what = "not installed: nothing starts the hub again if it ends"
        return [remark("service", what, "chatbridge service install")]
    return found
