"""The pages: the list, one ask with its form, the history. They work without their script.

Owns what each page shows and which card follows a tap. The look is the templates' business.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from chatbridge.channels.web.events import SURFACE
from chatbridge.channels.web.guard import PERSON
from chatbridge.channels.web.notices import recent, shown
from chatbridge.channels.web.render import Templates, day
from chatbridge.channels.web.request_parsing import events_of, parse_event, read_form
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import AskAction
from chatbridge.core.cards.phrases import format_end, format_only_on
from chatbridge.core.cards.row import Past, Row, Rows
from chatbridge.core.errors import AskEnded, NotHere
from chatbridge.core.forms import form
from chatbridge.core.forms.form import MAX_TEXT, Event, Refused
from chatbridge.core.model import Ask, Notice, Person
from chatbridge.core.ports import AskActions, Clock, Health

OPEN_PAGE = 100
HISTORY_PAGE = 50
MAX_SEARCH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    inbox: AskActions
    templates: Templates
    clock: Clock
    health: Health
    body_seconds: float

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
        skip = _whole(request.query_params.get("from"))
        listed = await self._listed(skip)
        if listed.only is not None and not request.scope["query_string"]:
            return RedirectResponse(f"/asks/{quote(listed.only.id)}", status_code=303)
        notices = await self._recent()
        return await self._page(
            "list.html", notices=notices, listed=listed, skip=skip, current=None
        )

    async def _rows(self, request: Request) -> Response:
        skip = _whole(request.query_params.get("from"))
        current = request.query_params.get("current")
        listed = await self._listed(skip)
        return await self._page("_rows.html", listed=listed, skip=skip, current=current)

    async def _listed(self, skip: int = 0) -> Rows:
        return await self.inbox.open_rows(limit=OPEN_PAGE, skip=skip)

    async def _notices(self, _request: Request) -> Response:
        return await self._page("_notices.html", notices=await self._recent())

    async def _recent(self) -> Sequence[Notice]:
        return await recent(self.inbox, now=self.clock.time())

    async def _ask(self, request: Request) -> Response:
        return await self._ask_page(await self.inbox.ask(request.path_params["ask_id"]))

    async def _ask_page(self, ask: Ask, *, status: int = 200, toast: str | None = None) -> Response:
        return await self._page(
            "ask.html",
            status=status,
            ask=ask,
            notices=await self._recent(),
            listed=await self._listed(),
            skip=0,
            current=ask.id,
            toast=toast,
        )

    async def _card(self, request: Request) -> Response:
        return await self._card_page(await self.inbox.ask(request.path_params["ask_id"]))

    async def _card_page(self, ask: Ask, *, status: int = 200) -> Response:
        return await self._page("_card.html", status=status, ask=ask)

    async def _history(self, request: Request) -> Response:
        search = request.query_params.get("q", "").strip()[:MAX_SEARCH]
        before = _past(request.query_params.get("before"))
        found = await self.inbox.past_rows(
            limit=HISTORY_PAGE + 1, before=before, search=search or None
        )
        rows, now = found[:HISTORY_PAGE], self.clock.time()
        days = [
            (heading, list(group))
            for heading, group in groupby(rows, key=lambda row: day(_ended_at(row), now))
        ]
        more = f"{_ended_at(rows[-1])}-{rows[-1].seq}" if len(found) > HISTORY_PAGE else None
        return await self._page("history.html", days=days, q=search, more=more)

    # ── the form ──────────────────────────────────────────────────────────────────────────────────

    async def _form(self, request: Request) -> Response:
        fields = await read_form(request, seconds=self.body_seconds)
        ask_id, person = request.path_params["ask_id"], request.scope[PERSON]
        action = parse_event(fields)
        status, toast = 200, None
        try:
            refused = await self._do(ask_id, action, fields.get("text", ""), person)
        except AskEnded:
            ended = await self.inbox.ask(ask_id)
            status, toast = 409, format_end(ended, now=self.clock.time())
        except NotHere as error:
            status, toast = 403, format_only_on(error.channels)
        else:
            if refused is not None:
                status, toast = 409 if refused is form.STALE else 422, refused.why
        ask = await self.inbox.ask(ask_id)
        if "x-chatbridge" in request.headers:
            response = await self._card_page(ask, status=status)
            if toast is not None:
                response.headers["x-chatbridge-toast"] = quote(toast)
            return response
        if toast is not None:
            return await self._ask_page(ask, status=status, toast=toast)
        return RedirectResponse(f"/asks/{quote(ask.id)}", status_code=303)

    async def _do(
        self, ask_id: str, action: Event | AskAction | None, text: str, person: Person
    ) -> Refused | None:
        """Why nothing was done, or None."""
        match action:
            case None:
                await self.inbox.ask(ask_id)
                return form.UNFIT
            case AskAction.EXTEND:
                await self.inbox.extend(ask_id, person=person)
                return None
            case AskAction.DISCARD:
                await self.inbox.discard(ask_id)
                return None
        events = events_of(await self.inbox.ask(ask_id), action, text)
        if len(events) > 1 and len(text) > MAX_TEXT:
            return form.TOO_LONG  # before the first of them has moved on to another screen
        step_taken = await self.inbox.put(ask_id, *events, person=person)
        return step_taken if isinstance(step_taken, Refused) else None

    # ── drawing ───────────────────────────────────────────────────────────────────────────────────

    async def _page(
        self,
        name: str,
        *,
        status: int = 200,
        ask: Ask | None = None,
        notices: Sequence[Notice] = (),
        **context: object,
    ) -> Response:
        """A page with the card of `ask`, if there is one: the only card on it."""
        context |= {
            "now": self.clock.time(),
            "agents": self.health.agents(),
            "remarks": self.health.banners(),
            "only_on": lambda row: self.inbox.only_on(row, SURFACE),
        }

        def page() -> Response:
            context["notices"] = [shown(notice) for notice in notices]
            drawn = self._drawn(ask) if ask else {}
            return self.templates.page(name, status=status, **context, **drawn)

        weight = sum(len(notice.message) for notice in notices)
        return await off_loop(page, weight=weight + (weight_of(ask) if ask else 0))

    def _drawn(self, ask: Ask) -> dict[str, object]:
        card = build_card(
            ask,
            channel=SURFACE,
            latest_deadline=self.inbox.latest_deadline(ask),
            only_on=self.inbox.only_on(ask, SURFACE),
        )
        return {"card": card, "asks_back": form.can_ask_back(ask.questions, ask.draft)}


def _ended_at(row: Row) -> float:
    return row.settled_at or row.created_at


def _whole(given: str | None) -> int:
    """Rows to skip; 0 if that is no number."""
    return int(given) if given and len(given) < 10 and given.isascii() and given.isdecimal() else 0


def _past(given: str | None) -> Past | None:
    """`<time>-<seq>`; links of earlier versions have no `seq`."""
    at, _, seq = (given or "").partition("-")
    try:
        when = float(at)
    except ValueError:
        return None
    return (when, _whole(seq)) if math.isfinite(when) else None
