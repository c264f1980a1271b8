"""What could let somebody in shows up nowhere: not in a log, an argument, an error or a row."""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path

import pytest

from chatbridge import lock_file
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import House, house

OTHERS_TOKEN = "a-token-in-an-agents-env-block"


@pytest.fixture
def home() -> Iterator[House]:
    with house(cold=True) as here:
        yield here


class Browser(urllib.request.HTTPRedirectHandler):
    """A person's browser: logs in with a link's code, and keeps the cookie to itself."""

    def __init__(self, address: str) -> None:
        self.cookie = ""
        self._address = address
        self._opener = urllib.request.build_opener(self)

    def log_in(self, code: str) -> None:
        reply = self.send("/login", code=code)
        self.cookie = (reply.headers["set-cookie"] or "").partition(";")[0]
        assert self.cookie, reply.status

    def send(self, path: str, **fields: str) -> HTTPResponse | urllib.error.HTTPError:
        data = urllib.parse.urlencode(fields).encode() if fields else None
        request = urllib.request.Request(
            self._address + path,
            data=data,
            headers={"Origin": self._address, "Cookie": self.cookie},
        )
        try:
            with self._opener.open(request, timeout=PATIENCE) as reply:
                found: HTTPResponse = reply
                return found
        except urllib.error.HTTPError as error:
            error.close()
            return error

    def redirect_request(self, *_: object) -> None:
        """Stay, to see what the redirection carries."""


def arguments_of_all(state: Path) -> str:
    """The command lines of every process that knows this state directory."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.fsencode(state) in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().decode())
            except OSError:
                continue
    assert any("hub" in line for line in found), found
    return "\n".join(found)


def files_with(secrets: list[str], folder: Path) -> list[str]:
    return [
        f"{secret[:6]}… in {file.name}"
        for file in folder.rglob("*")
        if file.is_file() and file.name != "web-token"
        for secret in secrets
        if secret.encode() in file.read_bytes()
    ]


def wrong_token(address: str, token: str) -> None:
    request = urllib.request.Request(
        f"{address}/api/asks", headers={"Authorization": f"Bearer {token}x"}
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=PATIENCE)
    with refused.value as error:
        assert error.code == 401
        assert token not in error.read().decode()


def test_neither_token_nor_cookie_nor_code_is_left_anywhere_by_a_whole_day(home: House) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        asked = home.until()
        info = lock_file.find_holder(str(home.state))
        assert info is not None
        assert info.web is not None
        token = (home.state / "web-token").read_text().strip()
        printed = home.run("inbox")
        (code,) = re.findall(r"/login/(\S+)", printed.stdout)
        browser = Browser(info.web)
        browser.send(f"/login/{code}")
        browser.log_in(code)
        browser.send("/login", code=code)  # used already
        browser.send(f"/asks/{asked['id']}")
        browser.send(f"/asks/{asked['id']}/form", do="nonsense", step="x")
        browser.send(f"/nowhere?token={token}")
        wrong_token(info.web, token)
        arguments = arguments_of_all(home.state)
        home.warm_up()
        home.answer(asked)
        assert agent.result()["answered"]
        errors = [printed.stderr, home.run("hub").stderr]
        home.environment["CHATBRIDGE_WEB__TOKEN"] = OTHERS_TOKEN
        with home.agent() as other:
            other.initialize()
            errors.append(home.run("inbox").stderr)
        del home.environment["CHATBRIDGE_WEB__TOKEN"]
        agent.close_input()  # its link would start the next hub, cold
        agent.exit_code()
    home.kill_hub()
    with home.agent() as agent:
        agent.initialize()
        agent.ask(2)
        home.until()
    secrets = [token, code, code.replace("-", ""), browser.cookie.partition("=")[2], OTHERS_TOKEN]
    assert files_with(secrets, home.state.parent) == []
    said = json.dumps([arguments, *errors])
    assert [secret for secret in secrets if secret in said] == []
