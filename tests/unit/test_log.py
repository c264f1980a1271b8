"""Secrets are taken out of texts, however they are quoted there."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.hub.process.log import Format, rotate_log, set_level
from chatbridge.link.hub_start import MAX_LOG_BYTES
from chatbridge.redaction import HIDDEN, SHORTEST, Secrets

BOT = "123456789:AAF-x_yz0123456789abcdefghijklmnopq"
LETTERS = BOT.partition(":")[2]


def knowing(*secrets: str) -> Secrets:
    known = Secrets()
    for secret in secrets:
        known.add(secret)
    return known


def test_a_text_without_a_secret_stays_as_it_is() -> None:
    assert Secrets().redact("hello") == "hello"
    assert knowing(BOT).redact("bot 123456789 is here") == "bot 123456789 is here"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"POST https://host/bot{BOT}/getMe", f"POST https://host/bot{HIDDEN}/getMe"),
        (f"{BOT}{BOT}", f"{HIDDEN}{HIDDEN}"),
        (f"only {LETTERS}!", f"only {HIDDEN}!"),
        (f"/bot{quote(BOT)}/getMe", f"/bot{HIDDEN}/getMe"),
        (f"/bot{quote(BOT, safe='').lower().replace(LETTERS.lower(), LETTERS)}", f"/bot{HIDDEN}"),
    ],
)
def test_a_bots_token_is_taken_out_whole_or_without_its_number(text: str, left: str) -> None:
    assert knowing(BOT).redact(text) == left


def test_of_two_secrets_the_longer_goes_first_in_whatever_order_they_came() -> None:
    for known in (knowing("password", "password-of-ada"), knowing("password-of-ada", "password")):
        assert known.redact("password-of-ada, password") == f"{HIDDEN}, {HIDDEN}"


@pytest.mark.parametrize("short", ["", "x" * (SHORTEST - 1), "a:b"])
def test_what_is_too_short_to_be_a_secret_is_left(short: str) -> None:
    text = f"an example with {short} in it"
    assert knowing(short).redact(text) == text


def test_a_short_one_keeps_no_other_from_being_taken_out() -> None:
    assert knowing("x", BOT, "y").redact(f"x {BOT} y") == f"x {HIDDEN} y"


@given(st.text(min_size=SHORTEST))
def test_any_secret_is_found_however_it_is_quoted(secret: str) -> None:
    known = knowing(secret)
    raw = secret.encode("utf-8", "surrogatepass")
    for quoted in (
        secret,
        quote(raw),
        quote(raw, safe=""),
        quote_plus(raw),
        json.dumps(secret)[1:-1],
        repr(secret)[1:-1],
        repr(raw)[2:-1],
        ascii(secret)[1:-1],
    ):
        assert known.redact(f"<{quoted}>") == f"<{HIDDEN}>", quoted


@pytest.fixture
def levels() -> Iterator[None]:
    loggers = [logging.getLogger(), logging.getLogger("chatbridge")]
    before = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)


@pytest.mark.usefixtures("levels")
@pytest.mark.parametrize(
    ("level", "ours", "libraries"),
    [
        ("debug", logging.DEBUG, logging.DEBUG),
        ("info", logging.INFO, logging.WARNING),
        ("warning", logging.WARNING, logging.WARNING),
        ("error", logging.ERROR, logging.ERROR),
    ],
)
def test_libraries_say_less_than_we_do_but_at_debug(level: str, ours: int, libraries: int) -> None:
    set_level(level)
    assert logging.getLogger("chatbridge.core.asks.broker").getEffectiveLevel() == ours
    for name in ("mcp", "httpx", "httpcore", "telegram", "uvicorn.error", "asyncio", "aiosqlite"):
        assert logging.getLogger(name).getEffectiveLevel() == libraries, name


@pytest.mark.parametrize("breaks", ["\n", "\r\n", "\r", "\u2028", "\x0b", "\x1b[2K"])
def test_a_message_is_one_line_and_the_place_of_an_error_stays_readable(breaks: str) -> None:
    secret = f"pass{breaks}word"
    record = logging.makeLogRecord({"msg": "folder %s: %s", "args": (f"x{breaks}y", secret)})
    written = Format(knowing(secret), journal=True).format(record)
    assert len(written.splitlines()) == 1
    assert "\x1b" not in written
    assert written.endswith(HIDDEN)
    try:
        raise ValueError("inside")
    except ValueError as error:
        record.exc_info = (ValueError, error, error.__traceback__)
    assert len(Format(knowing(), journal=True).format(record).splitlines()) > 3


# ── its length ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def long_log(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A log that has become long, and the descriptor that the hub writes to."""
    path = tmp_path / "hub.log"
    path.touch()
    os.truncate(path, MAX_LOG_BYTES + 1)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    yield path, descriptor
    os.close(descriptor)


def test_a_long_log_goes_on_in_a_new_file(long_log: tuple[Path, int]) -> None:
    path, descriptor = long_log
    rotate_log(str(path), descriptor=descriptor)
    os.write(descriptor, b"new\n")
    rotate_log(str(path), descriptor=descriptor)  # a short one stays
    os.write(descriptor, b"newer\n")
    assert path.read_bytes() == b"new\nnewer\n"
    assert path.with_name("hub.log.1").stat().st_size == MAX_LOG_BYTES + 1


def test_a_hub_that_writes_elsewhere_misses_no_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rotate_log(str(tmp_path / "hub.log"))
    assert not caplog.records


def test_a_hub_that_writes_elsewhere_leaves_the_file_alone(long_log: tuple[Path, int]) -> None:
    path, _ = long_log
    read, journal = os.pipe()
    rotate_log(str(path), descriptor=journal)
    os.close(read)
    os.close(journal)
    assert path.stat().st_size == MAX_LOG_BYTES + 1
