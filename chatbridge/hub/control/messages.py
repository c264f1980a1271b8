"""Messages to agents for a person's commands, and for the hooks of agents' clients.

Owns who may write from a terminal: an agent runs as the same user, so that only a process in the
foreground of a terminal counts as a person's, and none that an agent has started.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.serialize import iso
from chatbridge.core.errors import MessageRefused
from chatbridge.core.messages.agents import ConnectedAgent
from chatbridge.core.messages.message import (
    GO_ON,
    OwnerMessage,
    Way,
    format_for_model,
    format_state,
)
from chatbridge.core.model import CallName, Person
from chatbridge.core.ports import Clock
from chatbridge.hub.control.server import Answering, Json, Request
from chatbridge.hub.links.peers import identity, owns
from chatbridge.hub.links.processes import ancestors, has_terminal
from chatbridge.projects import belongs_to, user_name
from chatbridge.tools.clients import agent_of

CHANNEL = "terminal"
CONFIRM_WITHIN_SECONDS = 10.0
"""How long a hook may take to pass on what it got. Then it counts as gone."""
NOT_A_PERSON = (
    "Only a person at a terminal can write to an agent, and this does not look like one. To let "
    'programs do it, set terminal = "anybody" under [messages] in config.toml'
)
SWITCHED_OFF = (
    'Writing to agents from a terminal is switched off (terminal = "nobody" under [messages])'
)


@dataclass(frozen=True, slots=True)
class TerminalMessages:
    inbox: AskActions
    clock: Clock
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    writes: str = "person"  # Who may: `Messages.terminal` of the settings
    system: bool = False  # Whether several users are served

    @property
    def answers(self) -> dict[str, Answering]:
        return {
            "agents": self._agents,
            "tell": self._tell,
            "take-back": self._take_back,
            "collect": self._collect,
            "collected": self._collected,
        }

    # ── for people ────────────────────────────────────────────────────────────────────────────────

    async def _agents(self, request: Request) -> Json:
        """The agents that are connected, and the messages that wait."""
        asks = await self.inbox.open_asks_by_link()
        waiting = [each for each in self.inbox.messages.waiting() if _sees(each, request.uid)]
        return {
            "agents": [
                agent_object(each, open_asks=asks.get(each.link, 0), waiting=waiting)
                for each in self._seen_by(request.uid)
            ],
            "messages": [message_object(each, now=self.clock.time()) for each in waiting],
        }

    async def _tell(self, request: Request) -> Json:
        self._check_person(request)
        name, text = request.given.get("agent"), request.given.get("text")
        if not isinstance(name, str) or not isinstance(text, str):
            raise MessageRefused("agent and text are needed")
        agent = self.inbox.messages.agents.named(name, among=self._seen_by(request.uid))
        by = Person(name=user_name(request.uid), channel=CHANNEL)
        message = await self.inbox.messages.tell(agent, text, by=by)
        return {"message": message_object(message, now=self.clock.time())}

    async def _take_back(self, request: Request) -> Json:
        self._check_person(request)
        wanted = str(request.given.get("id")).strip().lower()
        waiting = [each for each in self.inbox.messages.waiting() if _sees(each, request.uid)]
        fits = [each for each in waiting if wanted and each.id.startswith(wanted)]
        if len(fits) != 1:
            raise MessageRefused("No such message waits. See: chatbridge agents")
        message = await self.inbox.messages.take_back(fits[0].id)
        return {"message": message_object(message, now=self.clock.time())}

    def _seen_by(self, uid: int) -> list[ConnectedAgent]:
        return [each for each in self.inbox.messages.agents.listed() if _sees(each, uid)]

    def _check_person(self, request: Request) -> None:
        """:raises MessageRefused: an agent may have started it."""
        if self.writes == "nobody":
            raise MessageRefused(SWITCHED_OFF)
        if self.writes == "anybody":
            return
        above = ancestors(request.pid)
        links = [each.pid for each in self.inbox.messages.agents.listed() if each.pid]
        agents = {pid for link in links for pid in ancestors(link)[:1]}
        if not has_terminal(request.pid) or agents & {*above}:
            raise MessageRefused(NOT_A_PERSON)

    # ── for hooks ─────────────────────────────────────────────────────────────────────────────────

    async def _collect(self, request: Request) -> Json:
        """What waits for the agent whose client runs this hook. The hook has it once it says
        `collected`."""
        given = request.given
        link, project = identity(given, request.uid if self.system else None)
        messages, client = self.inbox.messages, given.get("client")
        named = agent_of(client if isinstance(client, str) else None)
        agent = messages.agents.of_hook(request.pid, link, project, named)
        call = CallName(link=f"hook-{link}", request=secrets.token_hex(8))
        way = Way.STOP_HOOK if given.get("stops") is True else Way.TOOL_HOOK
        taken = await messages.hand_over(call, link=agent.link, project=project, way=way)
        if taken:
            self.spawn(self._release(call))
        now = self.clock.time()
        texts = [format_for_model(each, now=now) for each in taken]
        if texts and way is Way.STOP_HOOK:
            texts[0] = f"{GO_ON} {texts[0]}"
        return {"texts": texts, "call": [call.link, call.request]}

    async def _collected(self, request: Request) -> Json:
        match request.given.get("call"):
            case [str(link), str(call)]:
                await self.inbox.messages.delivered(CallName(link=link, request=call))
        return {}

    async def _release(self, call: CallName) -> None:
        await self.clock.sleep(CONFIRM_WITHIN_SECONDS)
        await self.inbox.messages.unconfirmed(call)


def _sees(what: ConnectedAgent | OwnerMessage, uid: int) -> bool:
    return owns(uid) or belongs_to(what.project, uid)


def agent_object(agent: ConnectedAgent, *, open_asks: int, waiting: list[OwnerMessage]) -> Json:
    return {
        "name": agent.name,
        "project": agent.project.name,
        "label": agent.project.label,
        "client": agent.agent.name,
        "since": iso(agent.since),
        "seen": iso(agent.seen_at),
        "openQuestions": open_asks,
        "waitingMessages": sum(each.link == agent.link for each in waiting),
    }


def message_object(message: OwnerMessage, *, now: float) -> Json:
    return {
        "id": message.id,
        "project": message.project.name,
        "text": message.text,
        "at": iso(message.at),
        "expires": iso(message.expires_at),
        "state": message.state.value,
        "said": format_state(message, now=now),
    }
