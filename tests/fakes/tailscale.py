"""A stand-in for Tailscale: the program `tailscale`, and a daemon that really serves.

The daemon is a thread of the test. It prints what the real one prints (`tailscale status --json`,
`tailscale serve status --json` and the texts of its refusals are those of its source, 1.103), takes
the same words, and passes requests on from an address of 127.0.0.0/8 of its own, over TLS, with the
headers that the real one adds.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.fakes.authority import Authority
from tests.fakes.reverse_proxy import reverse_proxy

Json = dict[str, Any]
Reply = tuple[int, str, str]

PROGRAM = """\
#!{python} -SE
import json, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({path!r})
    line.sendall(json.dumps(sys.argv[1:]).encode() + b"\\n")
    code, out, err = json.loads(line.makefile().readline())
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""
NOT_RUNNING = (
    "failed to connect to local tailscaled; it doesn't appear to be running "
    "(sudo systemctl start tailscaled ?)\n"
)
DENIED = """\
Access denied: serve config denied

Use 'sudo tailscale {}'.
To not require root, use 'sudo tailscale set --operator=$USER' once.
"""
SERVING = """\
Available within your tailnet:

https://{name}{port}/
|-- proxy {target}

Serve started and running in the background.
To disable the proxy, run: tailscale serve --https={number} off
"""
HELP = "try `tailscale serve --help` for usage info\n"


class Daemon:
    """What is set here is so from the next command on."""

    def __init__(self, folder: Path, authority: Authority) -> None:
        self.folder = folder / "bin"
        """For PATH."""
        self.name = "box.tail0a1b.ts.net"
        self.address = f"127.{secrets.randbelow(200) + 20}.{secrets.randbelow(250)}.7"
        self.state = "Running"
        self.https = True
        self.operator = True
        self.runs = True
        self.funnel: list[int] = []
        self.config: Json = {}
        self.heard: list[list[str]] = []
        self.issued = authority.issue(self.name, file="tailscale")
        self._path = folder / "tailscaled.sock"
        self._proxies: AsyncExitStack

    # ── the program ───────────────────────────────────────────────────────────────────────────────

    async def reply(self, words: list[str]) -> Reply:
        self.heard.append(words)
        match words:
            case ["status", *flags] if set(flags) == {"--json", "--peers=false"}:
                return (0, json.dumps(self.status(), indent=2), "") if self.runs else _refused()
            case ["serve", "status", "--json"]:
                return 0, json.dumps(self.config or None, indent=2) + "\n", ""
            case ["serve", "--bg", https, target] if https.startswith("--https="):
                return await self._serve(int(https.removeprefix("--https=")), target)
        return 1, "", HELP

    def status(self) -> Json:
        up = self.state == "Running"
        return {
            "Version": "1.103.0-tde9ec7ee2",
            "TUN": True,
            "BackendState": self.state,
            "AuthURL": "",
            "TailscaleIPs": [self.address, "fd7a:115c:a1e0::7"] if up else None,
            "Self": {"HostName": "box", "DNSName": f"{self.name}." if up else "", "OS": "linux"},
            "Health": [],
            "MagicDNSSuffix": self.name.partition(".")[2] if up else "",
            "CertDomains": [self.name] if up and self.https else None,
            "Peer": None,
            "User": None,
        }

    async def _serve(self, port: int, target: str) -> Reply:
        if not self.https:
            text = "\nServe is not enabled on your tailnet.\nTo enable, visit:\n"
            return 0, f"{text}\n         https://login.tailscale.com/f/serve?node=n1\n\n", ""
        if "TCPForward" in self.config.get("TCP", {}).get(str(port), {}):
            return 1, "", f"error: cannot serve web; already serving TCP\n\n{HELP}"
        if not self.operator:
            return 1, "", DENIED.format(f"serve --bg --https={port} {target}")
        self.config.setdefault("TCP", {})[str(port)] = {"HTTPS": True}
        handlers = {"Handlers": {"/": {"Proxy": target}}}
        self.config.setdefault("Web", {})[f"{self.name}:{port}"] = handlers
        await self._proxies.enter_async_context(
            reverse_proxy(
                urlsplit(target).port or 80,
                f"X-Forwarded-Host: {self.name}",
                "X-Forwarded-Proto: https",
                "X-Forwarded-For: 100.64.0.9",
                "Tailscale-User-Login: robin@example.org",
                tls=self.issued.server(),
                at=(self.address, port),
            )
        )
        shown = "" if port == 443 else f":{port}"
        return 0, SERVING.format(name=self.name, port=shown, target=target, number=port), ""

    # ── the daemon ────────────────────────────────────────────────────────────────────────────────

    async def run(self, started: threading.Event, stop: asyncio.Event) -> None:
        self.folder.mkdir()
        program = self.folder / "tailscale"
        program.write_text(PROGRAM.format(python=sys.executable, path=str(self._path)))
        program.chmod(0o755)

        async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            words = json.loads(await reader.readline())
            writer.write(json.dumps(await self.reply(words)).encode() + b"\n")
            await writer.drain()
            writer.close()

        async with AsyncExitStack() as self._proxies:
            server = await asyncio.start_unix_server(visit, self._path)
            started.set()
            await stop.wait()
            server.close()


def _refused() -> Reply:
    return 1, "", NOT_RUNNING


@contextmanager
def running_tailscale(folder: Path, authority: Authority) -> Iterator[Daemon]:
    daemon, loop = Daemon(folder, authority), asyncio.new_event_loop()
    started, stop = threading.Event(), asyncio.Event()
    thread = threading.Thread(
        target=loop.run_until_complete, args=(daemon.run(started, stop),), daemon=True
    )
    thread.start()
    try:
        assert started.wait(20)
        yield daemon
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        loop.close()
