"""What a hub said about Telegram."""

from __future__ import annotations

import logging

import pytest


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    """Our own lines of at least this level."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelno >= level and record.name.startswith("chatbridge")
    ]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return lines(caplog, logging.WARNING)
