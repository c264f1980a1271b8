"""How a hub builds the channels that are set up. Imports none before it is built."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from chatbridge import extras, runtime_paths
from chatbridge.channels.spec import ChannelContext, ChannelSpec, load_reference
from chatbridge.core.login_codes import LoginCodes
from chatbridge.core.pairing import Pairing
from chatbridge.core.ports import Channel, Clock, Health
from chatbridge.hub.process.lock import Lock, account_held
from chatbridge.settings import Settings
from chatbridge.settings.secrets import place_of


def builder_of(
    spec: ChannelSpec[Any],
    settings: Settings,
    *,
    config: Path | None,
    lock: Lock,
    clock: Clock,
    health: Health,
    pairing: Pairing,
    codes: LoginCodes,
) -> Callable[[], Channel]:
    table = settings.table(spec)
    context = ChannelContext(
        clock=clock,
        state=lock.state,
        health=health,
        pairing=pairing,
        codes=codes,
        announce=lock.inbox_at,
        hold=partial(account_held, spec.lock(table)) if spec.lock else nullcontext,
        place_of=partial(place_of, config or Path(runtime_paths.config_path()), spec.name),
    )

    def build() -> Channel:
        if spec.extra is not None:
            extras.need(spec.extra)
        channel: Channel = load_reference(spec.build)(table, context)
        return channel

    return build
