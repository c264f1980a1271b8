"""ntfy: whether the server takes the token, and who can read along. No phone rings for it."""

from __future__ import annotations

from collections.abc import Sequence

from chatbridge.channels.checks import CheckContext, Finding, fine, from_error, remark
from chatbridge.channels.ntfy.api import Api
from chatbridge.channels.ntfy.settings import Ntfy

FIX = "use a server with access control, and set ntfy.token"


async def check(table: Ntfy, context: CheckContext) -> Sequence[Finding]:
    async with Api(table, patience=6.0) as api:
        await api.check(table.answers_to if table.answers else "")
    if told := (await context.hub()).trouble_of("ntfy"):
        return [from_error("ntfy", told)]
    if table.token is None:
        can = "can read and answer questions" if table.answers else "can read the questions"
        return [remark("ntfy", f"works; who knows the topic {can}", FIX)]
    mode = "takes answers, never approvals" if table.answers else "only rings"
    return [fine("ntfy", f"{table.server}, {mode}")]
