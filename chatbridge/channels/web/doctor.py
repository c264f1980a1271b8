"""The web inbox: whether it answers, and who else can reach it."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Sequence

from chatbridge.channels.checks import CheckContext, Finding, fine, from_error, problem, remark
from chatbridge.channels.web.push.doctor import check_push
from chatbridge.channels.web.settings import Web
from chatbridge.setting_rules import is_loopback

NAME = "web inbox"
ANSWER_SECONDS = 5.0


async def check(table: Web, context: CheckContext) -> Sequence[Finding]:
    hub = await context.hub()
    if not (table.enabled if hub.status is None else hub.has("web")):
        return [fine(NAME, "off")]
    if hub.status is None:
        return [_reach(table.host, None)]
    address, trouble = hub.status.get("web"), hub.trouble_of("web")
    if trouble:
        return [from_error(NAME, trouble)]
    if not address:
        fix = "chatbridge restart, then look at its log"
        return [problem(NAME, "the hub runs without it", fix)]
    try:
        await asyncio.to_thread(_healthy, str(address))
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        return [problem(NAME, f"{address} does not answer ({reason})", "chatbridge restart")]
    return [_reach(table.host, str(address)), *await check_push(context)]


def _reach(host: str, address: str | None) -> Finding:
    shown = address or "opens with the hub"
    if is_loopback(host):
        return fine(NAME, shown, host=host)
    return remark(
        NAME,
        f"{shown}, open to other computers, without encryption",
        f'put HTTPS before it, or set web.host = "127.0.0.1" (it is {host})',
        host=host,
    )


def _healthy(address: str) -> None:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"{address}/healthz", timeout=ANSWER_SECONDS):
        pass
