"""MCP clients' own configuration: what chatbridge writes into it, and how it gets out again.

For others (all of it light to import; settings are loaded only if no `wait` is given):

- `CLIENTS`: the names, in the order in which they are offered.
- `found_clients(environ=None) -> list[Found]`: the clients on this machine (their folder or file
  exists). `Found`: `client` (`"codex"`), `shown` (`"Codex"`), `file` (user scope), `connected`,
  `timeout` (seconds that one call may take as the file says; None: not said there), `default`
  (seconds without that; None: no limit, or none is known), `problem` (a sentence if the file
  cannot be read or parsed, else None).
- `plan(client, *, project=None, wait=None, start=None, environ=None) -> Plan`: what connecting
  would write. `project`: a folder, for project scope. `wait`: seconds that a call should be able
  to take (None: the owner's `max_timeout`, at least an hour). `Plan.changes` is empty if all is
  there already; `Change.summary()` is one line for people, `Change.diff()` a unified diff.
  `Plan.restart`: what to restart, one sentence.
- `plan_removal(client, *, project=None, environ=None) -> Plan`: the same for disconnecting.
- `write(plan)`: writes each file in one step, with a copy of the old one beside it.

All but `found_clients` raise `ChatbridgeError` with a sentence for people; nothing is written then.
"""

from __future__ import annotations

from chatbridge.cli.connect.catalogue import CLIENTS
from chatbridge.cli.connect.found import Found, found_clients
from chatbridge.cli.connect.plans import Change, Plan, plan, plan_removal, write

__all__ = ["CLIENTS", "Change", "Found", "Plan", "found_clients", "plan", "plan_removal", "write"]
