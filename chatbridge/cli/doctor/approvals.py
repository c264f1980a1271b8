"""What agents may do without asking: the owner's rules, and what was allowed for a time; one line
each."""

from __future__ import annotations

import os
from pathlib import Path

from chatbridge.channels.checks import Finding, fine, remark
from chatbridge.cli.database import timed_grants
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.ui.wording import display_path
from chatbridge.core.approval_rules import Rule
from chatbridge.core.cards.phrases import format_time

NAME = "approvals"
NOT_AMONG_SEVERAL = (
    "approvals.allow does not apply with cluster.listen: the hub that leads may be on another "
    "computer than the files, so you are asked"
)


def approvals(context: DoctorContext) -> list[Finding]:
    rules, now = context.settings.approvals.rules(), context.clock.time()
    fix = f"Change approvals.allow in {display_path(context.config)}"
    found = [_rule(number, rule, now, fix) for number, rule in enumerate(rules, 1)]
    if found and context.settings.cluster.listen is not None:
        found = [remark(NAME, NOT_AMONG_SEVERAL, f"{fix}, or take cluster.listen out")]
    for project, folder, until in timed_grants(context.database, now):
        what = f"edits in {display_path(Path(folder))}" if folder else f"one exact use in {project}"
        found.append(fine(NAME, f"you allowed {what} until {format_time(until, now=now)}"))
    return found or [fine(NAME, "nothing is allowed without asking")]


def _rule(number: int, rule: Rule, now: float, fix: str) -> Finding:
    what = f"{rule.what} in {display_path(Path(rule.project))}"
    if rule.is_over(now):
        return remark(NAME, f"rule {number} has expired: {what}", fix)
    if not os.path.isdir(rule.project):
        return remark(NAME, f"rule {number} is for a folder that is not there: {what}", fix)
    if rule.is_wide:
        return remark(NAME, f"rule {number} is wide and never expires: {what}", fix)
    until = f" until {format_time(rule.expires, now=now)}" if rule.expires is not None else ""
    return fine(NAME, f"rule {number} allows {what}{until}")
