"""Firefox with a push service of our own: the one browser whose service can be another.

    async with running_firefox(folder, path, service, bus=desktop.bus) as firefox:
        await firefox.open(link)
        await firefox.press("#push-on")

Owns the browser's side of the push service, which is Mozilla's WebSocket protocol, and the little
of Marionette, Firefox's protocol for tests, that a person's hands need. What the hub sends to
`service` is checked there, and goes on to the browser as it came: only that can decrypt it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import secrets
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.fakes.http_server import serving_at
from tests.fakes.push_service import Browser, Json, PushService, encoded

PATIENCE_SECONDS = 60.0
ELEMENT_WITHIN_MS = 30_000
LISTENING = b"Listening on port "
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key of an element in a reply: a constant of WebDriver."""
DELIVERED = 100
"""How Firefox acknowledges a message that it decrypted and gave to the worker."""
NOWHERE = 9
PREFERENCES: Json = {
    "marionette.port": 0,
    "browser.dom.window.dump.enabled": True,  # it then says where it listens
    # Marionette's own choice turns push off.
    "remote.prefs.recommended": False,
    "dom.push.testing.allowInsecureServerURL": True,
    "permissions.default.desktop-notification": 1,
    # Its address is given up after two pushes that show nothing, and not after 16.
    "dom.push.maxQuotaPerSubscription": 2,
    # Loopback goes past a proxy, and all that a browser wants from its makers ends there.
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": NOWHERE,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": NOWHERE,
    # Less to start.
    "browser.aboutwelcome.enabled": False,
    "browser.newtabpage.enabled": False,
    "browser.newtabpage.activity-stream.testing.shouldInitializeFeeds": False,
    "browser.startup.homepage_override.mstone": "ignore",  # no page about what is new
    "browser.startup.page": 0,
    "dom.ipc.processCount": 1,
    "dom.ipc.processPrelaunch.enabled": False,
    "extensions.enabledScopes": 0,
    "fission.autostart": False,
    "services.settings.server": "data:,#",
}


class Channel(Browser):
    """An address that Firefox has got: what is sent there is for its eyes alone."""

    def __init__(self, sockets: PushSockets, id: str, key: str) -> None:
        super().__init__(sockets.service, key)
        self._sockets, self.id = sockets, id
        self._loop = asyncio.get_running_loop()
        self._versions = itertools.count(1)

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        """Called by the service's thread."""
        message = {
            "messageType": "notification",
            "channelID": self.id,
            "version": str(next(self._versions)),
            "data": encoded(body),
            "headers": {"encoding": headers["content-encoding"]},
        }
        asyncio.run_coroutine_threadsafe(self._sockets.send(message), self._loop)


class PushSockets:
    """Where Firefox fetches what was pushed."""

    def __init__(self, service: PushService) -> None:
        self.service = service
        self.acknowledged: asyncio.Queue[int] = asyncio.Queue()
        """How each message fared, in the order in which they were sent."""
        self._channels: dict[str, Channel] = {}
        self._open: web.WebSocketResponse | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """At this address."""
        app = web.Application()
        app.add_routes([web.get("/", self._serve)])
        at = socket.create_server(("127.0.0.1", 0))
        async with serving_at(at, app):
            yield f"ws://127.0.0.1:{at.getsockname()[1]}/"

    async def send(self, message: Json) -> None:
        assert self._open is not None
        await self._open.send_json(message)

    async def _serve(self, request: web.Request) -> web.WebSocketResponse:
        self._open = ws = web.WebSocketResponse(protocols=("push-notification",))
        await ws.prepare(request)
        async for each in ws:
            for reply in self._replies(each.json()):
                await ws.send_json(reply)
        return ws

    def _replies(self, message: Json) -> list[Json]:
        kind = message.get("messageType")
        reply = {"messageType": kind, "status": 200}
        match kind:
            case "hello":
                assert message["use_webpush"]
                return [reply | {"uaid": secrets.token_hex(16), "use_webpush": True}]
            case "register":
                channel = Channel(self, message["channelID"], message["key"])
                self._channels[channel.id] = channel
                self.service.browsers[channel.token] = channel
                return [reply | {"channelID": channel.id, "pushEndpoint": channel.endpoint}]
            case "unregister":
                channel = self._channels[message["channelID"]]
                self.service.give_up(channel.token)
                return [reply | {"channelID": channel.id}]
            case "ack":
                for update in message["updates"]:
                    self.acknowledged.put_nowait(update["code"])
            case None:  # a ping
                return [{}]
        return []


@dataclass(slots=True)
class Firefox:
    pushed: PushSockets
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    async def open(self, address: str) -> None:
        await self._do("WebDriver:Navigate", url=address)

    async def press(self, selector: str) -> None:
        """As a person does: on what is seen."""
        await self._do("WebDriver:ElementClick", id=await self.sees(selector))

    async def sees(self, selector: str) -> str:
        """The id of an element that fits, once there is one."""
        found = await self._do("WebDriver:FindElement", using="css selector", value=selector)
        return str(found["value"][ELEMENT])

    async def delivered(self) -> None:
        """Wait until the browser has decrypted the next message and given it to the worker."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await self.pushed.acknowledged.get() == DELIVERED

    async def _do(self, command: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        body = json.dumps([0, number, command, parameters]).encode()
        self._writer.write(b"%d:%b" % (len(body), body))
        _, answered, error, result = await self.read()
        assert answered == number
        assert error is None, error
        return result

    async def read(self) -> Any:
        async with asyncio.timeout(PATIENCE_SECONDS):
            size = await self._reader.readuntil(b":")
            return json.loads(await self._reader.readexactly(int(size[:-1])))

    async def start(self) -> None:
        await self.read()  # what it is
        await self._do("WebDriver:NewSession", timeouts={"implicit": ELEMENT_WITHIN_MS})


@asynccontextmanager
async def running_firefox(
    profile: Path, path: str, service: PushService, *, bus: str
) -> AsyncIterator[Firefox]:
    """With a new profile in this folder, and notifications on the desktop with this bus."""
    pushed = PushSockets(service)
    async with pushed.running() as address:
        _make_profile(profile, PREFERENCES | {"dom.push.serverURL": address})
        process = await asyncio.create_subprocess_exec(
            path,
            *("--headless", "--no-remote", "--marionette", "--profile", str(profile)),
            env=os.environ | {"HOME": str(profile), "DBUS_SESSION_BUS_ADDRESS": bus},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        assert process.stdout is not None
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        reading = asyncio.create_task(_read(process.stdout, port))
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                reader, writer = await asyncio.open_connection("127.0.0.1", await port)
            firefox = Firefox(pushed, reader, writer)
            await firefox.start()
            yield firefox
            writer.close()
        finally:
            with suppress(ProcessLookupError):  # it may have crashed
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            await reading


def _make_profile(folder: Path, preferences: Json) -> None:
    folder.mkdir()
    chosen = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in preferences.items()]
    (folder / "user.js").write_text("\n".join(chosen))


async def _read(output: asyncio.StreamReader, port: asyncio.Future[int]) -> None:
    """To its end: a browser that nobody listens to stops."""
    async for line in output:
        if LISTENING in line and not port.done():
            port.set_result(int(line.rpartition(LISTENING)[2]))
    if not port.done():
        port.set_exception(EOFError("Firefox has ended"))
