"""Decides whether a command needs an approval, asks for it, and reads the verdict.

Only the word of a person, given in time, lets a command pass.
"""

from __future__ import annotations

import logging
import os
import shlex
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import partial

from chatbridge.commands.definitions.definition import Approve
from chatbridge.core.asks import transitions
from chatbridge.core.asks.broker import Broker
from chatbridge.core.bounds import MAX_CHARACTERS, off_loop
from chatbridge.core.cards.build import COMMANDS
from chatbridge.core.errors import (
    AskEnded,
    CommandUnusable,
    ToolInputError,
    TooManyOpenAsks,
    UnknownAsk,
)
from chatbridge.core.model import (
    ALLOW,
    ALLOW_SESSION,
    VERDICTS,
    Ask,
    AskRequest,
    Question,
    QuestionType,
    Status,
    Subject,
)
from chatbridge.core.operation import Operation, OperationStore, Plan
from chatbridge.core.ports import Clock
from chatbridge.core.text import one_line, shortened
from chatbridge.projects import settings_of
from chatbridge.tools.approvals.subject import COMMAND, as_written, whole_first

log = logging.getLogger(__name__)

DENIED = "Denied"
CANCELLED = "The user will not answer this"
TIMED_OUT = "Nobody answered in time"
WITHDRAWN = "Withdrawn before anybody answered"
UNKNOWN = "Its approval is no longer known"
TOO_OLD = "It was allowed too long ago to count"
TOO_MANY = (
    "too many questions of this agent wait for the user already, so this one was not asked, and "
    "nothing was started. Call it again when some of them are answered"
)
TITLE = 80
_ALLOWING = {VERDICTS[verdict].label for verdict in (ALLOW, ALLOW_SESSION)}


@dataclass(frozen=True, slots=True)
class Gate:
    broker: Broker
    _: KW_ONLY
    store: OperationStore
    clock: Clock
    timeout: float | None
    """Of approvals; None: as long as any ask's."""

    async def needed(self, operation: Operation, approve: Approve) -> bool:
        """Whether a person has to be asked first. :raises ToolInputError: nobody could read it all.
        :raises StoreError:"""
        if approve == "never":
            return False
        request = await self._drawn_request(operation)
        size = sum(len(question.subject.code) for question in request.questions if question.subject)
        if size > MAX_CHARACTERS:
            raise ToolInputError(
                "The command is too long to be approved",
                path="command",
                given=f"{size:,} characters",
                accepted=f"at most {MAX_CHARACTERS:,}; put what is long into a file",
            )
        standing = await self.broker.find_grant(request, operation.call)
        if standing is not None and not operation.plan.destructive:
            log.info("operation %s: allowed with ask %s", operation.id, standing)
            return False
        if approve != "once-per-session" or operation.grant is None:
            return True
        return not await self.store.granted(link=operation.call.link, grant=operation.grant)

    async def ask(self, operation: Operation) -> str:
        """Ask its owner; the approval's id. The same call asks once, however often it comes here
        before its response has arrived. The approval lives as long as the link of its agent, which
        does not have to wait for it. :raises CommandUnusable: too many wait already. :raises
        StoreError:"""
        try:
            request = await self._drawn_request(operation)
            ask, _ = await self.broker.ask(request, operation.call)
        except TooManyOpenAsks as error:  # its own words are for those who can wait for an answer
            raise CommandUnusable(TOO_MANY) from error
        await self.broker.waiting_calls.ticket(operation.call)
        log.info("ask %s operation=%s", ask.id, operation.id)
        return ask.id

    async def refusal(self, ask_id: str) -> str | None:
        """Wait for the verdict. Why it is not allowed, in words for the agent and its owner; None:
        it is."""
        try:
            ask = await self.broker.ended(ask_id)
        except UnknownAsk:
            return UNKNOWN
        match ask.status:
            case Status.ANSWERED if ask.outcome and ask.outcome.answers:
                (answer,) = ask.outcome.answers
                if answer.values and answer.values[0] in _ALLOWING:
                    # No hub was there to hear it: what it was meant for may be long over.
                    late = self.clock.time() - ask.outcome.at > transitions.APPROVAL_FETCH_SECONDS
                    return TOO_OLD if late else None
                return f"{DENIED}: {answer.custom_text}" if answer.custom_text else DENIED
            case Status.TIMED_OUT:
                return TIMED_OUT
            case Status.CANCELLED:
                reason = ask.outcome.reason if ask.outcome else None
                return f"{CANCELLED}: {reason}" if reason else CANCELLED
            case _:
                return WITHDRAWN

    async def withdraw(self, ask_id: str) -> None:
        """Withdraw an approval that is still open. :raises StoreError:"""

        def change(ask: Ask) -> Ask:
            return transitions.withdraw(ask, now=self.clock.time()) if ask.open else ask

        with suppress(UnknownAsk, AskEnded):
            await self.broker.change(ask_id, change)

    async def _drawn_request(self, operation: Operation) -> AskRequest:
        weight = sum(map(len, operation.plan.argv))
        return await off_loop(partial(self._request, operation), weight=weight)

    def _request(self, operation: Operation) -> AskRequest:
        plan = operation.plan
        beyond = None
        if operation.grant is not None:
            title = shortened(one_line(operation.title), TITLE)
            beyond = (
                f"Allowing it allows every {title} of this agent, with any arguments, "
                "until its session ends."
            )
        subject = Subject(
            code=_as_run(plan),
            language="bash",
            folder=as_written(plan.folder),
            destructive=plan.destructive,
            beyond=beyond,
        )
        text, kind = COMMAND, QuestionType.APPROVAL
        question = Question(id="approval", text=text, type=kind, subject=whole_first(subject))
        return AskRequest(
            project=operation.project,
            agent=operation.agent,
            tool=operation.tool,
            dialect=COMMANDS,
            questions=(question,),
            timeout=self.timeout,
            quiet=settings_of(operation.project.key).quiet.rule,
        )


def _as_run(plan: Plan) -> str:
    """The command with the file that is run in front, whatever its name leads to. Where the file
    is called otherwise, the name is told as well: programs such as rustup act by it."""
    program, *arguments = plan.argv
    name, file = os.path.basename(program), os.path.basename(plan.executable)
    named = [] if file.startswith(name) else ["exec", "-a", program]
    return shlex.join([*named, plan.executable, *arguments])
