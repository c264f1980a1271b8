"""The web inbox as a channel: listens, announces its address, and tells open pages of changes."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from chatbridge import bounded_read, runtime_paths
from chatbridge.channels.spec import ChannelContext
from chatbridge.channels.web.api import Api
from chatbridge.channels.web.app import Site, build_app, look
from chatbridge.channels.web.events import SURFACE
from chatbridge.channels.web.guard import Guard, Hosts
from chatbridge.channels.web.pages import Pages
from chatbridge.channels.web.server import listen, serving
from chatbridge.channels.web.sessions import Sessions
from chatbridge.channels.web.settings import Web
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.delivery.queue import RateLimit
from chatbridge.core.errors import SettingsError
from chatbridge.core.model import Ask, Notice
from chatbridge.core.ports import Remark, Shown, Surface
from chatbridge.redaction import hide

QUIET, PAUSE = 5.0, 0.1
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - a setting of the owner's


@dataclass(slots=True, kw_only=True, eq=False)
class WebChannel(Site):
    name = SURFACE
    persistent = False
    pace = RateLimit()
    trouble = None
    remarks = ()

    host: str
    port: int | None
    token: str
    announce_address: Callable[[str], None]
    url: str | None = None
    """Where a proxy serves it."""

    async def run(self, inbox: AskActions, *, ready: Callable[[], None]) -> None:
        self.inbox = inbox
        self.sessions = Sessions(self.token, inbox, clock=self.clock)
        await self.sessions.load()
        with listen(self.host, self.port) as listener:
            port: int = listener.getsockname()[1]
            # Browsers share cookies between the ports of a host: two hubs need two names.
            self.cookie = f"chatbridge-{port}"
            routes = (*Api(self).routes(), *Pages(self).routes(), *look()[0].routes())
            app = Guard(
                app=build_app(routes, self.templates),
                hosts=Hosts(self.host, port, url=self.url),
                token=self.token,
                sessions=self.sessions,
                cookie=self.cookie,
            )
            async with serving(app, listener):
                try:
                    self.announce_address(_address(self.host, port))
                    ready()
                    # In the quiet after a start; a page that is asked for before does it itself.
                    await self.clock.sleep(QUIET)
                    await self.templates.get_ready(lambda: self.clock.sleep(PAUSE))
                    await asyncio.Event().wait()
                finally:
                    self.events.close()

    async def tell(self, remark: Remark) -> None:
        """The page has a banner for it."""

    async def drain(self) -> None:
        """Nothing to wait for: pages hold nothing back."""

    @property
    def surfaces(self) -> Sequence[Surface]:
        return (self,)

    async def show(self, ask: Ask, *, place: str | None) -> Shown:
        self.events.publish(ask)
        return Shown(place=ask.id, seen=self.events.watched)

    async def announce(self, notice: Notice) -> bool:
        self.events.publish(notice)
        return self.events.watched


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
        announce_address=context.announce,
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
