"""The web inbox: whether it answers, who else can reach it, and whether a phone can use it."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
import urllib.request
from collections.abc import Sequence

from chatbridge.channels.checks import (
    CheckContext,
    Finding,
    Mark,
    fine,
    from_error,
    problem,
    remark,
)
from chatbridge.channels.web.push.doctor import check_push
from chatbridge.channels.web.secure_context import ANSWER_SECONDS, Proof, look
from chatbridge.channels.web.settings import Web
from chatbridge.core.errors import ChatbridgeError
from chatbridge.setting_rules import is_loopback

NAME, ELSEWHERE = "web inbox", "inbox address"
OTHERS = 0o077


async def check(table: Web, context: CheckContext) -> Sequence[Finding]:
    hub = await context.hub()
    known = hub.status is not None and not hub.follows
    if not (hub.has("web") if known else table.enabled):
        return [fine(NAME, "off")]
    if hub.follows:
        where = f"served by {hub.leader}, which leads" if hub.leader else "opens where a hub leads"
        return [_reach(table, where), *_key(table, context)]
    if hub.status is None:
        return [_reach(table, None)]
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
    found = [_reach(table, str(address)), *_key(table, context)]
    if table.url or table.tls_cert:
        found.append(await _elsewhere(table, context, str(address)))
    return [*found, *await check_push(context)]


def _reach(table: Web, address: str | None) -> Finding:
    shown, host = address or "opens with the hub", table.host
    if is_loopback(host) or table.tls_cert:
        return fine(NAME, shown, host=host)
    return remark(
        NAME,
        f"{shown}, open to other computers, without encryption",
        f'put HTTPS before it, or set web.host = "127.0.0.1" (it is {host})',
        host=host,
    )


def _key(table: Web, context: CheckContext) -> list[Finding]:
    key = table.tls_key or table.tls_cert
    if key is None:
        return []
    try:
        mode = key.stat().st_mode
    except OSError:
        return []  # the hub's remark says it
    if not mode & OTHERS:
        return []
    path = context.shown(key)
    what = f"others on this computer may read the key of its certificate, {path}"
    return [remark(NAME, what, f"chmod 600 {path}", mode=f"{mode & 0o777:o}")]


async def _elsewhere(table: Web, context: CheckContext, address: str) -> Finding:
    """What a phone would find."""
    if table.url is None:
        fix = "set web.url to the name in its certificate, with the port"
        return remark(ELSEWHERE, "the inbox has a certificate, but not its name", fix)
    if not table.url.startswith("https:"):
        what = f"{table.url} is plain http: phones keep notifications and the microphone from it"
        return remark(ELSEWHERE, what, "remove web.url, then: chatbridge inbox --phone")
    try:
        proof = Proof(**await context.ask("inbox-proof"))
        found = await asyncio.to_thread(look, table.url, proof, behind=address)
    except ChatbridgeError as error:
        # A tailnet's names are known here only where Tailscale may set the computer's DNS.
        unknown = isinstance(error.__cause__, socket.gaierror)
        mark = Mark.REMARK if unknown else Mark.PROBLEM
        return from_error(ELSEWHERE, str(error), mark=mark, url=table.url)
    days = found.days_left(time.time())
    if days is None and table.port is None:
        port = address.rpartition(":")[2]
        what = f"{table.url} works now, but the inbox may have another port after a restart"
        return remark(ELSEWHERE, what, f"set web.port = {port}, and run: chatbridge restart")
    if days is None:
        return fine(ELSEWHERE, table.url, ends=found.ends)
    return remark(
        ELSEWHERE,
        f"{table.url}: its certificate ends in {days} days",
        "renew it; the inbox notices by itself",
        ends=found.ends,
    )


def _healthy(address: str) -> None:
    unnamed = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unnamed.check_hostname = False  # its certificate is made for the name in web.url
    unnamed.verify_mode = ssl.CERT_NONE
    direct = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=unnamed)
    )
    with direct.open(f"{address}/healthz", timeout=ANSWER_SECONDS):
        pass
