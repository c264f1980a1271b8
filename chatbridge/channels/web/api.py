"""The API: asks as JSON, for scripts, tests and the pages' script.

Owns the shape of each call. `guard` decides who may call, `request_parsing` reads the bodies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from chatbridge import __version__
from chatbridge.channels.web.events import ALIVE, COMMENT, EventStream, notice_object
from chatbridge.channels.web.guard import PERSON, SESSION
from chatbridge.channels.web.render import json_response, json_text
from chatbridge.channels.web.request_parsing import (
    Refusal,
    parse_reason,
    read_json,
    whole_number,
)
from chatbridge.core.asks.answers import check_keys, parse_answers
from chatbridge.core.asks.serialize import ask_object
from chatbridge.core.bounds import Slices
from chatbridge.core.cards.operation_summary import output_name
from chatbridge.core.errors import AskEnded, NotHere
from chatbridge.core.login_codes import CODE_SECONDS
from chatbridge.core.model import Ask

if TYPE_CHECKING:
    from chatbridge.channels.web.channel import WebChannel


@dataclass(frozen=True, slots=True)
class Api:
    site: WebChannel

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
            Route("/api/operations/{operation_id}/output", self._output),
            Route("/operations/{operation_id}/output", self._output),
        ]

    async def _asks(self, request: Request) -> Response:
        status = request.query_params.get("status", "open")
        if status != "open":
            raise Refusal(422, f"status: given {status!r}; accepted: open", more={"path": "status"})
        texts, slices = [], Slices()
        for ask in await self.site.inbox.open_asks():
            texts.append(json_text(ask_object(ask)))
            await slices.pause()
        return Response(f"[{','.join(texts)}]", media_type="application/json")

    async def _ask(self, request: Request) -> Response:
        ask = await self.site.inbox.ask(request.path_params["ask_id"])
        return json_response(ask_object(ask))

    async def _answer(self, request: Request) -> Response:
        body = await read_json(request, seconds=self.site.body_seconds)
        ask = await self._settled_here(request.path_params["ask_id"])
        if ask.what_next and ask.open:
            raise NotHere(ask.id, what_next=True)
        check_keys(body, "", ("answers",))
        answers = parse_answers(ask.questions, body.get("answers"))
        try:
            ask = await self.site.inbox.answer(ask.id, answers, person=request.scope[PERSON])
        except AskEnded:
            raise await self._ended(ask.id) from None
        late = {"late": True} if ask.late is not None else {}
        return json_response({"id": ask.id, "status": ask.status, **late, "ask": ask_object(ask)})

    async def _cancel(self, request: Request) -> Response:
        reason = parse_reason(await read_json(request, seconds=self.site.body_seconds))
        ask_id, person = request.path_params["ask_id"], request.scope[PERSON]
        await self._settled_here(ask_id)
        try:
            ask = await self.site.inbox.cancel(ask_id, reason=reason, person=person)
        except AskEnded:
            raise await self._ended(ask_id) from None
        return json_response({"id": ask.id, "status": ask.status, "ask": ask_object(ask)})

    async def _settled_here(self, ask_id: str) -> Ask:
        """An ask that can be answered without being seen. An approval cannot: a person gives or
        refuses it on the page, and no agent that found the token does.
        :raises NotHere:"""
        ask = await self.site.inbox.ask(ask_id)
        if ask.approval:
            raise NotHere(ask.id, channels=self.site.inbox.only_on(ask, "terminal"))
        return ask

    async def _ended(self, ask_id: str) -> Refusal:
        ask = await self.site.inbox.ask(ask_id)
        how = {k: v for k, v in ask_object(ask).items() if k in ("status", "outcome", "late")}
        return Refusal(409, f"this question has ended: {ask.status}", more=how)

    async def _stream(self, request: Request) -> EventStream:
        away = whole_number(request.query_params.get("away"))
        return EventStream(
            events=self.site.events,
            inbox=self.site.inbox,
            returning="last-event-id" in request.headers,
            session=request.scope.get(SESSION),
            heartbeat=self.site.heartbeat,
            sign=ALIVE if "alive" in request.query_params else COMMENT,
            brief="brief" in request.query_params,
            missed=partial(self.site.missed, None if away is None else away / 1000),
        )

    async def _notices(self, _request: Request) -> Response:
        found = await self.site.recent_notices(dismissed=True)
        return json_response([notice_object(notice) for notice in found])

    async def _output(self, request: Request) -> Response:
        operation_id = request.path_params["operation_id"]
        content = await self.site.inbox.output(operation_id)
        if content is None:
            title = "This output is not here"
            raise Refusal(404, "It is no longer kept, or there never was one.", title=title)
        headers = {"content-disposition": f'inline; filename="{output_name(operation_id)}"'}
        # Text whatever it looks like: the guard's headers keep a browser from guessing.
        return Response(content, media_type="text/plain; charset=utf-8", headers=headers)

    async def _how(self, _request: Request) -> Response:
        agents, channels = list(self.site.health.agents()), []
        for name, trouble in self.site.health.troubles().items():
            why = {"trouble": trouble} if trouble else {}
            channels.append({"name": name, "ok": trouble is None, **why})
        return json_response({"version": __version__, "agents": agents, "channels": channels})

    async def _new_code(self, request: Request) -> Response:
        # A cookie that could make more of itself would outlive its 90 days.
        if SESSION in request.scope:
            raise Refusal(403, "a new code needs the token, not a cookie")
        code = await self.site.codes.new(by_token=True)
        return json_response({"code": code, "expiresIn": CODE_SECONDS})
