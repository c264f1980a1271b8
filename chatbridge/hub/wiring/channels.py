"""Builds the channels of a hub, each with what it may use of the hub."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from chatbridge.channels.spec import ChannelContext, ChannelSpec
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.pairing import Pairing
from chatbridge.core.ports import Channel, Clock, Health
from chatbridge.hub.process.lock import Lock, account_held
from chatbridge.hub.wiring.channel_supervisor import ChannelSupervisor
from chatbridge.settings import Settings
from chatbridge.settings.secrets import place_of


@dataclass(slots=True, kw_only=True)
class Channels:
    settings: Settings
    config: Path  # Where the settings are
    lock: Lock
    clock: Clock
    health: Health
    pairing: Pairing
    codes: LoginCodes
    supervisor: ChannelSupervisor
    shared: bool  # Whether there are several hubs
    inbox: str | None = None  # Where it can be opened from elsewhere, once that is known

    def add_all(self) -> tuple[str, ...]:
        """Give them to the supervisor. Return what they have to import."""
        # Pages first: they are up before any chat.
        specs = sorted(self.settings.active_channels(), key=lambda spec: spec.is_chat)
        for spec in specs:
            build = partial(self._build, spec)
            self.supervisor.add(spec.name, build, unwatched=spec.unwatched)
        return tuple(spec.module for spec in specs)

    def _build(self, spec: ChannelSpec[Any]) -> Channel:
        """Imports the channel's module."""
        made, table = spec.load(spec.build), self.settings.table(spec)

        def announce(address: str) -> None:
            self.inbox = spec.page(table, address)
            self.lock.note(web=address)

        # Of several hubs one has the account because it leads. Another one on this computer may
        # stand still, and hold the lock for ever.
        account = spec.lock(table) if spec.lock and not self.shared else None
        context = ChannelContext(
            clock=self.clock,
            state=self.lock.state,
            health=self.health,
            pairing=self.pairing,
            codes=self.codes,
            announce=announce,
            hold=partial(account_held, account) if account else nullcontext,
            place_of=partial(place_of, self.config, spec.name),
            inbox=lambda: self.inbox,
            push=self.settings.push,
            tell=self.supervisor.tell_again,
        )
        channel: Channel = made(table, context)
        return channel
