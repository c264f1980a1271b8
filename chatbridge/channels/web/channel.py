"""The web inbox as a channel: listens, announces its address, and tells open pages of changes."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

from starlette.routing import Route

from chatbridge import bounded_read, runtime_paths
from chatbridge.channels.spec import ChannelContext
from chatbridge.channels.web.api import Api
from chatbridge.channels.web.app import build_app
from chatbridge.channels.web.events import HEARTBEAT_SECONDS, SURFACE, Events
from chatbridge.channels.web.guard import Guard, Hosts
from chatbridge.channels.web.login import Login
from chatbridge.channels.web.notices import output_routes
from chatbridge.channels.web.pages import Pages
from chatbridge.channels.web.render import Assets, Templates
from chatbridge.channels.web.request_parsing import BODY_SECONDS
from chatbridge.channels.web.server import listen, serving
from chatbridge.channels.web.sessions import Sessions
from chatbridge.channels.web.settings import Web
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import SettingsError
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.model import Ask, Notice
from chatbridge.core.ports import AskActions, Clock, Health, Remark, Shown, Surface
from chatbridge.redaction import hide

QUIET, PAUSE = 5.0, 0.1
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - a setting of the owner's


class WebChannel:
    name = SURFACE
    persistent = False
    pace = RateLimit()
    trouble = None
    remarks = ()

    def __init__(
        self,
        *,
        host: str,
        port: int | None,
        token: str,
        clock: Clock,
        announce: Callable[[str], None],
        health: Health,
        codes: LoginCodes,
        url: str | None = None,
        body_seconds: float = BODY_SECONDS,
        heartbeat: float = HEARTBEAT_SECONDS,
    ) -> None:
        """`announce` is told the inbox's address; `url` is where a proxy serves it. `codes` log
        browsers in."""
        self._host = host
        self._url = url
        self._port = port
        self._token = token
        self._codes = codes
        self._clock = clock
        self._announce = announce
        self._health = health
        self._body_seconds = body_seconds
        self._heartbeat = heartbeat
        self._events = Events()
        self._assets, self._templates = look()

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        sessions = Sessions(self._token, inbox, clock=self._clock)
        await sessions.load()
        with listen(self._host, self._port) as listener:
            port: int = listener.getsockname()[1]
            # Browsers share cookies between the ports of a host: two hubs need two names.
            cookie = f"chatbridge-{port}"
            app = Guard(
                app=build_app(self._routes(inbox, sessions, cookie), self._templates),
                hosts=Hosts(self._host, port, url=self._url),
                token=self._token,
                sessions=sessions,
                cookie=cookie,
            )
            async with serving(app, listener):
                try:
                    self._announce(_address(self._host, port))
                    ready()
                    # In the quiet after a start; a page that is asked for before does it itself.
                    await self._clock.sleep(QUIET)
                    await self._templates.get_ready(lambda: self._clock.sleep(PAUSE))
                    await asyncio.Event().wait()
                finally:
                    self._events.close()

    def _routes(self, inbox: AskActions, sessions: Sessions, cookie: str) -> list[Route]:
        api = Api(
            inbox=inbox,
            events=self._events,
            codes=self._codes,
            clock=self._clock,
            health=self._health,
            body_seconds=self._body_seconds,
            heartbeat=self._heartbeat,
        )
        pages = Pages(
            inbox=inbox,
            templates=self._templates,
            clock=self._clock,
            health=self._health,
            body_seconds=self._body_seconds,
        )
        login = Login(
            templates=self._templates,
            sessions=sessions,
            events=self._events,
            codes=self._codes,
            cookie=cookie,
            body_seconds=self._body_seconds,
        )
        served = (api.routes(), pages.routes(), login.routes(), self._assets.routes())
        return [*chain(*served), *output_routes(inbox)]

    async def tell(self, remark: Remark) -> None:
        """The page has a banner for it."""

    async def drain(self) -> None:
        """Nothing to wait for: pages hold nothing back."""

    @property
    def surfaces(self) -> Sequence[Surface]:
        return (self,)

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        self._events.publish(ask)
        return Shown(place=ask.id, seen=self._events.watched)

    async def announce(self, notice: Notice) -> bool:
        self._events.publish(notice)
        return self._events.watched


@cache
def look() -> tuple[Assets, Templates]:
    """Built once in a process, so that a channel that is brought up again finds it compiled."""
    assets = Assets()
    return assets, Templates(assets)


def _address(host: str, port: int) -> str:
    if host in EVERYWHERE:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def build(table: Web, context: ChannelContext) -> WebChannel:
    token = table.token.get_secret_value() if table.token else web_token(context.state)
    hide(token)
    return WebChannel(
        host=table.host,
        port=table.port,
        url=table.url,
        token=token,
        clock=context.clock,
        announce=context.announce,
        health=context.health,
        codes=context.codes,
    )


def web_token(state: Path) -> str:
    """The inbox's token, made on the first start."""
    path = Path(runtime_paths.token_path(str(state)))
    try:
        if found := bounded_read.read(path, most=4096).decode("ascii").strip():
            return found
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise SettingsError(
            f"the inbox's token cannot be read from {path}: {why}. Remove it: the next hub makes "
            "a new one, and browsers log in again"
        ) from None
    token = secrets.token_urlsafe(32)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(file, "w", encoding="ascii") as out:
        out.write(token + "\n")
    return token
