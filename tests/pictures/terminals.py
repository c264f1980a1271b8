"""What `chatbridge connect` shows for each client, run on a real terminal of 80 columns."""

from __future__ import annotations

import os
import tempfile
from html import escape
from pathlib import Path

from chatbridge.cli.connect.catalogue import CLIENTS
from chatbridge.cli.connect.machine import program
from tests.fakes.client_home import Home, before
from tests.fakes.on_terminal import OnTerminal

ASKED = "Write these?"
INSTALLED = "/home/you/.local/bin/chatbridge"
STYLE = """
body { margin: 0; padding: 14px 16px; background: #0e1311; color: #e7eeea }
pre { margin: 0; font: 13px/1.4 ui-monospace, "DejaVu Sans Mono", monospace;
  white-space: pre-wrap }
.added { color: #8ee0a6 } .taken { color: #ff9a90 } .about { color: #a2b0a9 }
.typed { font-weight: 700 }
"""
KINDS = (("+++", "about"), ("---", "about"), ("@@", "about"), ("+", "added"), ("-", "taken"))


def pages() -> dict[str, str]:
    return {f"connect-{client}": _page(client) for client in CLIENTS}


def _page(client: str) -> str:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        linked = _linked(Path(folder))
        home = Home(Path(folder), {"PATH": f"{linked.parent}{os.pathsep}{os.environ['PATH']}"})
        home.has(client, before(client))
        with OnTerminal(home.environ, "connect", client) as terminal:
            shown = terminal.expect(ASKED) + ASKED
            terminal.type("y")
            shown += terminal.finish()[1]
    lines = shown.replace(str(linked), INSTALLED).strip().splitlines()
    typed = f'<span class="typed">$ chatbridge connect {client}</span>'
    drawn = "\n".join([typed, *map(_line, lines)])
    return f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><pre>{drawn}</pre>"


def _linked(folder: Path) -> Path:
    """This chatbridge, under a name as long as the one that is shown instead: lines are cut and
    broken where they would be there."""
    link = folder / "bin" / "chatbridge"
    assert len(str(link)) == len(INSTALLED)
    link.parent.mkdir()
    link.symlink_to(program().command)
    return link


def _line(text: str) -> str:
    kind = next((name for begins, name in KINDS if text.startswith(begins)), "")
    return f'<span class="{kind}">{escape(text)}</span>'
