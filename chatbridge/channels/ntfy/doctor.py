"""ntfy: whether the server takes the token, and who can read along. No phone rings for it."""

from __future__ import annotations

from collections.abc import Sequence

from chatbridge.channels.checks import CheckContext, Finding, fine, from_error, remark
from chatbridge.channels.ntfy.api import Api
from chatbridge.channels.ntfy.settings import Ntfy
from chatbridge.core.errors import ChatbridgeError

NAME = "ntfy"
ANSWER_SECONDS = 6.0
FIX = "use a server with access control, and set ntfy.token"


async def check(table: Ntfy, context: CheckContext) -> Sequence[Finding]:
    async with Api(table, patience=ANSWER_SECONDS) as api:
        try:
            await api.check()
            if table.answers:
                await api.check(table.answers_to)
        except ChatbridgeError as error:
            return [from_error(NAME, str(error))]
    if told := (await context.hub()).trouble_of(NAME):
        return [from_error(NAME, told)]
    if table.token is None:
        can = "can read and answer questions" if table.answers else "can read the questions"
        return [remark(NAME, f"works; who knows the topic {can}", FIX)]
    mode = "takes answers, never approvals" if table.answers else "only rings"
    return [fine(NAME, f"{table.server}, {mode}")]
