"""How many browsers ring, and which cannot be reached. Nothing rings for it."""

from __future__ import annotations

from collections.abc import Sequence

from chatbridge.channels.checks import CheckContext, Finding, Mark, fine, from_error
from chatbridge.channels.web.push.subscriptions import LIST, read_stored
from chatbridge.channels.web.sessions import CHANNEL

NAME = "notifications"
TROUBLE = "Notifications do not reach a browser:"
"""How the inbox's remarks about them begin."""
NAMED = 3


async def check_push(context: CheckContext) -> Sequence[Finding]:
    """Nothing if no browser has asked for them."""
    note = (await context.notes(CHANNEL)).get(LIST)
    stored = read_stored(note) if note else None
    names = [each.name for each in stored.subscriptions] if stored else []
    remarks = (await context.hub()).remarks
    troubles = [it.removeprefix(TROUBLE) for it in remarks if it.startswith(TROUBLE)]
    if troubles or not names:
        return [from_error(NAME, trouble, mark=Mark.REMARK) for trouble in troubles]
    some = ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
    rings = "1 browser rings" if len(names) == 1 else f"{len(names)} browsers ring"
    return [fine(NAME, f"{rings}: {some}", browsers=len(names))]
