"""`chatbridge serve`: the hub in the foreground, with MCP over HTTP for agents elsewhere."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from chatbridge import lock_file, runtime_paths
from chatbridge.core.errors import ChatbridgeError, SettingsError

USUAL = "127.0.0.1:8788"


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    from chatbridge.hub.process.log import log_to_stderr
    from chatbridge.redaction import redacted

    log_to_stderr()
    try:
        serve(options.http, config=options.config)
    except ChatbridgeError as error:
        sys.stderr.write(redacted(f"{error}\n"))
        return 1
    return 0


def serve(address: str, *, config: Path | None) -> None:
    """:raises ChatbridgeError:"""
    from chatbridge.hub.process.lock import Lock

    state = runtime_paths.state_dir()
    holder = lock_file.find_holder(state)
    if holder is not None and holder.started_by != "link":
        who = "as a service" if holder.started_by == "service" else "in another terminal"
        raise SettingsError(
            f"the hub already runs {who} (pid {holder.pid}). It can do this, too: put\n\n"
            f'  [http]\n  address = "{address}"\n\n'
            f"into {config or runtime_paths.config_path()}, then restart it"
        )
    with Lock(state, started_by="person", takes_over=True) as lock:
        import uvloop

        from chatbridge.hub.process.systemd import Systemd
        from chatbridge.hub.wiring.hub import run_hub

        uvloop.run(
            run_hub(lock, config=config, ready=lambda: None, systemd=Systemd(), http=address)
        )


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="chatbridge serve",
        description="Run the hub in the foreground, and let agents on other machines connect to it "
        "over HTTP. Each needs a token: chatbridge token add NAME. A hub that an agent has started "
        "hands over to this one. To have it always, set http.address in config.toml instead.",
    )
    parser.add_argument(
        "--http",
        metavar="ADDRESS",
        type=_address,
        default=USUAL,
        help=f"where to listen (default: {USUAL}); agents connect to http://ADDRESS/mcp",
    )
    parser.add_argument("--config", type=Path, help="the configuration file to use")
    return parser


def _address(value: str) -> str:
    from chatbridge.settings.tools import host_and_port

    try:
        host_and_port(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return value
