"""A desktop's notification service, on a D-Bus of its own: it keeps what is shown, and somebody can
press a button of it. Browsers that find its bus show their notifications here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from jeepney import (
    DBusAddress,
    HeaderFields,
    Message,
    MessageType,
    message_bus,
    new_method_return,
    new_signal,
)
from jeepney.io.asyncio import DBusConnection, open_dbus_connection

NAME = "org.freedesktop.Notifications"
ADDRESS = DBusAddress("/org/freedesktop/Notifications", interface=NAME)
CAPABILITIES = ["actions", "body", "persistence"]
INFORMATION = ("pretend desktop", "chatbridge", "1", "1.2")
TAP = "default"
"""The action of a notification that is pressed itself."""
CLOSED_BY_CALL = 3
PATIENCE_SECONDS = 15.0
CONFIGURATION = """<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <policy context="default">
    <allow send_destination="*"/> <allow receive_sender="*"/> <allow own="*"/>
  </policy>
</busconfig>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    id: int
    title: str
    text: str
    buttons: dict[str, str]
    """The action of each button, by its words."""


@dataclass(slots=True)
class Desktop:
    bus: str
    """The address of its bus, for a browser's environment."""
    _connection: DBusConnection
    shown: dict[int, Shown] = field(default_factory=dict)
    _last: int = 0
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, fits: Callable[[Sequence[Shown]], bool]) -> Sequence[Shown]:
        """Wait until what is shown is like this."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._changed:
            await self._changed.wait_for(lambda: fits([*self.shown.values()]))
            return [*self.shown.values()]

    async def one(self, title: str) -> Shown:
        """The only notification, once it has this title."""
        return (await self.until(lambda shown: [each.title for each in shown] == [title]))[0]

    async def press(self, shown: Shown, button: str | None = None) -> None:
        """As a person does. None: the notification itself."""
        action = TAP if button is None else shown.buttons[button]
        await self._signal("ActionInvoked", "us", (shown.id, action))

    async def serve(self) -> None:
        while True:
            message = await self._connection.receive()
            if message.header.message_type is MessageType.method_call:
                async with self._changed:
                    await self._connection.send(self._reply(message))
                    self._changed.notify_all()
                if message.header.fields.get(HeaderFields.member) == "CloseNotification":
                    gone = (message.body[0], CLOSED_BY_CALL)
                    await self._signal("NotificationClosed", "uu", gone)

    def _reply(self, message: Message) -> Message:
        match message.header.fields.get(HeaderFields.member):
            case "GetCapabilities":
                return new_method_return(message, "as", (CAPABILITIES,))
            case "GetServerInformation":
                return new_method_return(message, "ssss", INFORMATION)
            case "Notify":
                _, replaces, _, title, text, actions, *_ = message.body
                self._last += 1
                number = replaces or self._last
                buttons = dict(zip(actions[1::2], actions[::2], strict=True))
                self.shown[number] = Shown(id=number, title=title, text=text, buttons=buttons)
                return new_method_return(message, "u", (number,))
            case "CloseNotification":
                self.shown.pop(message.body[0], None)
        return new_method_return(message)

    async def _signal(self, name: str, signature: str, body: tuple[object, ...]) -> None:
        await self._connection.send(new_signal(ADDRESS, name, signature, body))


@asynccontextmanager
async def running_desktop(folder: Path, dbus_daemon: str) -> AsyncIterator[Desktop]:
    file = folder / "bus.conf"
    file.write_text(CONFIGURATION.format(socket=folder / "bus"))
    daemon = await asyncio.create_subprocess_exec(
        dbus_daemon,
        f"--config-file={file}",
        "--nofork",
        "--print-address",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,  # it may not raise its limits, and says so
    )
    assert daemon.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            bus = (await daemon.stdout.readline()).decode().strip()
            connection = await open_dbus_connection(bus)
            await connection.send(message_bus.RequestName(NAME))
        desktop = Desktop(bus, connection)
        serving = asyncio.create_task(desktop.serve())
        try:
            yield desktop
        finally:
            serving.cancel()
            await asyncio.wait({serving})
            await connection.close()
    finally:
        daemon.terminate()
        await daemon.wait()
