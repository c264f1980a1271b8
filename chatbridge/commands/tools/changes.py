"""How clients of the era without a handshake hear of another list of tools.

Apart from `tool_list`, since a first start does not wait for the SDK.
"""

from __future__ import annotations

from collections.abc import Callable

from mcp.server.subscriptions import InMemorySubscriptionBus, ServerEvent, ToolsListChanged

from chatbridge.commands.tools.notifications import Pushes


class Changes(InMemorySubscriptionBus):
    """One whose subscription is made again after a restart of the hub may have missed the
    change."""

    def __init__(self, pushes: Pushes) -> None:
        super().__init__()
        self._pushes = pushes

    async def tools_changed(self) -> None:
        await self.publish(ToolsListChanged())

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        unsubscribe = super().subscribe(listener)
        if self._pushes.other_tools:
            listener(ToolsListChanged())
        return unsubscribe
