"""The pages: the list, one ask with its form, the history. They work without their script.

Owns what each page shows and which card follows a tap. The look is the templates' business.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from chatbridge.channels.web.events import SURFACE
from chatbridge.channels.web.guard import PERSON
from chatbridge.channels.web.notices import ShownNotice, recent, shown
from chatbridge.channels.web.receive import parse_event, read_form
from chatbridge.channels.web.render import Templates, day
from chatbridge.channels.web.taps import events_of
from chatbridge.core import form
from chatbridge.core.card import Act, Card
from chatbridge.core.draw import draw
from chatbridge.core.errors import AskEnded, NotHere
from chatbridge.core.form import MAX_TEXT, Event, Refused
from chatbridge.core.health import Health
from chatbridge.core.model import Ask, Person
from chatbridge.core.ports import Clock, Inbox
from chatbridge.core.words import ended_sentence, only_there

HISTORY_PAGE = 50
MAX_SEARCH = 200


class Pages:
    def __init__(
        self,
        inbox: Inbox,
        *,
        templates: Templates,
        clock: Clock,
        health: Health,
        body_seconds: float,
    ) -> None:
        self._inbox = inbox
        self._templates = templates
        self._clock = clock
        self._health = health
        self._body_seconds = body_seconds

    def routes(self) -> list[Route]:
        return [
            Route("/", self._list),
            Route("/rows", self._rows),
            Route("/notices", self._notices),
            Route("/history", self._history),
            Route("/asks/{ask_id}", self._ask),
            Route("/asks/{ask_id}/card", self._card),
            Route("/asks/{ask_id}/form", self._form, methods=["POST"]),
        ]

    async def _list(self, request: Request) -> Response:
        asks = await self._inbox.open_asks()
        if len(asks) == 1 and not request.scope["query_string"]:
            return RedirectResponse(f"/asks/{quote(asks[0].id)}", status_code=303)
        notices = await self._recent()
        return self._page("list.html", asks=self._draw_all(asks), current=None, notices=notices)

    async def _rows(self, request: Request) -> Response:
        asks = self._draw_all(await self._inbox.open_asks())
        return self._page("_rows.html", asks=asks, current=request.query_params.get("current"))

    async def _notices(self, _request: Request) -> Response:
        return self._page("_notices.html", notices=await self._recent())

    async def _recent(self) -> list[ShownNotice]:
        return [shown(n) for n in await recent(self._inbox, now=self._clock.time())]

    async def _ask(self, request: Request) -> Response:
        return await self._ask_page(await self._inbox.ask(request.path_params["ask_id"]))

    async def _ask_page(self, ask: Ask, *, status: int = 200, toast: str | None = None) -> Response:
        asks = self._draw_all(await self._inbox.open_asks())
        return self._page(
            "ask.html",
            status=status,
            card=self._draw(ask),
            asks_back=form.can_ask_back(ask.questions, ask.draft),
            asks=asks,
            current=ask.id,
            notices=await self._recent(),
            toast=toast,
        )

    async def _card(self, request: Request) -> Response:
        ask = await self._inbox.ask(request.path_params["ask_id"])
        return self._card_page(ask)

    def _card_page(self, ask: Ask, *, status: int = 200) -> Response:
        asks_back = form.can_ask_back(ask.questions, ask.draft)
        return self._page("_card.html", status=status, card=self._draw(ask), asks_back=asks_back)

    async def _history(self, request: Request) -> Response:
        search = request.query_params.get("q", "").strip()[:MAX_SEARCH]
        before = _time(request.query_params.get("before"))
        found = await self._inbox.history(
            limit=HISTORY_PAGE + 1, before=before, search=search or None
        )
        asks, now = found[:HISTORY_PAGE], self._clock.time()
        days = [
            (heading, self._draw_all(list(group)))
            for heading, group in groupby(asks, key=lambda ask: day(_ended_at(ask), now))
        ]
        more = _ended_at(asks[-1]) if len(found) > HISTORY_PAGE else None
        return self._page("history.html", days=days, q=search, more=more)

    # ── the form ──────────────────────────────────────────────────────────────────────────────────

    async def _form(self, request: Request) -> Response:
        fields = await read_form(request, seconds=self._body_seconds)
        ask_id, person = request.path_params["ask_id"], request.scope[PERSON]
        does = parse_event(fields)
        status, toast = 200, None
        try:
            refused = await self._do(ask_id, does, fields.get("text", ""), person)
        except AskEnded:
            ended = await self._inbox.ask(ask_id)
            status, toast = 409, ended_sentence(ended, now=self._clock.time())
        except NotHere as error:
            status, toast = 403, only_there(error.channels)
        else:
            if refused is not None:
                status, toast = 409 if refused is form.STALE else 422, refused.why
        ask = await self._inbox.ask(ask_id)
        if "x-chatbridge" in request.headers:
            response = self._card_page(ask, status=status)
            if toast is not None:
                response.headers["x-chatbridge-toast"] = quote(toast)
            return response
        if toast is not None:
            return await self._ask_page(ask, status=status, toast=toast)
        return RedirectResponse(f"/asks/{quote(ask.id)}", status_code=303)

    async def _do(
        self, ask_id: str, does: Event | Act | None, text: str, person: Person
    ) -> Refused | None:
        """Why nothing was done, or None."""
        match does:
            case None:
                await self._inbox.ask(ask_id)
                return form.UNFIT
            case Act.EXTEND:
                await self._inbox.extend(ask_id)
                return None
            case Act.DISCARD:
                await self._inbox.discard(ask_id)
                return None
        events = events_of(await self._inbox.ask(ask_id), does, text)
        if len(events) > 1 and len(text) > MAX_TEXT:
            return form.TOO_LONG  # before the first of them has moved on to another screen
        step_taken = await self._inbox.put(ask_id, *events, person=person)
        return step_taken if isinstance(step_taken, Refused) else None

    # ── drawing ───────────────────────────────────────────────────────────────────────────────────

    def _draw(self, ask: Ask) -> Card:
        return draw(
            ask,
            channel=SURFACE,
            latest_deadline=self._inbox.latest_deadline(ask),
            only_on=self._inbox.only_on(ask, SURFACE),
        )

    def _draw_all(self, asks: Sequence[Ask]) -> list[Card]:
        return [self._draw(ask) for ask in asks]

    def _page(self, name: str, *, status: int = 200, **context: object) -> Response:
        now = self._clock.time()
        context |= {"agents": self._health.agents(), "remarks": self._health.banners()}
        return self._templates.page(name, status=status, now=now, **context)


def _ended_at(ask: Ask) -> float:
    return ask.settled_at or ask.created_at


def _time(given: str | None) -> float | None:
    try:
        at = float(given or "")
    except ValueError:
        return None
    return at if math.isfinite(at) else None
