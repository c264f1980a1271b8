"""Subscribing, the list of browsers that ring, and answers from a notification.

Behind the guard with a log-in. Only a browser that a person has logged in can subscribe: with the
token, an agent that found it could read along.
"""

from __future__ import annotations

import asyncio
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from chatbridge.channels.web.guard import PERSON, SESSION
from chatbridge.channels.web.push.subscriptions import (
    LONGEST_ENDPOINT,
    Subscriptions,
    new_subscription,
)
from chatbridge.channels.web.render import json_response, short_times
from chatbridge.channels.web.request_parsing import Refusal, read_form, read_json
from chatbridge.channels.web.sessions import Session
from chatbridge.core.asks.answers import check_keys, check_type
from chatbridge.core.cards.phrases import format_end
from chatbridge.core.errors import AskEnded, ChatbridgeError, InvalidAnswer, UnknownAsk
from chatbridge.core.forms import form
from chatbridge.core.model import Person
from chatbridge.core.text import one_line, shortened

if TYPE_CHECKING:
    from chatbridge.channels.web.channel import WebChannel
    from chatbridge.channels.web.pages import Pages
    from chatbridge.channels.web.push.surface import PushSurface

HERE = "/push"
SCRIPTED = (
    "This browser was logged in by a script. Run chatbridge inbox on your computer, and log in "
    "with the code that it shows."
)
NOT_ALLOWED = "{} is not in push.services, where this browser's push service has to be."
TURNED_ON = (
    "Notifications were turned on in {}. If that was not you, open Notifications in the inbox, "
    "and remove it there."
)
NO_KEY = "This notification cannot answer. Open the question instead."
NO_APPROVAL = "An approval is given on its page."


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A browser as the page shows it."""

    id: str
    name: str
    since: float
    is_this: bool
    """Whether it belongs to the log-in of who looks."""
    last: float | None
    """When it last rang, as far as this hub knows."""


@dataclass(frozen=True, slots=True)
class PushRoutes:
    site: WebChannel
    pages: Pages

    @property
    def subscriptions(self) -> Subscriptions:
        return self.site.subscriptions

    def routes(self) -> list[Route]:
        one = f"{HERE}/subscriptions/{{id}}"
        return [
            Route(HERE, self._show),
            Route(f"{HERE}/key", self._key),
            Route(f"{HERE}/subscriptions", self._subscribe, methods=["POST"]),
            Route(f"{one}/remove", self._remove, methods=["POST"]),
            Route(f"{one}/test", self._test, methods=["POST"]),
            Route(f"{HERE}/answer", self._answer, methods=["POST"]),
        ]

    async def _show(self, request: Request) -> Response:
        await self.subscriptions.drop_closed()
        session: Session = request.scope[SESSION]
        devices = [
            Device(
                id=each.id,
                name=each.name,
                since=each.since,
                is_this=each.session == session.digest,
                last=surface.rang_at if (surface := self._surface(each.id)) else None,
            )
            for each in self.subscriptions.listed()
        ]
        return await self.pages.page(
            "push.html",
            devices=devices,
            key=(await self.subscriptions.keys()).public,
            detail=self.site.push.detail,
            by_token=session.by_token,
        )

    async def _key(self, _request: Request) -> Response:
        return json_response({"key": (await self.subscriptions.keys()).public})

    async def _subscribe(self, request: Request) -> Response:
        session: Session = request.scope[SESSION]
        body = await read_json(request, seconds=self.site.body_seconds)
        if session.by_token:
            raise Refusal(403, SCRIPTED)
        # What browsers say of themselves: when it ends is theirs to know.
        body.pop("expirationTime", None)
        check_keys(body, "", ("endpoint", "keys", "replaces"))
        endpoint = _text(body.get("endpoint"), "endpoint")
        replaces = body.get("replaces")
        keys = check_type(body.get("keys"), dict, "keys")
        check_keys(keys, "keys.", ("p256dh", "auth"))
        p256dh, auth = (_text(keys.get(name), f"keys.{name}") for name in ("p256dh", "auth"))
        if not self.site.push.allows(endpoint):
            host = endpoint.partition("://")[2].partition("/")[0]
            raise Refusal(403, NOT_ALLOWED.format(shortened(one_line(host), 100) or "It"))
        new = await asyncio.to_thread(
            new_subscription,
            endpoint=endpoint,
            p256dh=p256dh,
            auth=auth,
            session=session,
            origin=self.site.origin_of(request),
            agent=request.headers.get("user-agent", ""),
            at=self.site.clock.time(),
        )
        replaces = None if replaces is None else _text(replaces, "replaces")
        await self.site.load_browsers()
        known = (endpoint, replaces)
        is_new = not any(
            it and self.subscriptions.rings_already(it, session=session) for it in known
        )
        added = await self.subscriptions.add(new, replaces=replaces)
        if is_new:
            self.subscriptions.tell_owner(TURNED_ON.format(added.name), told=[added.surface])
        return json_response({"id": added.id}, status=201)

    async def _remove(self, request: Request) -> Response:
        await read_form(request, seconds=self.site.body_seconds)
        await self.subscriptions.drop(request.path_params["id"])
        return _done(request)

    async def _test(self, request: Request) -> Response:
        await read_form(request, seconds=self.site.body_seconds)
        found = self._surface(request.path_params["id"])
        if found is None:
            raise Refusal(404, "This browser is no longer listed.")
        try:
            await found.test()
        except ChatbridgeError as error:
            raise Refusal(502, f"It did not ring: {error}") from None
        return _done(request)

    def _surface(self, id: str) -> PushSurface | None:
        return self.site.browsers.of(id) if self.site.browsers else None

    # ── answers ───────────────────────────────────────────────────────────────────────────────────

    async def _answer(self, request: Request) -> Response:
        body = await read_json(request, seconds=self.site.body_seconds)
        check_keys(body, "", ("ask", "step", "option", "key"))
        ask_id, key = _text(body.get("ask"), "ask"), _text(body.get("key"), "key")
        step, option = _number(body.get("step"), "step"), _number(body.get("option"), "option")
        here = await self._with_key(request.scope[SESSION], ask_id, step, key)
        if here is None:
            raise Refusal(403, NO_KEY)
        here.gone.add(ask_id)
        try:
            said = await self._choose(ask_id, step, option, request.scope[PERSON])
        except BaseException:
            here.gone.discard(ask_id)  # it shows why
            raise
        return json_response({"text": f"Answered: {said}"})

    async def _choose(self, ask_id: str, step: int, option: int, person: Person) -> str:
        """What was chosen. :raises Refusal:"""
        try:
            ask = await self.site.inbox.ask(ask_id)
            if ask.approval:
                raise Refusal(403, NO_APPROVAL)
            tap = form.Choose(step=step, option=option)
            led_to = await self.site.inbox.put(ask_id, tap, person=person)
        except UnknownAsk:
            raise Refusal(409, "This question is gone.") from None
        except AskEnded:
            ended = await self.site.inbox.ask(ask_id)
            words = format_end(ended, now=self.site.clock.time())
            raise Refusal(409, short_times(words)) from None
        if isinstance(led_to, form.Refused):
            raise Refusal(409, led_to.why)
        return ask.questions[0].choices[option].label

    async def _with_key(
        self, session: Session, ask_id: str, step: int, key: str
    ) -> PushSurface | None:
        """The browser of this log-in that the key was made for."""
        for each in self.subscriptions.of(session):
            right = (await self.subscriptions.keys()).answer_key(each.id, ask_id, step)
            if hmac.compare_digest(right.encode(), key.encode(errors="replace")):
                return self._surface(each.id)
        return None


def _done(request: Request) -> Response:
    if "x-chatbridge" in request.headers:
        return Response(status_code=204)
    return RedirectResponse(HERE, status_code=303)


def _text(given: Any, path: str) -> str:
    if not check_type(given, str, path):
        raise InvalidAnswer(path, "it is empty")
    if len(given) > LONGEST_ENDPOINT:
        raise InvalidAnswer(path, f"{len(given):,} characters, at most {LONGEST_ENDPOINT:,}")
    return str(given)


def _number(given: Any, path: str) -> int:
    if type(given) is not int or not 0 <= given < 10**6:
        raise InvalidAnswer(path, "accepted: a whole number")
    return given
