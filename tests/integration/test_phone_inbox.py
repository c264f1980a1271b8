"""`chatbridge inbox --phone` with a real hub and a stand-in for Tailscale: what is changed, what is
said where it cannot be, and what strangers get who come that way."""

from __future__ import annotations

import json
import re
import socket
import tomllib
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from chatbridge.channels.web.settings import Web
from chatbridge.cli.inbox.phone import way
from chatbridge.cli.inbox.tailscale import Tailscale
from chatbridge.core.errors import ChatbridgeError
from tests.fakes.authority import Authority
from tests.fakes.machine import House, house
from tests.fakes.tailscale import Daemon, running_tailscale

LINK = re.compile(r"https://\S+/login/(\w{4}-\w{4}-\w{4})")
INBOX = "http://127.0.0.1:8787"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def tailscale(authority: Authority, tmp_path: Path) -> Iterator[Daemon]:
    with running_tailscale(tmp_path, authority) as daemon:
        # 443 is somebody else's: only root could listen there.
        daemon.config = {"TCP": {"443": {"TCPForward": "127.0.0.1:22"}}}
        yield daemon


@pytest.fixture
def home(authority: Authority, tailscale: Daemon) -> Iterator[House]:
    with house(SSL_CERT_FILE=str(authority.file), PATH=str(tailscale.folder)) as home:
        yield home


@pytest.fixture
def here(tailscale: Daemon, monkeypatch: pytest.MonkeyPatch) -> Daemon:
    """Tailscale on this computer, for what asks it without a hub."""
    monkeypatch.setenv("PATH", str(tailscale.folder))
    return tailscale


def config_of(home: House) -> Path:
    return Path(home.environment["HOME"]) / ".config" / "chatbridge" / "config.toml"


def written(home: House) -> dict[str, Any]:
    return tomllib.loads(config_of(home).read_text()) if config_of(home).exists() else {}


def changes(daemon: Daemon) -> list[list[str]]:
    return [words for words in daemon.heard if "--bg" in words]


class Phone:
    """A device in the tailnet."""

    def __init__(self, daemon: Daemon, authority: Authority, url: str) -> None:
        self.url = url
        self._at = (daemon.address, urlsplit(url).port or 443)
        self._name, self._trusted = daemon.name, authority.client()

    def sends(self, method: str, path: str, body: str = "", **headers: str) -> HTTPResponse:
        plain = socket.create_connection(self._at, timeout=20)
        connection = HTTPConnection(self._name)
        connection.sock = self._trusted.wrap_socket(plain, server_hostname=self._name)
        headers = {it.replace("_", "-"): value for it, value in headers.items()}
        usual = {"Host": urlsplit(self.url).netloc, "Origin": self.url}
        form = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
        connection.request(method, path, body or None, {**usual, **form, **headers})
        response = connection.getresponse()
        response.read()
        connection.close()
        return response

    def logs_in(self, code: str, **headers: str) -> int:
        return self.sends("POST", "/login", urlencode({"code": code}), **headers).status


def test_with_tailscale_one_command_serves_checks_and_gives_a_link(
    home: House, tailscale: Daemon, authority: Authority
) -> None:
    unasked = home.run("inbox", "--phone", "--json")
    assert unasked.returncode == 1
    assert "chatbridge inbox --phone --yes" in unasked.stderr
    assert (written(home), changes(tailscale)) == ({}, [])

    done = home.run("inbox", "--phone", "--yes")
    assert done.returncode == 0, done.stderr
    url = f"https://{tailscale.name}:8443"
    port = written(home)["web"]["port"]
    assert written(home) == {"web": {"port": port, "url": url}}
    assert changes(tailscale) == [["serve", "--bg", "--https=8443", f"http://127.0.0.1:{port}"]]
    assert f"{url} is secure" in done.stdout
    link = LINK.search(done.stdout)
    assert link

    again = home.run("inbox", "--phone", "--json")
    assert again.returncode == 0, again.stderr
    said = json.loads(again.stdout)
    assert said["url"] == url
    assert len(changes(tailscale)) == 1

    phone = Phone(tailscale, authority, url)
    known = LINK.fullmatch(said["link"])
    assert known
    cookie = phone.sends("POST", "/login", urlencode({"code": known[1]}))
    assert cookie.status == 303
    assert "; Secure" in str(cookie.headers["set-cookie"])
    assert phone.logs_in(known[1]) == 401  # it works once
    # What the proxy says of the visitor logs nobody in, and its headers name no other host.
    assert phone.sends("GET", "/").headers["location"] == "/login"
    for name in ("evil.example", f"{tailscale.name}:9999"):
        assert phone.sends("GET", "/", Host=name).status == 403
        assert phone.sends("GET", "/", X_Forwarded_Host=name).status == 303
    assert phone.logs_in(link[1], Origin="https://evil.example") == 403
    assert phone.logs_in(link[1], Origin=f"http://{tailscale.name}:8443") == 403
    token = (home.state / "web-token").read_text().strip()
    assert phone.sends("GET", "/api/asks", Authorization=f"Bearer {token}").status == 200
    assert phone.sends("GET", "/api/asks", Authorization="Bearer other").status == 401
    assert phone.sends("GET", "/", Authorization=f"Bearer {token}").status == 401


def test_a_script_sets_it_up_and_nothing_is_written_where_it_cannot_be(
    home: House, tailscale: Daemon
) -> None:
    tailscale.https = False
    done = home.run("setup", "--non-interactive", "--phone", "--wait", "2h")
    assert done.returncode == 1
    assert "Your tailnet has no HTTPS certificates yet." in done.stderr
    assert written(home) == {}
    tailscale.https = True
    done = home.run("setup", "--non-interactive", "--phone", "--wait", "2h")
    assert done.returncode == 0, done.stderr
    assert LINK.search(done.stdout)
    assert written(home)["web"]["url"] == f"https://{tailscale.name}:8443"


def test_without_tailscale_the_three_ways_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ChatbridgeError) as error:
        way(Web())
    for word in ("Tailscale", "web.url", "web.tls_cert", "Then again: chatbridge inbox --phone"):
        assert word in str(error.value)


def test_a_name_that_is_set_counts_and_tailscale_is_not_asked(here: Daemon) -> None:
    assert way(Web(url="https://inbox.example.org")).tailscale is None
    files = {"tls_cert": "/inbox.pem", "tls_key": "/inbox.key"}
    with pytest.raises(ChatbridgeError, match=r"web\.url does not say for which name"):
        way(Web.model_validate(files))
    assert here.heard == []


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"state": "Stopped"}, "is switched off. Run: sudo tailscale up"),
        ({"state": "NeedsLogin"}, "is not logged in. Run: sudo tailscale up"),
        ({"state": "NeedsMachineAuth"}, "is not approved in your tailnet yet"),
        ({"state": "Starting"}, "is just starting"),
        ({"state": "Sleepy"}, "is not ready (Sleepy)"),
        ({"https": False}, "no HTTPS certificates yet. Switch on MagicDNS and HTTPS at"),
        ({"runs": False}, "does not answer (failed to connect to local tailscaled"),
    ],
)
def test_what_keeps_tailscale_from_serving_is_said_with_the_next_step(
    here: Daemon, broken: dict[str, Any], says: str
) -> None:
    for name, value in broken.items():
        setattr(here, name, value)
    with pytest.raises(ChatbridgeError) as error:
        way(Web())
    assert says in str(error.value)
    assert str(error.value).endswith("Then again: chatbridge inbox --phone")


def found(daemon: Daemon) -> Tailscale:
    tailscale = Tailscale.here()
    assert tailscale is not None
    assert (tailscale.name, tailscale.addresses[0]) == (daemon.name, daemon.address)
    return tailscale


def test_who_may_not_change_what_is_served_is_told_how(here: Daemon) -> None:
    here.operator = False
    with pytest.raises(ChatbridgeError, match=r"sudo tailscale set --operator=\$USER"):
        found(here).serve(8443, INBOX)
    here.operator, here.https = True, False
    with pytest.raises(ChatbridgeError, match="Serve is not enabled on your tailnet"):
        Tailscale(str(here.folder / "tailscale"), here.name, ()).serve(8443, INBOX)
    here.https = True
    with pytest.raises(ChatbridgeError, match="already serving TCP"):
        found(here).serve(443, INBOX)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("echo hello", "cannot be read"),
        ("echo '[]'", "cannot be read"),
        ("exit 1", "does not answer"),
        ("echo 'flag provided but not defined: -bg' >&2; exit 2", "too old"),
    ],
)
def test_a_program_that_says_something_else_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, says: str
) -> None:
    file = tmp_path / "tailscale"
    file.write_text(f"#!/bin/sh\n{program}\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    asked: Callable[[], object] = Tailscale.here
    if says == "too old":
        asked = lambda: Tailscale(str(file), "box.tail0a1b.ts.net", ()).serve(443, INBOX)  # noqa: E731
    with pytest.raises(ChatbridgeError, match=says):
        asked()
