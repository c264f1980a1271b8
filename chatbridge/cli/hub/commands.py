"""The arguments of commands about the hub, the service that keeps it running, and its inbox."""

from __future__ import annotations

import argparse

from chatbridge.cli.ui.running import Command, argument, flag

SERVICE = """\
Keeps the hub running as a service of systemd, on macOS of launchd: it starts
with this computer or when you log in, and comes back by itself.

  install    write its files, enable and start it; again if folders change
  uninstall  stop it and remove its files
  status     whether it runs, and which version
  logs       what the hub says; further options go to journalctl, on macOS to
             tail (-f, -n 20)
  restart    after an upgrade or a change of the settings
  start      start it after a stop
  stop       stop it until the next log-in, or until: chatbridge service start

Agents that wait do not notice a restart.
"""
SERVICE_WORDS = ("install", "uninstall", "status", "logs", "restart", "start", "stop")
INBOX_EPILOG = """\
--phone finds Tailscale, a proxy (web.url) or your own certificate (web.tls_cert),
says what it would change, and asks. It then checks that the address is secure and
leads to this hub. Nothing is opened to the internet.
"""
FORCE = flag("--force", help="even if no hub could start with the settings")

status = Command(
    "status",
    "Says whether the hub runs, and whether all is well with it.",
    flag("--json", help="print it as JSON"),
    epilog="exit codes: 0 it runs, 4 it does not. What could be wrong: chatbridge doctor",
    work="chatbridge.cli.hub.status:status",
)

version = Command(
    "version",
    "Prints the installed version, and says if the running hub has another one.",
    work="chatbridge.cli.hub.status:version",
)

stop = Command(
    "stop",
    "Stops the hub. Open questions stay open: the next hub goes on with them.",
    FORCE,
    work="chatbridge.cli.hub.control:stop",
)

restart = Command(
    "restart",
    "Restarts the hub, for instance after a change of the settings. Agents that\n"
    "wait do not notice. A hub is started if none runs.",
    FORCE,
    work="chatbridge.cli.hub.control:restart",
)

service = Command(
    "service",
    SERVICE,
    argument("what", choices=SERVICE_WORDS, metavar="WHAT", help="one of these"),
    argument(
        "--linger",
        action=argparse.BooleanOptionalAction,
        help="install: go on after a log-out, without asking (not on macOS)",
    ),
    flag("--force", help="restart, stop: even if no hub could start with the settings"),
    usage="chatbridge service WHAT [--linger | --no-linger] [--force]",
    passes_on=True,  # to what shows the log
    work="chatbridge.cli.service.command:service",
)

inbox = Command(
    "inbox",
    "Prints a link that logs your browser in to the inbox. It works once, for 10\n"
    "minutes. A hub is started if none runs.",
    [
        flag("--open", help="open the link in this computer's browser, too"),
        flag("--phone", help="make the inbox reachable from your phone, and show a code to scan"),
    ],
    flag("--yes", "-y", help="with --phone: do not ask"),
    flag("--json", help="with --phone: print the address and the link as JSON"),
    epilog=INBOX_EPILOG,
    work="chatbridge.cli.inbox.link:inbox",
)
