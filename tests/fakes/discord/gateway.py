"""The gateway: sessions with numbered events, which can be resumed, and its close codes."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from itertools import count

from aiohttp import WSMsgType, web

from tests.fakes.discord.limits import Json
from tests.fakes.discord.world import World

INTERVAL = 41_250
SESSION_LASTS = 180.0
"""How long a session without a connection can be resumed. Discord does not say."""
PRIVILEGED = 1 << 1 | 1 << 8 | 1 << 15
KNOWN_INTENTS = (1 << 17) - 1 | 1 << 20 | 1 << 21 | 1 << 24 | 1 << 25
STARTS_A_DAY = 1000
IDENTIFY_EVERY = 5.0
PAYLOAD, PAYLOADS_A_MINUTE = 4096, 120


@dataclass(slots=True, eq=False)
class Session:
    id: str
    intents: int
    events: list[Json] = field(default_factory=list)
    socket: web.WebSocketResponse | None = None
    lost_at: float = 0.0


class GatewayServer:
    def __init__(self, world: World, token: str) -> None:
        self.world = world
        self.token = token
        self.sessions: dict[str, Session] = {}
        self.starts = 0
        self.resumes: list[int] = []
        """The numbers from which sessions were resumed."""
        self.identified: list[Json] = []
        self.codes: list[int | None] = []
        """With which the bot has closed its connections."""
        self.interval = INTERVAL
        self.deaf = False
        """No beat is acknowledged."""
        self.silent = False
        """Nothing is sent at all. See `speak_again`."""
        self.beats = 0
        self.down = False
        self.url = ""
        self._names = count(1)
        self._identified_at = float("-inf")
        world.dispatch = self.dispatch

    # ── what happens ──────────────────────────────────────────────────────────────────────────────

    def dispatch(self, name: str, data: Json, intent: int) -> None:
        """To all sessions that want it; 0: whoever there is."""
        for session in list(self.sessions.values()):
            if session.socket is None and self._is_over(session):
                del self.sessions[session.id]
            elif not intent or session.intents & intent:
                self._push(session, name, data)

    def _is_over(self, session: Session) -> bool:
        return self.world.clock.time() - session.lost_at > SESSION_LASTS

    def _push(self, session: Session, name: str, data: Json) -> None:
        event = {"op": 0, "t": name, "s": len(session.events) + 1, "d": data}
        session.events.append(json.loads(json.dumps(event)))
        self._send(session.socket, event)

    def _send(self, socket: web.WebSocketResponse | None, payload: Json) -> None:
        if self.silent or socket is None or socket.closed:
            return
        if socket._writer is not None:
            # At once, in the order of what happens.
            socket._writer.transport.write(_frame(json.dumps(payload).encode()))

    async def cut(self, code: int = 4000, *, forget: bool = False) -> None:
        """Close all connections."""
        sessions = [*self.sessions.values()]
        if forget:
            self.forget_sessions()
        for session in sessions:
            if socket := session.socket:
                session.socket, session.lost_at = None, self.world.clock.time()
                await socket.close(code=code)

    def drop(self) -> None:
        """Break all connections without a word."""
        for session in self.sessions.values():
            if session.socket is not None and session.socket._writer is not None:
                session.socket._writer.transport.abort()

    def speak_again(self) -> None:
        """Over new connections: none goes on with a gap."""
        self.drop()
        self.silent = False

    def ask_to_reconnect(self) -> None:
        for session in self.sessions.values():
            self._send(session.socket, {"op": 7, "d": None})

    def invalidate(self, *, resumable: bool) -> None:
        """Tell that the sessions are over, and whether they can be resumed all the same."""
        for session in self.sessions.values():
            self._send(session.socket, {"op": 9, "d": resumable})
        if not resumable:
            self.forget_sessions()

    def repeat(self, count: int) -> None:
        """Send the last events once more."""
        for session in self.sessions.values():
            for event in session.events[-count:]:
                self._send(session.socket, event)

    def ask_for_a_beat(self) -> None:
        for session in self.sessions.values():
            self._send(session.socket, {"op": 1, "d": None})

    def raw(self, text: str) -> None:
        """Send this to all sessions, whatever it is."""
        for session in self.sessions.values():
            if socket := session.socket:
                assert socket._writer is not None
                socket._writer.transport.write(_frame(text.encode()))

    def forget_sessions(self) -> None:
        self.sessions.clear()

    # ── a connection ──────────────────────────────────────────────────────────────────────────────

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        if self.down:
            raise web.HTTPServiceUnavailable
        socket = web.WebSocketResponse(autoping=True)
        await socket.prepare(request)
        if request.query.get("v") != "10" or request.query.get("encoding") != "json":
            await socket.close(code=4012)
            return socket
        await socket.send_json({"op": 10, "d": {"heartbeat_interval": self.interval}, "s": None})
        session: Session | None = None
        sent: deque[float] = deque(maxlen=PAYLOADS_A_MINUTE)
        try:
            async for frame in socket:
                if frame.type is not WSMsgType.TEXT:
                    continue
                now = self.world.clock.monotonic()
                if len(sent) == PAYLOADS_A_MINUTE and now - sent[0] < 60:
                    await socket.close(code=4008)
                    break
                sent.append(now)
                code, session = await self._handle(frame.data, socket, session)
                if code:
                    await socket.close(code=code)
                    break
        finally:
            self.codes.append(socket.close_code)
            self.world.changed.set()
            if session is not None and session.socket is socket:
                session.socket, session.lost_at = None, self.world.clock.time()
                if socket.close_code in (1000, 1001):
                    self.sessions.pop(session.id, None)
        return socket

    async def _handle(
        self, text: str, socket: web.WebSocketResponse, session: Session | None
    ) -> tuple[int, Session | None]:
        """The code to close with, if so, and whose connection it is then."""
        if len(text.encode()) > PAYLOAD:
            return 4002, session
        try:
            payload = json.loads(text)
            op, data = payload["op"], payload.get("d")
        except (ValueError, KeyError, TypeError):
            return 4002, session
        if op == 1:
            self.beats += 1
            self.world.changed.set()
            if not self.deaf:
                self._send(socket, {"op": 11})
            return 0, session
        if op in (2, 6) and session is not None:
            return 4005, session
        if op == 2:
            return await self._identify(data, socket)
        if op == 6:
            return await self._resume(data, socket)
        return (4001 if op not in (3, 4, 8) else 4003 if session is None else 0), session

    async def _identify(
        self, data: Json, socket: web.WebSocketResponse
    ) -> tuple[int, Session | None]:
        self.identified.append(data)
        if data.get("token") != self.token:
            return 4004, None
        intents = data.get("intents")
        if not isinstance(intents, int) or not isinstance(data.get("properties"), dict):
            return 4002, None
        if intents & ~KNOWN_INTENTS:
            return 4013, None
        if intents & PRIVILEGED and not (
            self.world.reads_content and intents & PRIVILEGED == 1 << 15
        ):
            return 4014, None
        now, before = self.world.clock.monotonic(), self._identified_at
        if self.starts and now - before < IDENTIFY_EVERY:
            self._send(socket, {"op": 9, "d": False})
            return 0, None
        if self.starts >= STARTS_A_DAY:
            self.token = "reset"  # which Discord does, and tells the owner by mail
            return 4004, None
        self._identified_at = now
        self.starts += 1
        session = Session(f"s{next(self._names)}", intents, socket=socket)
        self.sessions[session.id] = session
        bot = self.world.bot
        ready = {
            "v": 10,
            "user": bot.json(),
            "guilds": [{"id": self.world.guild, "unavailable": True}],
            "session_id": session.id,
            "resume_gateway_url": self.url,
            "application": {"id": bot.id, "flags": 0},
        }
        self._push(session, "READY", ready)
        return 0, session

    async def _resume(
        self, data: Json, socket: web.WebSocketResponse
    ) -> tuple[int, Session | None]:
        if data.get("token") != self.token:
            return 4004, None
        session, seq = self.sessions.get(str(data.get("session_id"))), data.get("seq")
        if session is None or (session.socket is None and self._is_over(session)):
            self._send(socket, {"op": 9, "d": False})
            return 0, None
        if not isinstance(seq, int) or seq > len(session.events):
            return 4007, None
        self.resumes.append(seq)
        session.socket = socket
        for event in session.events[seq:]:
            self._send(socket, event)
        self._push(session, "RESUMED", {})
        return 0, session


def _frame(payload: bytes) -> bytes:
    """An unmasked text frame."""
    size = len(payload)
    if size < 126:
        return bytes((0x81, size)) + payload
    if size < 1 << 16:
        return bytes((0x81, 126)) + size.to_bytes(2, "big") + payload
    return bytes((0x81, 127)) + size.to_bytes(8, "big") + payload
