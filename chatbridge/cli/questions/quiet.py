"""`chatbridge quiet`: quiet hours by hand."""

from __future__ import annotations

import argparse

from chatbridge.cli.hub.hub_client import ask_hub, is_set_up
from chatbridge.cli.ui.running import say


def quiet(given: argparse.Namespace) -> int:
    reply = ask_hub("quiet", start=is_set_up(), words=" ".join(given.words))
    say(str(reply["said"]))
    return 0
