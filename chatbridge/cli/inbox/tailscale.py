"""What the program `tailscale` says of this computer, and `tailscale serve`.

Owns reading its JSON and putting its refusals into words. `tailscale serve` passes requests from
the owner's other devices on to a port of this computer, with a certificate that browsers trust.
`tailscale funnel` would do so for the whole internet: it is never used, and a port that has it is
refused.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chatbridge.core.errors import ChatbridgeError
from chatbridge.core.text import one_line, shortened

Json = Mapping[str, Any]

MAC_APP = "/Applications/Tailscale.app/Contents/MacOS/Tailscale"
PORTS = (443, 8443, *range(10443, 10453))
"""Tried in this order: an address without a port is easier to type."""
STATUS_SECONDS, SERVE_SECONDS = 10.0, 60.0
AGAIN = "Then again: chatbridge inbox --phone"
STATES = {
    "Stopped": f"Tailscale is switched off. Run: sudo tailscale up. {AGAIN}",
    "NeedsLogin": f"Tailscale is not logged in. Run: sudo tailscale up. {AGAIN}",
    "NeedsMachineAuth": "This computer is not approved in your tailnet yet. Approve it at "
    f"https://login.tailscale.com/admin/machines. {AGAIN}",
    "Starting": f"Tailscale is just starting. Wait a moment. {AGAIN}",
    "NoState": f"Tailscale is just starting. Wait a moment. {AGAIN}",
}
NO_HTTPS = (
    "Your tailnet has no HTTPS certificates yet. Switch on MagicDNS and HTTPS at "
    f"https://login.tailscale.com/admin/dns. {AGAIN}"
)
NOT_ALLOWED = (
    "Tailscale lets only root change what it serves. Allow yourself once: sudo tailscale set "
    f"--operator=$USER. {AGAIN}"
)
TOO_OLD = f"This Tailscale is too old: 1.52 or newer is needed. Update it. {AGAIN}"


@dataclass(frozen=True, slots=True)
class HttpsPort:
    """An https port of this computer in its tailnet."""

    port: int
    serves: bool
    """Whether it leads to the inbox already."""


@dataclass(frozen=True, slots=True)
class Tailscale:
    program: str
    name: str
    """This computer's in its tailnet: box.tail1234.ts.net."""
    addresses: tuple[str, ...]

    @classmethod
    def here(cls) -> Tailscale | None:
        """None: it is not installed. :raises ChatbridgeError: it cannot be used, and what to do."""
        program = shutil.which("tailscale") or shutil.which(MAC_APP)
        if program is None:
            return None
        done = _run(program, "status", "--json", "--peers=false")
        if done.returncode:
            raise ChatbridgeError(
                f"Tailscale does not answer ({_said(done)}). Start it, on Linux with: sudo "
                f"systemctl start tailscaled. {AGAIN}"
            )
        status = _read(done.stdout)
        state = str(status.get("BackendState"))
        if state != "Running":
            other = f"Tailscale is not ready ({one_line(state)}). See: tailscale status. {AGAIN}"
            raise ChatbridgeError(STATES.get(state, other))
        me = status.get("Self")
        name = str(me.get("DNSName") or "").rstrip(".") if isinstance(me, dict) else ""
        if not name or name not in (status.get("CertDomains") or ()):
            raise ChatbridgeError(NO_HTTPS)
        return cls(program, name.lower(), tuple(map(str, status.get("TailscaleIPs") or ())))

    def url(self, port: int) -> str:
        return f"https://{self.name}" + ("" if port == 443 else f":{port}")

    def place(self, target: str, *, first: int | None = None) -> HttpsPort:
        """The port that leads to `target`, or a free one; `first` is tried before the others.
        :raises ChatbridgeError:"""
        done = _run(self.program, "serve", "status", "--json")
        if done.returncode:
            raise ChatbridgeError(f"Tailscale does not say what it serves ({_said(done)}). {AGAIN}")
        return find_port(_read(done.stdout), self.name, target, first=first)

    def command(self, port: int, target: str) -> list[str]:
        return ["tailscale", "serve", "--bg", f"--https={port}", target]

    def serve(self, port: int, target: str) -> None:
        """:raises ChatbridgeError: it does not, and what to do."""
        done = _run(self.program, *self.command(port, target)[1:], within=SERVE_SECONDS)
        if done.returncode:
            said = done.stderr + done.stdout
            if "Access denied" in said or "access denied" in said:
                raise ChatbridgeError(NOT_ALLOWED)
            if "flag provided but not defined" in said:
                raise ChatbridgeError(TOO_OLD)
            raise ChatbridgeError(f"Tailscale refused to serve the inbox ({_said(done)}). {AGAIN}")
        # It also ends well after it has only said what is to be switched on first.
        if self.place(target, first=port) != HttpsPort(port, serves=True):
            raise ChatbridgeError(f"Tailscale does not serve the inbox ({_said(done)}). {AGAIN}")


def find_port(config: Json, name: str, target: str, *, first: int | None = None) -> HttpsPort:
    """Where this configuration of what is served has `target`, or room for it.
    :raises ChatbridgeError: there is none, or everybody could come."""
    free = None
    for port in PORTS if first is None else (first, *PORTS):
        if _leads_to(config, name, port, target):
            if _table(config, "AllowFunnel").get(f"{name}:{port}"):
                raise ChatbridgeError(
                    f"Tailscale serves the inbox to the whole internet (Funnel, port {port}). "
                    f"Switch that off: tailscale funnel --https={port} off. {AGAIN}"
                )
            return HttpsPort(port, serves=True)
        if free is None and not _is_taken(config, port):
            free = port
    if free is None:
        raise ChatbridgeError(
            f"Tailscale serves other things at all of the ports {', '.join(map(str, PORTS))}. "
            f"Switch one off: tailscale serve --https=443 off. {AGAIN}"
        )
    return HttpsPort(free, serves=False)


# ── its answers ───────────────────────────────────────────────────────────────────────────────────


def _run(
    program: str, *words: str, within: float = STATUS_SECONDS
) -> subprocess.CompletedProcess[str]:
    # The app of macOS is a command line only if it is told to be one.
    environment = {**os.environ, "TAILSCALE_BE_CLI": "1"}
    try:
        return subprocess.run(
            [program, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=within,
            env=environment,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = getattr(error, "strerror", None) or f"no answer within {within:.0f} s"
        raise ChatbridgeError(
            f"tailscale {words[0]} failed ({why}). See what it says: tailscale {words[0]}. {AGAIN}"
        ) from None


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return shortened(one_line(done.stderr.strip() or done.stdout.strip()), 200)


def _read(text: str) -> Json:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = False
    if not isinstance(found, dict | None):
        raise ChatbridgeError(f"What Tailscale says cannot be read. Update it. {AGAIN}")
    return found or {}


def _table(config: Json, *names: str) -> Json:
    """A part of what it says, wherever it may be missing."""
    for name in names:
        found = config.get(name)
        config = found if isinstance(found, dict) else {}
    return config


def _leads_to(config: Json, name: str, port: int, target: str) -> bool:
    """And nowhere else, with https."""
    handlers = _table(config, "Web", f"{name}:{port}", "Handlers")
    proxied = str(_table(handlers, "/").get("Proxy", "")).replace("://localhost:", "://127.0.0.1:")
    https = _table(config, "TCP", str(port)).get("HTTPS") is True
    return https and set(handlers) == {"/"} and proxied.rstrip("/") == target


def _is_taken(config: Json, port: int) -> bool:
    """Also by a `tailscale serve` in some terminal."""
    sessions = (each for each in _table(config, "Foreground").values() if isinstance(each, dict))
    return any(str(port) in _table(each, "TCP") for each in (config, *sessions))
