"""`chatbridge inbox --phone`: the inbox on a phone, over https, in one command.

Owns the choice of a way (Tailscale, a proxy, a certificate of one's own), asking before anything
is changed, the check of the address, and the code that a phone scans.
"""

from __future__ import annotations

import json
import secrets
import shlex
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from chatbridge import runtime_paths
from chatbridge.channels.web.secure_context import ANSWER_SECONDS, Proof, look
from chatbridge.channels.web.settings import Web
from chatbridge.channels.web.spec import WEB
from chatbridge.cli.config_file import Key, Value, change, config_file
from chatbridge.cli.hub.control import restart_hub
from chatbridge.cli.hub.hub_client import ask_hub
from chatbridge.cli.inbox.link import inbox_address, login_link, own_inbox
from chatbridge.cli.inbox.tailscale import AGAIN, Tailscale
from chatbridge.cli.ui import prompts
from chatbridge.cli.ui.qr import coloured, qr_lines
from chatbridge.cli.ui.running import columns
from chatbridge.cli.ui.wording import display_path
from chatbridge.core.errors import ChatbridgeError, NoTerminal
from chatbridge.settings import load

TAILNET = ".ts.net"
OWN_PORTS = range(20_000, 30_000)
"""Below those that the system gives to connections."""
CERTIFICATE_SECONDS = 90.0
"""How long Tailscale may take for the first connection: it gets the certificate then."""
WAYS = """\
A phone opens the inbox over https alone, and nothing serves it yet. Choose one of
  Tailscale      simplest: install it here and on the phone
  a proxy        with a certificate, as Caddy has: set web.port, web.url
  a certificate  of your own: set web.tls_cert, web.tls_key, web.host, web.url"""
NO_WAY = f"{WAYS}\n{AGAIN}"
ABOUT_TAILSCALE = "Tailscale can serve the inbox to the devices in your tailnet, and to no others:"
IPHONE = (
    "iPhone: first Share, Add to Home Screen; open it from there, and log in with the code at the "
    "link's end."
)


@dataclass(frozen=True, slots=True)
class Served:
    """Where a phone finds the inbox."""

    url: str
    tailscale: Tailscale | None = None
    """Serves it there."""


def on_phone(*, yes: bool, as_json: bool) -> int:
    """:raises ChatbridgeError: what is missing, and what to do."""
    served = reachable(yes=yes, quiet=as_json)
    if served is None:
        return 1
    link = login_link(served.url)
    if as_json:
        print(json.dumps({"url": served.url, "link": link}))
    else:
        show(link, in_tailnet=served.tailscale is not None)
    return 0


def reachable(*, yes: bool, quiet: bool = False) -> Served | None:
    """Once a phone can use the inbox: served, and checked. None: the person does not want it.
    `quiet`: says and asks nothing on the way.
    :raises ChatbridgeError: what is missing, and what to do."""
    state = runtime_paths.state_dir()
    address = own_inbox(state)
    web = load().table(WEB)
    served = way(web)
    if served.tailscale is not None:
        found = _through(served.tailscale, address, web, yes=yes, quiet=quiet)
        if found is None:
            return None
        served, address = found, inbox_address(state)
    _check(served, address)
    if not quiet:
        prompts.good(f"{served.url} is secure, and leads to this computer's inbox")
    return served


def way(web: Web) -> Served:
    """What serves the inbox, or can. :raises ChatbridgeError: nothing can, and what to do."""
    name = urlsplit(web.url).hostname or "" if web.url else None
    if web.tls_cert is None and (name is None or name.endswith(TAILNET)):
        tailscale = Tailscale.here()
        if tailscale is not None and name in (None, tailscale.name):
            return Served(web.url or "", tailscale)
    if web.url is not None:
        return Served(web.url)
    if web.tls_cert is None:
        raise ChatbridgeError(NO_WAY)
    raise ChatbridgeError(
        "The inbox has a certificate, but web.url does not say for which name. Set it, with the "
        'port, as in web.url = "https://inbox.example.org:8787", and run: chatbridge restart. '
        f"{AGAIN}"
    )


def _check(served: Served, address: str) -> None:
    """:raises ChatbridgeError: a phone could not use it."""
    proof = Proof(**ask_hub("inbox-proof", start=True))
    known = served.tailscale.addresses if served.tailscale else ()
    seconds = CERTIFICATE_SECONDS if served.tailscale else ANSWER_SECONDS
    look(served.url, proof, behind=address, at=next(iter(known), None), seconds=seconds)


# ── Tailscale ─────────────────────────────────────────────────────────────────────────────────────


def _through(
    tailscale: Tailscale, address: str, web: Web, *, yes: bool, quiet: bool
) -> Served | None:
    first = urlsplit(web.url).port or 443 if web.url else None
    place = tailscale.place(address, first=first)
    if web.port is None and not place.serves:
        address = f"http://127.0.0.1:{_own_port()}"
    served = Served(tailscale.url(place.port), tailscale)
    wanted: dict[Key, Value] = {
        ("web", "port"): urlsplit(address).port,
        ("web", "url"): served.url,
    }
    changes = {key: it for key, it in wanted.items() if getattr(web, key[-1]) != it}
    command = shlex.join(tailscale.command(place.port, address))
    steps = [f"  run    {command}"] if not place.serves else []
    if changes:
        said = ", ".join(f"{'.'.join(key)} = {json.dumps(it)}" for key, it in changes.items())
        steps.append(f"  write  {said} in {display_path(config_file())}, and restart the hub")
    if not steps:
        return served
    if not quiet:
        prompts.explain("\n".join([ABOUT_TAILSCALE, *steps]))
    if not (yes or _agreed(quiet=quiet)):
        return None
    if not place.serves:
        tailscale.serve(place.port, address)
    if changes:
        change(config_file(), changes)
        restart_hub()
    if not (quiet or place.serves):
        prompts.say("  … getting the certificate; the first time takes up to a minute")
    return served


def _own_port() -> int:
    """A free one that no hub takes by itself, also while this one is not running."""
    while True:
        port = OWN_PORTS[secrets.randbelow(len(OWN_PORTS))]
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def _agreed(*, quiet: bool) -> bool:
    """:raises NoTerminal: nobody is here to ask."""
    try:
        if quiet:
            raise NoTerminal("Something has to be changed first, and --json does not ask")
        prompts.take_terminal("inbox --phone")
    except NoTerminal as error:
        raise NoTerminal(f"{error}. For scripts: chatbridge inbox --phone --yes") from None
    agreed = prompts.confirm("Do that?", default=True)
    if not agreed:
        prompts.say("  Nothing was changed. To do it later: chatbridge inbox --phone")
    return agreed


# ── the code ──────────────────────────────────────────────────────────────────────────────────────


def show(link: str, *, in_tailnet: bool) -> None:
    """The code comes last: it has to fit into the window as a whole."""
    prompts.say()
    if in_tailnet:
        prompts.wrapped("The phone has to be in the same tailnet: log in to Tailscale there, too.")
    prompts.wrapped(IPHONE)
    picture = qr_lines(link)
    if sys.stdout.isatty() and columns() >= len(picture[0]) + 4:
        prompts.say("Scan this with your phone's camera (works once, 10 minutes):\n")
        for line in picture:
            print(f"    {coloured(line)}")
        prompts.say(f"\nor open  {link}")
    else:
        prompts.say(f"Open this link on your phone (works once, 10 minutes):\n  {link}")
