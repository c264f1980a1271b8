"""The API: asks as JSON, for scripts, tests and the pages' script.

Owns the shape of each call. `guard` decides who may call, `request_parsing` reads the bodies.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from chatbridge import __version__
from chatbridge.channels.web.events import ALIVE, COMMENT, Events, EventStream
from chatbridge.channels.web.guard import PERSON, SESSION
from chatbridge.channels.web.notices import notice_object, recent
from chatbridge.channels.web.render import json_response, json_text
from chatbridge.channels.web.request_parsing import (
    Refusal,
    parse_answer_body,
    parse_reason,
    read_json,
)
from chatbridge.core.asks.serialize import ask_object
from chatbridge.core.bounds import Slices
from chatbridge.core.errors import AskEnded, NotHere
from chatbridge.core.login_codes import CODE_SECONDS, LoginCodes
from chatbridge.core.model import Ask
from chatbridge.core.ports import AskActions, Clock, Health


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    inbox: AskActions
    events: Events
    codes: LoginCodes
    clock: Clock
    health: Health
    body_seconds: float
    heartbeat: float

    def routes(self) -> list[Route]:
        return [
            Route("/api/asks", self._asks),
            Route("/api/asks/{ask_id}", self._ask),
            Route("/api/asks/{ask_id}/answer", self._answer, methods=["POST"]),
            Route("/api/asks/{ask_id}/cancel", self._cancel, methods=["POST"]),
            Route("/api/events", self._stream),
            Route("/api/notices", self._notices),
            Route("/api/status", self._how),
            Route("/api/login-codes", self._new_code, methods=["POST"]),
        ]

    async def _asks(self, request: Request) -> Response:
        status = request.query_params.get("status", "open")
        if status != "open":
            raise Refusal(422, f"status: given {status!r}; accepted: open", more={"path": "status"})
        texts, slices = [], Slices()
        for ask in await self.inbox.open_asks():
            texts.append(json_text(ask_object(ask)))
            await slices.pause()
        return Response(f"[{','.join(texts)}]", media_type="application/json")

    async def _ask(self, request: Request) -> Response:
        ask = await self.inbox.ask(request.path_params["ask_id"])
        return json_response(ask_object(ask))

    async def _answer(self, request: Request) -> Response:
        body = await read_json(request, seconds=self.body_seconds)
        ask = await self._settled_here(request.path_params["ask_id"])
        answers = parse_answer_body(ask.questions, body)
        try:
            ask = await self.inbox.answer(ask.id, answers, person=request.scope[PERSON])
        except AskEnded:
            raise await self._ended(ask.id) from None
        late = {"late": True} if ask.late is not None else {}
        return json_response({"id": ask.id, "status": ask.status, **late, "ask": ask_object(ask)})

    async def _cancel(self, request: Request) -> Response:
        reason = parse_reason(await read_json(request, seconds=self.body_seconds))
        ask_id, person = request.path_params["ask_id"], request.scope[PERSON]
        await self._settled_here(ask_id)
        try:
            ask = await self.inbox.cancel(ask_id, reason=reason, person=person)
        except AskEnded:
            raise await self._ended(ask_id) from None
        return json_response({"id": ask.id, "status": ask.status, "ask": ask_object(ask)})

    async def _settled_here(self, ask_id: str) -> Ask:
        """An ask that can be answered without being seen. An approval cannot: a person gives or
        refuses it on the page, and no agent that found the token does.

        :raises NotHere:
        """
        ask = await self.inbox.ask(ask_id)
        if ask.approval:
            raise NotHere(ask.id, channels=self.inbox.only_on(ask, "terminal"))
        return ask

    async def _ended(self, ask_id: str) -> Refusal:
        ask = await self.inbox.ask(ask_id)
        how = {k: v for k, v in ask_object(ask).items() if k in ("status", "outcome", "late")}
        return Refusal(409, f"this question has ended: {ask.status}", more=how)

    async def _stream(self, request: Request) -> EventStream:
        return EventStream(
            events=self.events,
            inbox=self.inbox,
            returning="last-event-id" in request.headers,
            session=request.scope.get(SESSION),
            heartbeat=self.heartbeat,
            sign=ALIVE if "alive" in request.query_params else COMMENT,
            brief="brief" in request.query_params,
        )

    async def _notices(self, _request: Request) -> Response:
        found = await recent(self.inbox, now=self.clock.time())
        return json_response([notice_object(notice) for notice in found])

    async def _how(self, _request: Request) -> Response:
        troubles = self.health.troubles()
        return json_response(
            {
                "version": __version__,
                "agents": list(self.health.agents()),
                "channels": [
                    {"name": name, "ok": trouble is None}
                    | ({"trouble": trouble} if trouble else {})
                    for name, trouble in troubles.items()
                ],
            }
        )

    async def _new_code(self, request: Request) -> Response:
        # A cookie that could make more of itself would outlive its 90 days.
        if SESSION in request.scope:
            raise Refusal(403, "a new code needs the token, not a cookie")
        code = self.codes.new(by_token=True)
        return json_response({"code": code, "expiresIn": CODE_SECONDS})
