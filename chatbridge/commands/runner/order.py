"""An order as it comes over the socket: `running.Order`, checked by hand. Importing dataclasses
would take the runner longer than all the rest of its start."""

from __future__ import annotations

import os

from chatbridge.commands.runner.connection import Garbage

_LONGEST = 1e9
"""Seconds, some decades: of a number without bounds no time can be counted."""


class Order:
    __slots__ = (
        "argv",
        "environment",
        "executable",
        "folder",
        "id",
        "limit",
        "output",
        "timeout",
    )

    def __init__(self, given: object) -> None:
        """:raises Garbage: it is no order."""
        if not isinstance(given, dict):
            raise Garbage("an order is no object")
        self.id = _text(given, "id")
        self.executable = _text(given, "executable")
        self.folder = _text(given, "folder")
        self.output = _text(given, "output")
        self.argv = _list(given.get("argv"))
        self.environment = _mapping(given.get("environment"))
        limit, timeout = given.get("limit"), given.get("timeout")
        if type(limit) is not int or limit < 0:
            raise Garbage("an order's limit is no number of bytes")
        if not isinstance(timeout, int | float) or not 0 <= timeout <= _LONGEST:
            raise Garbage("an order's timeout is no number of seconds")
        self.limit = limit
        self.timeout = float(timeout)


def _text(given: dict[str, object], name: str) -> str:
    found = given.get(name)
    if not isinstance(found, str) or not found or "\0" in found:
        raise Garbage(f"an order's {name} is no text")
    try:
        os.fsencode(found)
    except UnicodeEncodeError:
        raise Garbage(f"an order's {name} can name no file") from None
    return found


def _list(found: object) -> list[str]:
    if not isinstance(found, list) or not found or not _all_texts(found):
        raise Garbage("an order's argv is no list of texts")
    return found


def _mapping(found: object) -> dict[str, str]:
    if not isinstance(found, dict) or not _all_texts(list(found.values())):
        raise Garbage("an order's environment is no object of texts")
    return found


def _all_texts(found: list[object]) -> bool:
    return all(isinstance(text, str) for text in found)
