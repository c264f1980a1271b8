"""What agents are told in the owner's name: when and how to ask, and what no answer means."""

from __future__ import annotations

_TEXT = """\
## Ask with chatbridge

There may be nobody at this computer. Call the tool `{ask}` of the MCP
server `chatbridge` when a decision is not yours to make: several ways are
reasonable and the choice matters, something cannot be undone, or you need
what only the owner has. It asks on the owner's phone. Do not end your turn
with a question in the text: nobody reads it there.

- Ask all you need in one call. Give options, and say which one you would take.
- If the result is a ticket, call `wait_for_answer` until there is an outcome.
- If nobody answers, nobody has consented: take the safe way, leave out what
  cannot be undone, and say at the end what is still open.
"""


def instructions(ask_tool: str) -> str:
    return _TEXT.format(ask=ask_tool)
