"""`chatbridge disconnect`: takes chatbridge out of a client's configuration again."""

from __future__ import annotations

import argparse

from chatbridge.cli.connect.command import argument_parser, carried_out, checked, disconnect

DESCRIPTION = """\
Takes chatbridge out of the MCP servers of an agent's program. Shows what would change and asks; the
file is then as it was before.
"""


def main(argv: list[str]) -> int:
    given = checked(parser(), argv)
    return carried_out(disconnect, given)


def parser() -> argparse.ArgumentParser:
    return argument_parser("disconnect", DESCRIPTION)
