"""The MCP clients on this machine: whether they have chatbridge, and how long they wait. And the
commands that agents may run."""

from __future__ import annotations

import asyncio
from pathlib import Path

from chatbridge.channels.checks import Finding, fine, from_error, problem, remark
from chatbridge.cli.agents.definition_files import library_of, program_findings, summary_of
from chatbridge.cli.connect.catalogue import PLUGIN
from chatbridge.cli.connect.installed import InstalledClient, connected_in, installed_clients
from chatbridge.cli.database import DatabaseServer
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.ui.wording import HOUR, counted, display_path, duration, first_of
from chatbridge.core.errors import ChatbridgeError
from chatbridge.hub.http.tokens import Token, listed

WAIT_WITH_PROGRESS = ("opencode",)
"""Their limit is for silence, and a waiting call reports progress."""
NAME = "commands"
MAX_LISTED = 5


def connected_clients() -> list[InstalledClient]:
    """Those that have chatbridge, everywhere or in this folder, and those that cannot be read."""
    connected = [client for client in installed_clients() if client.connected or client.problem]
    try:
        connected += connected_in(Path.cwd())
    except OSError:
        pass  # the folder has gone, or is closed to us
    return connected


def clients(context: DoctorContext) -> list[Finding]:
    connected = connected_clients()
    if connected:
        return [limit_of(client, context.settings.max_timeout) for client in connected]
    if elsewhere := agents_elsewhere(context):
        return elsewhere
    if found := installed_clients():
        what = f"none is set up; found here: {', '.join(it.client.title for it in found)}"
        return [remark("agents", what, f"chatbridge connect {found[0].client.name}")]
    elsewhere_too = "for one on another machine: chatbridge token add NAME"
    return [remark("agents", "none is set up", "chatbridge connect claude-code", elsewhere_too)]


def agents_elsewhere(context: DoctorContext) -> list[Finding]:
    """Those that have a token for HTTP, as on a server and in a container, where `connect` has
    nothing to write."""
    try:
        tokens = _tokens(context)
    except ChatbridgeError as error:
        return [from_error("agents", f"their tokens cannot be read: {error}")]
    if used := [token.name for token, at in tokens if at is not None]:
        return [fine("agents", f"over HTTP: {first_of(used)}")]
    if tokens:
        what = f"no token has been used yet: {first_of([token.name for token, _ in tokens])}"
        return [remark("agents", what, "give it to the agent, with the hub's address")]
    return []


def _tokens(context: DoctorContext) -> list[tuple[Token, float | None]]:
    """Each, and when it was last used. They are where the hub that leads looks for them."""
    database = context.database
    if not isinstance(database, DatabaseServer):
        return listed(str(context.state))
    address = database.address
    from chatbridge.hub.http import shared_tokens

    return asyncio.run(shared_tokens.listed(address))


def limit_of(found: InstalledClient, longest: float) -> Finding:
    """Whether it lets a question wait that long."""
    client, limit = found.client, found.gives_up
    name = client.name
    details = {"file": str(found.file), "givesUpAfter": limit, "questionsMayWait": longest}
    again = f"chatbridge connect {name}{' --project' if found.project else ''}"
    if found.problem is not None:
        return remark(name, found.problem, **details)
    if found.gone is not None:
        what = f"starts {display_path(found.gone)}, which is not there any more"
        return problem(name, what, again, **details)
    if found.twice:
        what = "connected twice, because it has our plug-in, too: its agents see every tool twice"
        return remark(name, what, f"claude plugin uninstall {PLUGIN}", **details)
    possible = None  # what connecting would set, in seconds
    if client.timeout is not None:
        possible = client.numbers(max(longest, HOUR))[client.timeout] / client.unit
    if limit is None or limit >= min(longest, possible or limit) or name in WAIT_WITH_PROGRESS:
        how = "by its plug-in" if found.plugin else f"in {display_path(found.file)}"
        return fine(name, f"connected {how}", **details)
    what = f"gives up after {limit:.0f} s; your questions may wait {duration(longest)}"
    return remark(name, what, f"{again}    (sets it to {possible:.0f})", **details)


def commands(context: DoctorContext) -> list[Finding]:
    settings = context.settings
    if not settings.commands.enabled:
        return [fine(NAME, "off")]
    library = library_of(settings)
    library.load()
    found = [
        problem(NAME, f"{display_path(each.file)}: {summary_of(each)}", each.mend, **each.as_json())
        for each in library.problems[:MAX_LISTED]
    ]
    if more := len(library.problems) - len(found):
        found.append(problem(NAME, counted(more, "more problem"), "chatbridge tools check"))
    found += program_findings(NAME, library.commands.values(), settings)
    if found:
        return found
    dirs = settings.commands.dirs
    folders = ", ".join(map(display_path, dirs)) or "no folder (commands.dirs is empty)"
    details = {
        "folders": [str(folder) for folder in dirs],
        "files": [str(file.file) for file in library.files],
        "tools": list(library.commands),
    }
    what = f"none defined in {folders}"
    if library.commands:
        files = counted(sum(bool(file.commands) for file in library.files), "file")
        what = f"{counted(len(library.commands), 'tool')} in {files}: {folders}"
    return [fine(NAME, what, **details)]
