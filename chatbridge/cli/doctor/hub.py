"""The hub that runs, its links, and what it says about settings that it does not use."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from chatbridge import __version__, runtime_paths
from chatbridge.channels.checks import Finding, HubState, Mark, fine, from_error, problem, remark
from chatbridge.channels.registry import channel_specs
from chatbridge.cli.doctor.context import DoctorContext, Json
from chatbridge.cli.doctor.database import GONE
from chatbridge.cli.hub.hub_client import why_not_running
from chatbridge.cli.hub.status import RESTART, among
from chatbridge.cli.ui.wording import display_path, first_of, lasted
from chatbridge.core.text import one_line, shortened
from chatbridge.hub.process.confinement import ANOTHER, OUTSIDE, SANDBOXED
from chatbridge.settings.secrets import folder_of
from chatbridge.system.processes import same_network

MAX_PROJECT = 18


async def hub(context: DoctorContext) -> Sequence[Finding]:
    found = await context.hub()
    if found.status is not None:
        changed = await asyncio.to_thread(_changed_at, context)
        return list(_running(context, found, found.status, changed=changed))
    if found.trouble is not None:
        holder = f"pid {found.pid}" if found.pid else "a process"
        if found.version not in (None, __version__):
            holder += f" (version {found.version}, and {__version__} is installed)"
        what = f"{holder} does not work properly: {found.trouble}"
        log = display_path(runtime_paths.log_path(str(context.state)))
        return [problem("hub", what, f"chatbridge stop    (its log: {log})", pid=found.pid)]
    if found.failure is not None:
        return [from_error("hub", f"the last one could not start: {found.failure}")]
    why = await asyncio.to_thread(why_not_running)
    return [from_error("hub", why, mark=Mark.REMARK)]


def channel_of(found: HubState, name: str) -> list[Finding]:
    """What the hub says of a channel whose settings it has and this terminal has not, such as
    systemd's credentials."""
    if not found.has(name):
        return []
    if trouble := found.trouble_of(name):
        return [from_error(name, trouble)]
    return [fine(name, "works, the hub says; its settings cannot be seen from here")]


def order_of(version: str) -> list[tuple[int, int, str]]:
    """So that versions can be compared: numbers as numbers, and 1.0.0rc1 before 1.0.0."""
    parts = re.findall(r"\d+|[a-z]+", version.lower())
    found = [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]
    return [*found, (1, -1, "")]  # the end comes after a word, and before another number


def _is_older(version: str) -> bool:
    return order_of(version) < order_of(__version__)


def _running(
    context: DoctorContext, found: HubState, status: Json, *, changed: float
) -> Iterator[Finding]:
    version, since, links = str(status["version"]), float(status["since"]), status["links"]
    restart = f"{RESTART}    (waiting agents do not notice)"
    details: dict[str, Any] = {
        "version": version,
        "installed": __version__,
        "pid": status["pid"],
        "since": since,
        "startedBy": status["startedBy"],
        "state": status["state"],
        "links": len(links),
    }
    if version != __version__:
        what = f"runs version {version}, and {__version__} is installed"
        if _is_older(version):
            what = f"runs version {version}, older than what is installed ({__version__})"
        yield remark("hub", what, restart, **details)
    elif changed > since and context.unusable is None:
        what = f"started before {display_path(context.config)} was changed"
        yield remark("hub", what, restart, **details)
    else:
        running = lasted(max(context.clock.time() - since, 0.0))
        where = str(status["state"])
        of = "" if where in ("", str(context.state)) else f", the system's ({where})"
        what = f"running for {running}, version {version}, links {len(links)}{of}"
        yield fine("hub", what, **details)
    if found.follows:
        yield among(status["cluster"])
    for said in found.faults:
        yield from_error("database" if said.startswith(GONE) else "hub", said)
    yield from _elsewhere(status)
    yield from _links(links)
    own = {*context.settings.remarks()}
    of_channels = tuple(start for spec in channel_specs() for start in spec.own_remarks)
    for said in status["remarks"]:
        if said.startswith(SANDBOXED):
            yield from_error("hub", said)
        elif said.startswith(GONE) and context.settings.server() is not None:
            continue  # the check of the database says so
        elif said not in own and not said.startswith(of_channels):
            yield from_error("settings", said, mark=Mark.REMARK)


def _elsewhere(status: Json) -> Iterator[Finding]:
    """A hub that has another network than this terminal. It may not be able to tell that itself."""
    said = any(remark.startswith(SANDBOXED) for remark in status["remarks"])
    pages = {spec.name for spec in channel_specs() if not spec.is_chat}
    works = all(c["trouble"] is None for c in status["channels"] if c["name"] not in pages)
    if not said and not works and same_network(status["pid"]) is False:
        yield problem("hub", f"{SANDBOXED}: {ANOTHER}", OUTSIDE, pid=status["pid"])


def _links(links: Sequence[Json]) -> Iterator[Finding]:
    """Those of another version than the installed one; each version once."""
    by_version: dict[str, list[str]] = {}
    for link in links:
        version = str(link["version"])
        if version != __version__:
            project = shortened(one_line(str(link["project"])), MAX_PROJECT)
            by_version.setdefault(version, []).append(project)
    for version, projects in sorted(by_version.items()):
        kind = "older" if _is_older(version) else "newer"
        names, count = sorted(set(projects)), len(projects)
        which, where = shortened(one_line(version), MAX_PROJECT), first_of(names)
        said = f"{count} {kind} links ({which}) in {where}: restart these agents"
        if count == 1:
            said = f"one {kind} link ({which}) in {where}: restart that agent"
        yield remark("link", said, version=version, projects=names)


def _changed_at(context: DoctorContext) -> float:
    """When the settings in files were last changed."""

    def written_at(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except OSError:
            return 0.0

    return max(map(written_at, [context.config, *folder_of(context.config).glob("*")]))
