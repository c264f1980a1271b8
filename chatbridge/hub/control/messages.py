"""Messages to agents for a person's commands, and for the hooks of agents' clients.

Owns who may write from a terminal: an agent runs as the same user, so that only a process in the
foreground of a terminal counts as a person's, and none that an agent has started.
"""

from __future__ import annotations

import asyncio
import binascii
import io
import os
import secrets
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, BinaryIO

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.asks.serialize import iso
from chatbridge.core.errors import AttachmentError, MessageRefused
from chatbridge.core.messages.agents import HOOK, ConnectedAgent
from chatbridge.core.messages.message import (
    GO_ON,
    NewMessage,
    OwnerMessage,
    Way,
    format_for_model,
    format_state,
)
from chatbridge.core.model import Attachment, CallName
from chatbridge.core.ports import Clock
from chatbridge.core.text import encodable, one_line, shortened
from chatbridge.hub.control.asks import short_ids
from chatbridge.hub.control.server import Answering, Json, Request
from chatbridge.hub.links.peers import identity, identity_problem, owns
from chatbridge.hub.links.processes import AgentProcesses
from chatbridge.projects import belongs_to
from chatbridge.tools.attachments import ToolFiles
from chatbridge.tools.clients import agent_of

CONFIRM_WITHIN_SECONDS = 10.0
"""How long a hook may take to pass on what it got. Then it counts as gone."""
CHUNK_BYTES = 256 * 1024
LOOKED_AT = 100  # Messages that may have been delivered before they could be taken back
NOT_A_PERSON = (
    "Only a person at a terminal can write to an agent, and a program seems to do this. Run it in "
    "a terminal that no agent has opened, or write in the chat or in the inbox. To let programs "
    'write, too: terminal = "anybody" under [messages] in config.toml'
)
SWITCHED_OFF = (
    "Writing to agents from a terminal is switched off. Write in the chat or in the inbox, or "
    "change terminal under [messages] in config.toml"
)
NO_SUCH_MESSAGE = "No message with this id waits. Those that do: chatbridge agents"


@dataclass(frozen=True, slots=True)
class TerminalMessages:
    inbox: AskActions
    clock: Clock
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    processes: AgentProcesses
    files: ToolFiles | None = None
    writes: str = "person"  # Who may: `Messages.terminal` of the settings
    system: bool = False  # Whether several users are served
    reads_paths: bool = True  # Whether the hub can read the files of who runs a command

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
            "messages": [self._object(each) for each in waiting],
        }

    async def _tell(self, request: Request) -> Json:
        await self._check_person(request)
        name, text = request.given.get("agent"), request.given.get("text")
        if not isinstance(name, str) or not isinstance(text, str):
            raise MessageRefused("agent and text are needed")
        agent = self.inbox.messages.agents.named(name, among=self._seen_by(request.uid))
        new = NewMessage(project=agent.project)
        message = await self.inbox.messages.tell(
            agent,
            text,
            by=request.person,
            attachments=await self._received(request.given.get("attachments"), new),
            id=new.id,
        )
        return {"message": self._object(message), "agent": agent.name}

    async def _take_back(self, request: Request) -> Json:
        await self._check_person(request)
        given = request.given.get("id")
        wanted = given.strip().lower() if isinstance(given, str) else ""
        seen = [each for each in self.inbox.messages.waiting() if _sees(each, request.uid)]
        sent = await self.inbox.sent_messages(limit=LOOKED_AT)  # says that it is delivered by now
        seen += [each for each in sent if _sees(each, request.uid)]
        found = {each.id for each in seen if wanted and each.id.startswith(wanted)}
        if not found:
            raise MessageRefused(NO_SUCH_MESSAGE)
        if len(found) > 1:
            shown = shortened(one_line(wanted), 40)
            raise MessageRefused(f"Several messages begin with {shown}. Give more of its id")
        return {
            "message": self._object(
                await self.inbox.messages.take_back(found.pop(), by=request.person)
            )
        }

    def _seen_by(self, uid: int) -> list[ConnectedAgent]:
        return [each for each in self.inbox.messages.agents.listed() if _sees(each, uid)]

    def _object(self, message: OwnerMessage) -> Json:
        short = short_ids([message, *self.inbox.messages.waiting()])[message.id]
        return message_object(message, now=self.clock.time()) | {"short": short}

    async def _check_person(self, request: Request) -> None:
        """:raises MessageRefused: an agent may have started it."""
        if self.writes == "nobody":
            raise MessageRefused(SWITCHED_OFF)
        if self.writes == "anybody":
            return
        await self.processes.look()
        if not self.processes.is_person(request.pid):
            raise MessageRefused(NOT_A_PERSON)

    async def _received(self, given: object, to: NewMessage) -> tuple[Attachment, ...]:
        """Store the files of a message; what belongs to none in the end is swept.
        :raises MessageRefused:"""
        store = self.inbox.attachments
        if not given:
            return ()
        if store is None or self.files is None or not isinstance(given, list):
            raise MessageRefused("No files can be sent here.")
        if len(given) > store.most:
            raise MessageRefused(f"At most {store.most} files fit into one message.")
        found: list[Attachment] = []
        for each in given:
            left = store.largest - sum(file.size for file in found)
            try:
                content, name = await asyncio.to_thread(self._opened, each)
                with content:
                    file = await store.receive(_pieces(content, left), name=name, to=to)
            except AttachmentError as error:
                raise MessageRefused(f"{error}\nattachments[{len(found)}]") from None
            found.append(file)
        return tuple(found)

    def _opened(self, given: object) -> tuple[BinaryIO, str]:
        """What a command names by its path, or brings along where the hub cannot read it.
        :raises AttachmentError:"""
        assert self.files is not None
        match given:
            case {"path": str(path)} if self.reads_paths:
                opened = self.files.open(path, folder="/", root="/", own=self.files.own)
                return opened, os.path.basename(path)
            case {"data": str(data), "name": str(name)}:
                try:
                    return io.BytesIO(b64decode(data, validate=True)), name
                except (binascii.Error, ValueError):
                    raise AttachmentError("its data is not base64") from None
        raise AttachmentError("it needs a path" if self.reads_paths else "it needs data and a name")

    # ── for hooks ─────────────────────────────────────────────────────────────────────────────────

    async def _collect(self, request: Request) -> Json:
        """What waits for the agent whose client runs this hook. The hook has it once it says
        `collected`."""
        given = request.given
        if (problem := identity_problem(given)) is not None:
            raise MessageRefused(f"this request {problem}")
        link, project = identity(given, request.uid if self.system else None, hub=request.hub)
        await self.processes.look()
        if request.pid:
            await self.processes.note(request.pid)
        messages, client = self.inbox.messages, given.get("client")
        named = agent_of(encodable(client) if isinstance(client, str) else None)
        own = messages.agents.of_hook(request.pid, link, project, named)
        call = CallName(link=f"{HOOK}{link}", request=secrets.token_hex(16))
        way = Way.STOP_HOOK if given.get("stops") is True else Way.TOOL_HOOK
        taken = await messages.hand_over(call, link=own, project=project, way=way)
        if taken:
            self.spawn(self._release(call))
        now = self.clock.time()
        texts = [format_for_model(each, now=now) for each in taken]
        if texts and way is Way.STOP_HOOK:
            texts[0] = f"{GO_ON} {texts[0]}"
        return {"texts": texts, "call": [call.link, call.request]}

    async def _collected(self, request: Request) -> Json:
        whose = request.uid if self.system else request.hub
        own = HOOK if whose is None else f"{HOOK}{whose}:"
        match request.given.get("call"):
            case [str(link), str(call)] if link.startswith(own):
                await self.inbox.messages.delivered(CallName(link=link, request=call))
                return {}
        raise MessageRefused("call: what a request to collect has returned is needed")

    async def _release(self, call: CallName) -> None:
        await self.clock.sleep(CONFIRM_WITHIN_SECONDS)
        await self.inbox.messages.unconfirmed(call)


async def _pieces(content: BinaryIO, most: int) -> AsyncIterator[bytes]:
    """:raises AttachmentError: there are more bytes than that."""
    while piece := await asyncio.to_thread(content.read, CHUNK_BYTES):
        most -= len(piece)
        if most < 0:
            raise AttachmentError("the files are too large together")
        yield piece


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
