"""`chatbridge inbox`: a link that logs a browser in."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from chatbridge import lock_file, runtime_paths
from chatbridge.cli.hub.hub_client import ask_hub, connection
from chatbridge.cli.ui.running import WrongUsage
from chatbridge.core.errors import ChatbridgeError, HubUnreachable
from chatbridge.link import search

if TYPE_CHECKING:
    from chatbridge.channels.checks import HubState
    from chatbridge.channels.web.settings import Web
    from chatbridge.settings import Settings

ADDRESS_SECONDS = 15.0
"""A hub that has just started takes a moment longer to open its inbox."""
NO_LEADER = (
    "There is no inbox, because no hub leads at present. Find out why: chatbridge doctor, and then "
    "again: chatbridge inbox"
)
OF_A_MACHINE = (
    "This computer has one hub for all its users, and its inbox is root's. Your own questions: "
    "chatbridge pending. For root: sudo CHATBRIDGE_STATE_DIR=/var/lib/chatbridge chatbridge inbox"
)


def inbox(given: argparse.Namespace) -> int:
    from urllib.parse import urlsplit

    from chatbridge.setting_rules import is_loopback

    if given.phone:
        from chatbridge.cli.inbox.phone import on_phone

        return on_phone(yes=given.yes, as_json=given.json)
    if given.yes or given.json:
        raise WrongUsage("--yes and --json go with --phone")
    state = runtime_paths.state_dir()
    address = own_inbox(state)
    seen_at = _outside() or address
    link = login_link(seen_at)
    print(f"Open this link (works once, 10 minutes):\n  {link}\n")
    if is_loopback(urlsplit(seen_at).hostname or ""):
        print("Only this computer can reach it. For a phone: chatbridge inbox --phone")
    if given.open and not open_in_browser(link, state):
        sys.stderr.write("No browser could be opened. Open the link yourself.\n")
    return 0


def own_inbox(state: str) -> str:
    """The address of this user's inbox; a hub is started if none runs.
    :raises ChatbridgeError: there is none, or it is root's."""
    with connection(start=True) as sock:
        if search.is_machine_hub_wanted() and sock.getpeername() == search.MACHINE_SOCKET:
            raise ChatbridgeError(OF_A_MACHINE)
    return inbox_address(state)


def login_link(address: str) -> str:
    """Works once, for ten minutes."""
    return f"{address}/login/{ask_hub('login-code', start=True)['code']}"


def inbox_address(state: str) -> str:
    """:raises ChatbridgeError: the hub that runs has none."""
    until = time.monotonic() + ADDRESS_SECONDS
    while (info := lock_file.read(state)) is None or info.web is None:
        hub = _of_several()
        if hub.leader:
            raise ChatbridgeError(
                f"This hub follows. The inbox is at {hub.leader}, which leads. Run there: "
                "chatbridge inbox"
            )
        if not _web().enabled:
            raise ChatbridgeError(
                f"The web inbox is off. Set web.enabled = true in {runtime_paths.config_path()} "
                "(or CHATBRIDGE_WEB__ENABLED), then: chatbridge restart, and again: "
                "chatbridge inbox"
            )
        if time.monotonic() > until:
            if hub.follows:
                raise ChatbridgeError(NO_LEADER)
            raise ChatbridgeError(
                "The hub runs without its web inbox; its log says why: "
                f"{runtime_paths.log_path(state)}. Then: chatbridge restart, and again: "
                "chatbridge inbox"
            )
        time.sleep(0.05)
    return info.web


def _of_several() -> HubState:
    """What the hub says of itself, if it may be one of several."""
    from chatbridge.channels.checks import HubState

    if _settings().server() is not None:
        with suppress(HubUnreachable):  # it begins to lead at this moment, or to follow
            return HubState(status=ask_hub("status"))
    return HubState()


@cache
def _settings() -> Settings:
    from chatbridge import settings

    return settings.load()


def _web() -> Web:
    from chatbridge.channels.web.spec import WEB

    return _settings().table(WEB)


def _outside() -> str | None:
    """Where a proxy serves the inbox. Without settings it is not worth the time to load them."""
    if url := os.environ.get("CHATBRIDGE_WEB__URL"):
        return url
    has = os.path.exists(runtime_paths.config_path()) or "CREDENTIALS_DIRECTORY" in os.environ
    return _web().url if has else None


def open_in_browser(link: str, state: str) -> bool:
    """Through a private file: a browser's arguments can be read by every user of the computer."""
    import webbrowser
    from html import escape
    from pathlib import Path

    path = os.path.join(state, "inbox.html")
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(file, "w", encoding="utf-8") as out:
        out.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(link)}">\n')
    return webbrowser.open(Path(path).as_uri())
