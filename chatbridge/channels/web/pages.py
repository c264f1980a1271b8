"""The pages: the list, one ask with its form, the history, statistics, the log-in. They work
without scripts.

Owns what each page shows and which card follows a tap. The look is the templates' business.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from chatbridge.channels.web.addresses import parse_address
from chatbridge.channels.web.events import SURFACE, Dismissal
from chatbridge.channels.web.guard import BROWSER, PERSON, SESSION
from chatbridge.channels.web.render import day, short_times
from chatbridge.channels.web.request_parsing import (
    Refusal,
    events_of,
    parse_event,
    read_form,
    whole_number,
)
from chatbridge.channels.web.server import note_credential
from chatbridge.channels.web.sessions import SESSION_SECONDS
from chatbridge.channels.web.stats_chart import hour_bars
from chatbridge.core.bounds import off_loop, weight_of
from chatbridge.core.cards.build import build_card
from chatbridge.core.cards.card import AskAction
from chatbridge.core.cards.phrases import format_duration, format_end, format_only_on
from chatbridge.core.cards.row import Past, PastNotice, Row, Rows
from chatbridge.core.errors import AskEnded, AttachmentError, NotHere
from chatbridge.core.forms import form
from chatbridge.core.forms.form import MAX_TEXT, Event, Refused
from chatbridge.core.login_codes import ACCEPTED, CodeUse
from chatbridge.core.model import Ask, Attachment, Notice, Person
from chatbridge.core.nights.hours import Period
from chatbridge.core.nights.summary import Tally, format_counts, latest_period, period_until
from chatbridge.core.nights.switching import format_quiet, offered
from chatbridge.core.policy import DAY
from chatbridge.core.statistics import statistics_object
from chatbridge.core.text import one_line, shortened, title_of
from chatbridge.durations import parse_period

if TYPE_CHECKING:
    from chatbridge.channels.web.channel import WebChannel

LIST = "/?all"
NO_ROWS = Rows((), 0)
OPEN_PAGE = 100
HISTORY_PAGE = 50
MAX_SEARCH = 200
STATS_SINCE = "30d"
PERIODS = {"1d": "1 day", "7d": "7 days", "30d": "30 days", "90d": "90 days"}
PROBLEMS = {
    CodeUse.USED_BEFORE: "This link has already been used. Run chatbridge inbox for a new one.",
    CodeUse.UNKNOWN: "This code is wrong or has expired. Run chatbridge inbox for a new one.",
    CodeUse.TOO_MANY_TRIES: "Too many wrong codes. Try again in a minute.",
}
MAX_CODE = 40


@dataclass(frozen=True, slots=True)
class Pages:
    site: WebChannel

    def routes(self) -> list[Route]:
        return [
            Route("/", self._list),
            Route("/rows", self._rows),
            Route("/notices", self._notices),
            Route("/notices/{notice_id}/dismiss", self._dismiss, methods=["POST"]),
            Route("/quiet", self._quiet, methods=["POST"]),
            Route("/history", self._history),
            Route("/summary", self._summary),
            Route("/stats", self._stats),
            Route("/asks/{ask_id}", self._ask),
            Route("/asks/{ask_id}/card", self._card),
            Route("/asks/{ask_id}/form", self._form, methods=["POST"]),
            Route("/address", self._address),
            Route("/login", self._show_login),
            Route("/login", self._log_in, methods=["POST"]),
            Route("/login/{code}", self._show_login),
            Route("/logout", self._log_out, methods=["POST"]),
        ]

    async def _list(self, request: Request) -> Response:
        skip = whole_number(request.query_params.get("from")) or 0
        listed = await self._listed(skip)
        if listed.only is not None and not request.scope["query_string"]:
            return RedirectResponse(f"/asks/{quote(listed.only.id)}", status_code=303)
        told = await self.site.recent_notices()
        return await self.page(
            "list.html",
            notices=told,
            listed=listed,
            skip=skip,
            current=None,
            away=self._away() is not None,
            quiet=self._quiet_now(),
        )

    async def _rows(self, request: Request) -> Response:
        skip = whole_number(request.query_params.get("from")) or 0
        current = request.query_params.get("current")
        listed = await self._listed(skip)
        return await self.page("_rows.html", listed=listed, skip=skip, current=current)

    async def _listed(self, skip: int = 0) -> Rows:
        return await self.site.inbox.open_rows(limit=OPEN_PAGE, skip=skip)

    async def _notices(self, _request: Request) -> Response:
        return await self.page("_notices.html", notices=await self.site.recent_notices())

    async def _dismiss(self, request: Request) -> Response:
        fields = await read_form(request, seconds=self.site.body_seconds)
        notice_id = request.path_params["notice_id"]
        await self.site.inbox.dismiss(notice_id, and_older="older" in fields)
        self.site.events.publish_to_pages(Dismissal(notice_id))
        if "x-chatbridge" in request.headers:
            return await self._notices(request)
        return RedirectResponse(LIST, status_code=303)

    async def _quiet(self, request: Request) -> Response:
        fields = await read_form(request, seconds=self.site.body_seconds)
        nights, now = self.site.inbox.nights, self.site.clock.time()
        words = fields.get("words")
        if words not in {each for _, each in offered(nights, now=now)}:
            raise Refusal(422, "Quiet hours have changed meanwhile. Go back and look again.")
        await self.site.inbox.switch_quiet(words, person=request.scope[PERSON])
        return RedirectResponse(LIST, status_code=303)

    def _quiet_now(self) -> tuple[str, list[tuple[str, str]]] | None:
        """How quiet hours are, and how they can be switched; None: there is no chat to be quiet."""
        if self.site.health.troubles().keys() <= {SURFACE}:
            return None
        nights, now = self.site.inbox.nights, self.site.clock.time()
        return format_quiet(nights, now=now), offered(nights, now=now)

    async def _ask(self, request: Request) -> Response:
        ask = await self.site.inbox.ask(request.path_params["ask_id"])
        return await self._ask_page(ask, back=_way_back(str(request.url)))

    async def _ask_page(
        self, ask: Ask, *, back: str, status: int = 200, toast: str | None = None
    ) -> Response:
        return await self.page(
            "ask.html",
            status=status,
            ask=ask,
            notices=await self.site.recent_notices(),
            listed=await self._listed(),
            skip=0,
            current=ask.id,
            back=back,
            toast=toast,
        )

    async def _card(self, request: Request) -> Response:
        ask = await self.site.inbox.ask(request.path_params["ask_id"])
        return await self.page("_card.html", ask=ask)

    async def _history(self, request: Request) -> Response:
        search = request.query_params.get("q", "").strip()[:MAX_SEARCH]
        before = request.query_params.get("before", "")
        limit, wanted = HISTORY_PAGE + 1, search or None
        asks_before, notices_before = _parse_position(before)
        asks = await self.site.inbox.past_rows(limit=limit, before=asks_before, search=wanted)
        notices = await self.site.inbox.notices(limit=limit, before=notices_before, search=wanted)
        found: list[Row | Notice] = sorted([*asks, *notices], key=_ended_at, reverse=True)
        shown, now = found[:HISTORY_PAGE], self.site.clock.time()
        grouped = groupby(shown, key=lambda each: day(_ended_at(each), now))
        more = _format_position(shown[-1]) if len(found) > HISTORY_PAGE else None
        return await self.page(
            "history.html",
            notices=notices,
            days=[(heading, list(group)) for heading, group in grouped],
            count=len(shown),
            q=search,
            here=_address("/history", q=search, before=before),
            more=more and _address("/history", q=search, before=more),
        )

    async def _summary(self, _request: Request) -> Response:
        inbox, now = self.site.inbox, self.site.clock.time()
        period = self._away() or period_until(now, calendar=inbox.nights.calendar)
        tally = await inbox.tally(since=period.start, until=period.end, now=now)
        return await self.page(
            "summary.html",
            period=period,
            happened=format_counts(0, tally) if tally != Tally() else (),
            listed=await self._listed(),
            skip=0,
            current=None,
        )

    def _away(self) -> Period | None:
        """What the last summary was about, if that is not long ago."""
        nights, now = self.site.inbox.nights, self.site.clock.time()
        last = latest_period(now=now, calendar=nights.calendar, policy=nights.policy)
        return last if last is not None and now - last.end < DAY else None

    async def _stats(self, request: Request) -> Response:
        given = request.query_params.get("since", STATS_SINCE)
        try:
            seconds = parse_period(given)
        except ValueError as error:
            raise Refusal(422, f"since: {shortened(one_line(given), 40)}: {error}.") from None
        found = await self.site.inbox.statistics(seconds=seconds)
        stats = await asyncio.to_thread(statistics_object, found)
        periods = PERIODS if given in PERIODS else {**PERIODS, given: format_duration(seconds)}
        return await self.page(
            "stats.html", stats=stats, chart=hour_bars(stats["hours"]), periods=periods, since=given
        )

    async def _address(self, request: Request) -> Response:
        """For browsers without the script, which opens a sheet instead."""
        address = parse_address(request.query_params.get("to", ""))
        if address is None:
            raise Refusal(404, "Only a whole address that begins with http can be opened here.")
        return self.site.templates.page("address.html", address=address)

    # ── the form ──────────────────────────────────────────────────────────────────────────────────

    async def _form(self, request: Request) -> Response:
        fields = await read_form(request, seconds=self.site.body_seconds)
        ask_id, person = request.path_params["ask_id"], request.scope[PERSON]
        action, text = parse_event(fields), fields.get("text", "")
        return await self.after(request, self._do(ask_id, action, text, person))

    async def after(self, request: Request, work: Awaitable[Refused | None]) -> Response:
        """The card once this has been done, or why it was not."""
        ask_id, status, toast = request.path_params["ask_id"], 200, None
        try:
            refused = await work
        except AskEnded:
            ended = await self.site.inbox.ask(ask_id)
            status, toast = 409, short_times(format_end(ended, now=self.site.clock.time()))
        except NotHere as error:
            status, toast = 403, format_only_on(error.channels)
        except AttachmentError as error:
            status, toast = 507, str(error)
        except Refusal as error:
            status, toast = error.status, error.sentence
        else:
            if refused is not None:
                status, toast = 409 if refused is form.STALE else 422, refused.why
        ask = await self.site.inbox.ask(ask_id)
        if "x-chatbridge" in request.headers:
            response = await self.page("_card.html", status=status, ask=ask)
            if toast is not None:
                response.headers["x-chatbridge-toast"] = quote(toast)
            return response
        back = _way_back(request.headers.get("referer", ""))
        if toast is not None:
            return await self._ask_page(ask, back=back, status=status, toast=toast)
        via = "" if back == LIST else back
        return RedirectResponse(_address(f"/asks/{quote(ask.id)}", via=via), status_code=303)

    async def _do(
        self, ask_id: str, action: Event | AskAction | None, text: str, person: Person
    ) -> Refused | None:
        match action:
            case None:
                await self.site.inbox.ask(ask_id)
                return form.UNFIT
            case AskAction.DISCARD:
                await self.site.inbox.discard(ask_id, person=person)
                return None
            case AskAction.TAKE_BACK:
                await self.site.inbox.take_back(ask_id, person=person)
                return None
        events = events_of(await self.site.inbox.ask(ask_id), action, text)
        if len(events) > 1 and len(text) > MAX_TEXT:
            return form.TOO_LONG  # before the first of them has moved on to another screen
        step_taken = await self.site.inbox.put(ask_id, *events, person=person)
        return step_taken if isinstance(step_taken, Refused) else None

    # ── logging in and out ────────────────────────────────────────────────────────────────────────

    async def _show_login(self, request: Request) -> Response:
        code = request.path_params.get("code", "")[:MAX_CODE]
        return self.site.templates.page("login.html", code=code, problem=None)

    async def _log_in(self, request: Request) -> Response:
        code = (await read_form(request, seconds=self.site.body_seconds)).get("code", "")
        address = request.client.host if request.client else ""
        use = await self.site.codes.use(code, address=address)
        if use not in ACCEPTED:
            status = 429 if use is CodeUse.TOO_MANY_TRIES else 401
            problem = PROBLEMS[use]
            return self.site.templates.page("login.html", status=status, code="", problem=problem)
        # The code is used up: nobody may push its cookie out on the way.
        note_credential(request.scope, BROWSER)
        cookie = await self.site.sessions.open(by_token=use is CodeUse.ACCEPTED_BY_TOKEN)
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(
            self.site.cookie,
            cookie,
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.headers.get("origin", "").startswith("https://"),
        )
        return response

    async def _log_out(self, request: Request) -> Response:
        fields = await read_form(request, seconds=self.site.body_seconds)
        session = None if "everywhere" in fields else request.scope[SESSION]
        self.site.events.close(of=session)
        await self.site.sessions.revoke(session)
        await self.site.subscriptions.drop_closed()
        response = RedirectResponse("/login", status_code=303)
        response.delete_cookie(self.site.cookie, httponly=True, samesite="strict")
        return response

    def _held(self, *asks: Ask | Row) -> dict[str, float]:
        """When the chats show those of them that they hold back, by their ids."""
        nights, now = self.site.inbox.nights, self.site.clock.time()
        found = ((ask.id, nights.held_until(ask, now=now)) for ask in asks)
        return {ask_id: until for ask_id, until in found if until is not None}

    # ── drawing ───────────────────────────────────────────────────────────────────────────────────

    def _ringing(self) -> list[str]:
        """The browsers that ring, by their names; none while one of them cannot be reached."""
        if self.site.browsers is None or self.site.browsers.troubles:
            return []
        return [*dict.fromkeys(each.name for each in self.site.subscriptions.listed())]

    async def page(
        self,
        name: str,
        *,
        status: int = 200,
        ask: Ask | None = None,
        notices: Sequence[Notice] = (),
        listed: Rows = NO_ROWS,
        **context: object,
    ) -> Response:
        """A page with the card of `ask`, if there is one: the only card on it."""
        context |= {
            "notices": notices,
            "listed": listed,
            "held": self._held(*listed.rows, *([ask] if ask else [])),
            "now": self.site.clock.time(),
            "agents": self.site.health.agents(),
            "connected": len(self.site.inbox.messages.agents.listed()),
            "remarks": self.site.health.banners(),
            "chats": [
                title_of(name)
                for name, trouble in self.site.health.troubles().items()
                if name != SURFACE and trouble is None
            ],
            "ringing": self._ringing(),
            "only_on": lambda row: self.site.inbox.only_on(row, SURFACE),
        }

        store = self.site.inbox.attachments
        # How many bytes the files of an answer may have; none are taken if this is 0.
        context["takes_files"] = store.largest if store and ask and not ask.approval else 0
        context["transcribes"] = self.site.inbox.transcribes

        def page() -> Response:
            if ask is not None:
                context["pictured"] = _pictured(ask)
                context["card"] = build_card(
                    ask,
                    channel=SURFACE,
                    later=self.site.inbox.later(ask),
                    only_on=self.site.inbox.only_on(ask, SURFACE),
                    replies=self.site.inbox.replies,
                    colleagues=self.site.inbox.colleagues(ask, surface=SURFACE),
                )
            return self.site.templates.page(name, status=status, **context)

        weight = sum(len(notice.message) for notice in notices)
        return await off_loop(page, weight=weight + (weight_of(ask) if ask else 0))


def _pictured(ask: Ask) -> list[tuple[int, str, Attachment]]:
    """The pictures of options, which an ended ask still shows."""
    return [
        (number, one_line(option.label), option.image)
        for question in ask.questions
        for number, option in enumerate(question.options, 1)
        if option.image
    ]


def _address(path: str, **query: str) -> str:
    given = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(given)}" if given else path


def _way_back(page: str) -> str:
    """Where the ask on this page was opened, which the page's address says. Anybody can write such
    an address: it leads back to a list of ours, or to none."""
    try:
        via = dict(parse_qsl(urlsplit(page).query)).get("via", "")
        way = urlsplit(via)
    except ValueError:
        return LIST
    ours = not way.scheme and not way.netloc and way.path in ("/", "/history")
    return via if ours else LIST


# ── positions in the history ──────────────────────────────────────────────────────────────────────
# Questions come before notices of the same instant. `<time>-<seq>` is behind a question,
# `<time>-n<id>` behind a notice; links of earlier versions have only the time.


def _ended_at(each: Row | Notice) -> float:
    return each.at if isinstance(each, Notice) else each.settled_at or each.created_at


def _format_position(last: Row | Notice) -> str:
    mark = f"n{last.id}" if isinstance(last, Notice) else last.seq
    return f"{_ended_at(last)}-{mark}"


def _parse_position(given: str) -> tuple[Past | None, PastNotice | None]:
    at, _, mark = given.partition("-")
    try:
        when = float(at)
    except ValueError:
        return None, None
    if not math.isfinite(when):
        return None, None
    seq = whole_number(mark)
    if seq is not None:
        return (when, seq), (math.nextafter(when, math.inf), "")
    return (when, 0), (when, mark.removeprefix("n"))
