"""`what_next`: an agent has finished, and its owner is told, or asked for the next task.

For the hook alone that Claude Code runs when it stops; no list of tools has it. The agent goes on
only with a person's word: the answer, or a message that was written to it meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from chatbridge.core.asks import transitions
from chatbridge.core.delivery.notices import Notices
from chatbridge.core.forms import filling
from chatbridge.core.messages.message import GO_ON, OwnerMessage, Way, format_for_model
from chatbridge.core.messages.messages import OwnerMessages
from chatbridge.core.model import WHAT_NEXT, Ask, AskRequest, Person, Project, Question
from chatbridge.core.text import encodable
from chatbridge.tools.call import Peer, ToolCall, ToolHandler, ToolResult, json_result
from chatbridge.tools.clients import agent_of, soonest
from chatbridge.tools.definition import object_schema
from chatbridge.tools.waiting import Waiting

MAX_WORDS = 600  # Characters of the agent's last words
CUT_AFTER = 500  # Where they may be cut, at a word
MAX_ROUNDS = 3  # Without a person's word, while hooks make the agent go on
MAX_SESSIONS = 1_000  # Whose rounds are counted
TITLE, FINISHED = "Finished", "Claude Code has finished its turn."
NEXT_TASK = "The next task"
NOBODY = Person(name="", channel="")


@dataclass(frozen=True, slots=True)
class WhatNext(ToolHandler):
    name = WHAT_NEXT
    title = "What next?"
    for_hook = True
    reaches_model = False
    description = "For the hook that Claude Code runs when it stops."
    schema = object_schema()

    waiting: Waiting
    messages: OwnerMessages
    notices: Notices | None
    """None: the owner does not want any."""
    asks: bool
    wait: float
    """For how many seconds it asks."""
    _rounds: dict[str, int] = field(default_factory=dict)
    """By session that hooks make go on: how often without a person's word."""

    def definition(self, project: Project, peer: Peer) -> None:
        """Not listed."""

    async def run(self, arguments: dict[str, Any], call: ToolCall) -> ToolResult:
        session, words = call.name.link, arguments.get("lastWords")
        again = arguments.get("again") is True
        if not again:
            self._rounds.pop(session, None)
        # If the owner is only told, and others made it go on, that was said before.
        rounds = self._rounds.get(session, 0 if self.asks or not again else MAX_ROUNDS + 1)
        try:
            said = await self._said(shorten(words if isinstance(words, str) else ""), call, rounds)
        except Exception:
            await self.messages.cancelled(call.name)  # an error brings no message along
            raise
        if said or again:
            self._note(session, 0 if said else rounds + 1)
        task = "\n\n".join(said)
        return json_result({"next": f"{GO_ON} {task}" if task else None})

    def _note(self, session: str, rounds: int) -> None:
        self._rounds.pop(session, None)
        while len(self._rounds) >= MAX_SESSIONS:
            del self._rounds[next(iter(self._rounds))]
        self._rounds[session] = rounds

    async def _said(self, words: str, call: ToolCall, rounds: int) -> list[str]:
        """What people say to the agent, if they do."""
        agents, project = self.messages.agents, call.project
        own = agents.of_hook(call.pid, call.name.link, project, agent_of("claude-code"))
        hand_over = partial(
            self.messages.hand_over, call.name, link=own, project=project, way=Way.STOP_HOOK
        )
        broker = self.waiting.broker
        taken, asked = await hand_over(), await broker.waiting_calls.asked_before(call.name)
        if not taken and (asked is not None or (self.asks and rounds < MAX_ROUNDS)):
            wait = await self.waiting.ask(self._request(words, call), call)
            message = partial(self.messages.arrived, own, project)
            asked = await wait.ended(unless=message) or wait.ask
            taken = await hand_over()
        elif not taken and rounds <= MAX_ROUNDS:
            await self._tell(call)
        if asked is not None and asked.open:
            asked = await self._end(asked.id, message_came=bool(taken), now=call.clock.time())
        found = [_answer(asked, own)] if asked is not None else []
        now = call.clock.time()
        return [format_for_model(each, now=now) for each in (*found, *taken) if each is not None]

    def _request(self, words: str, call: ToolCall) -> AskRequest:
        question = Question(id="next", text=words, required=False, placeholder=NEXT_TASK)
        return AskRequest(
            project=call.project,
            agent=call.agent,
            tool=WHAT_NEXT,
            dialect=WHAT_NEXT,
            title=TITLE,
            questions=(question,),
            timeout=soonest(self.wait, call.patience),
        )

    async def _end(self, ask_id: str, *, message_came: bool, now: float) -> Ask:
        """End it, unless a person does just now: an answer that could still be undone is sent."""

        def withdraw(ask: Ask) -> Ask:
            ends = ask.open and not transitions.is_sending(ask)
            return transitions.withdraw(ask, now=now) if ends else ask

        broker = self.waiting.broker
        ended = await broker.change(ask_id, withdraw) if message_came else None
        return ended if ended and not ended.open else await broker.time_out(ask_id)

    async def _tell(self, call: ToolCall) -> None:
        if self.notices is not None:
            await self.notices.send(
                call.name,
                project=call.project,
                agent=call.agent,
                message=FINISHED,
                title=TITLE,
                shared_link=call.shared_link,
            )


def shorten(words: str) -> str:
    """The last words of an agent, as far as a card shows them."""
    said = encodable(words).strip() or FINISHED
    if len(said) <= MAX_WORDS:
        return said
    head = said[: MAX_WORDS - 1]
    end = max(head.rfind(space) for space in " \n\t")
    return head[: end if end > CUT_AFTER else None].rstrip() + "…"


def _answer(ask: Ask, link: str) -> OwnerMessage | None:
    """What a person has answered, as a message of theirs; None: there is nothing to do."""
    outcome = ask.answer
    if outcome is None or outcome.answers[0].skipped:
        return None
    (answer,) = outcome.answers
    text = "".join(answer.values)
    return OwnerMessage(
        id=ask.id,
        project=ask.project,
        agent=ask.agent,
        link=link,
        text="" if text == filling.file_names(answer.attachments) else text,
        attachments=answer.attachments,
        by=outcome.by or NOBODY,
        at=outcome.at,
        expires_at=outcome.at,
    )
