"""`chatbridge inbox` with a real hub: the link it prints logs a browser in."""

from __future__ import annotations

import re
import stat
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.client import HTTPMessage
from pathlib import Path
from typing import IO

import pytest

from chatbridge.cli.inbox import link
from chatbridge.core.errors import ChatbridgeError
from tests.fakes.doctor import Machine
from tests.fakes.machine import House, house


@pytest.fixture
def home() -> Iterator[House]:
    with house() as home:
        yield home


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        return None


def log_in(link: str) -> int:
    address, _, code = link.partition("/login/")
    request = urllib.request.Request(
        f"{address}/login",
        data=urllib.parse.urlencode({"code": code}).encode(),
        headers={"Origin": address},
    )
    try:
        urllib.request.build_opener(_Stay).open(request, timeout=10)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    raise AssertionError("neither in nor refused")


def test_it_starts_a_hub_and_its_link_logs_in_once(home: House) -> None:
    done = home.run("inbox")
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(
        r"Open this link \(works once, 10 minutes\):\n"
        r"  (http://127\.0\.0\.1:\d+/login/\w{4}-\w{4}-\w{4})\n\n"
        r"Only this computer can reach it\. For a phone: chatbridge inbox --phone\n",
        done.stdout,
    )
    assert found
    assert len(home.hubs()) == 1
    assert (log_in(found[1]), log_in(found[1])) == (303, 401)
    again = home.run("inbox")
    assert found[1] not in again.stdout
    assert len(home.hubs()) == 1


def test_an_inbox_that_is_off_is_said(home: House) -> None:
    home.environment["CHATBRIDGE_WEB__ENABLED"] = "false"
    done = home.run("inbox")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("The web inbox is off.\nSet web.enabled = true in ")


def test_a_hub_that_cannot_start_says_why(home: House) -> None:
    home.environment["CHATBRIDGE_MAX_TIMEOUT"] = "soon"
    done = home.run("inbox")
    assert done.returncode == 4
    assert "max_timeout" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_token_is_needed_and_another_one_than_the_hubs_is_not_used(home: House) -> None:
    assert home.run("inbox").returncode == 0
    home.environment["CHATBRIDGE_WEB__TOKEN"] = "a-token-of-another-hub"
    (home.state / "web-token").unlink()
    done = home.run("inbox")
    assert done.returncode == 0
    assert log_in(done.stdout.splitlines()[1].strip()) == 303
    assert "a-token-of-another-hub" not in done.stdout + done.stderr


def test_opening_the_browser_keeps_the_code_out_of_its_arguments(
    home: House, tmp_path: Path
) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/opened\n')
    browser.chmod(0o700)
    home.environment["BROWSER"] = f"{browser} %s"
    done = home.run("inbox", "--open")
    assert done.returncode == 0, done.stderr
    code = done.stdout.partition("/login/")[2].split()[0]
    opened = (tmp_path / "opened").read_text().strip()
    assert code not in opened
    page = Path(urllib.parse.urlsplit(opened).path)
    assert f"/login/{code}" in page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_help_and_unknown_words(home: House) -> None:
    helped = home.run("inbox", "--help")
    assert (helped.returncode, helped.stdout[:23]) == (0, "usage: chatbridge inbox")
    unknown = home.run("inbox", "--colour")
    assert unknown.returncode == 2
    assert "--colour" in unknown.stderr
    assert home.hubs() == []


# ── one of several hubs ───────────────────────────────────────────────────────────────────────────


@pytest.fixture
def follower(machine: Machine) -> Iterator[Machine]:
    machine.set(CHATBRIDGE_STORE="postgresql://nobody@127.0.0.1:1/x")
    link._settings.cache_clear()
    yield machine
    link._settings.cache_clear()


def test_at_a_hub_that_follows_it_says_at_once_where_the_inbox_is(follower: Machine) -> None:
    about = {"role": "follows", "leader": "hub-b", "address": "10.0.0.6:8788"}
    with follower.hub(cluster=about), pytest.raises(ChatbridgeError) as error:
        link.inbox_address(str(follower.state))
    assert str(error.value) == (
        "This hub follows. The inbox is at hub-b (10.0.0.6), which leads. Run there: "
        "chatbridge inbox"
    )


def test_while_no_hub_leads_it_waits_for_one_and_says_so(
    follower: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "ADDRESS_SECONDS", 0.2)
    about = {"role": "follows", "leader": None, "address": None}
    with follower.hub(cluster=about), pytest.raises(ChatbridgeError) as error:
        link.inbox_address(str(follower.state))
    assert str(error.value).startswith("There is no inbox, because no hub leads at present. ")
    assert "chatbridge doctor" in str(error.value)
