"""Finding a homeserver: what a domain says is followed within bounds, to safe addresses only."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from chatbridge.channels.matrix.account.bot import LARGEST, homeserver_of, usable_address
from chatbridge.core.errors import ChatbridgeError

WELL_KNOWN = "/.well-known/matrix/client"
VERSIONS = "/_matrix/client/versions"
OF_A_HOMESERVER = json.dumps({"versions": ["v1.12"]})


class Site:
    """A domain: what it answers, by path."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, str]] = {}
        self.asked: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                status, body = site.pages.get(self.path, (404, "nothing"))
                self.send_response(status)
                if status in (301, 302):
                    self.send_header("Location", body)
                    body = ""
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.name = f"127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))

    def says(self, base_url: object) -> None:
        self.pages[WELL_KNOWN] = (200, json.dumps({"m.homeserver": {"base_url": base_url}}))


@pytest.fixture
def sites() -> Iterator[tuple[Site, Site]]:
    """A domain, and another one that is a homeserver."""
    found = (Site(), Site())
    found[1].pages[VERSIONS] = (200, OF_A_HOMESERVER)
    for site in found:
        site.thread.start()
    yield found
    for site in found:
        site.server.shutdown()
        site.thread.join()
        site.server.server_close()


@pytest.mark.parametrize("given", ["@bot:{}", "{}", "http://{}", "http://{}/"])
async def test_a_homeserver_is_found_by_user_id_name_or_address(
    sites: tuple[Site, Site], given: str
) -> None:
    _, home = sites
    assert await homeserver_of(given.format(home.name)) == f"http://{home.name}"


async def test_what_the_domain_says_is_followed(sites: tuple[Site, Site]) -> None:
    domain, home = sites
    domain.says(f"http://{home.name}/")
    assert await homeserver_of(f"@bot:{domain.name}") == f"http://{home.name}"


async def test_a_few_redirects_are_followed_and_not_more(sites: tuple[Site, Site]) -> None:
    domain, home = sites
    domain.says(f"http://{home.name}")
    domain.pages["/there"] = domain.pages[WELL_KNOWN]
    domain.pages[WELL_KNOWN] = (302, "/there")
    assert await homeserver_of(domain.name) == f"http://{home.name}"
    domain.pages[WELL_KNOWN] = (302, WELL_KNOWN)
    domain.asked.clear()
    with pytest.raises(ChatbridgeError, match="No Matrix server answers"):
        await homeserver_of(domain.name)
    assert domain.asked.count(WELL_KNOWN) <= 8


@pytest.mark.parametrize(
    "elsewhere",
    [
        "http://example.org",
        "ftp://127.0.0.1",
        "http://user:pw@127.0.0.1",
        "javascript:x",
        "",
        7,
        None,
    ],
)
async def test_an_unsafe_address_is_not_followed(
    sites: tuple[Site, Site], elsewhere: object
) -> None:
    domain, _ = sites
    domain.says(elsewhere)
    with pytest.raises(ChatbridgeError):
        await homeserver_of(domain.name)


async def test_a_redirect_out_of_ones_own_network_over_http_is_not_followed(
    sites: tuple[Site, Site],
) -> None:
    domain, _ = sites
    domain.pages[WELL_KNOWN] = (302, "http://example.org/")
    domain.pages[VERSIONS] = (200, OF_A_HOMESERVER)
    assert await homeserver_of(domain.name) == f"http://{domain.name}"


@pytest.mark.parametrize("page", ["", "[]", "{", "no", "[" * 5000, f'{{"x": "{"y" * LARGEST}"}}'])
async def test_what_is_no_homeservers_answer_is_none(sites: tuple[Site, Site], page: str) -> None:
    domain, _ = sites
    domain.pages[VERSIONS] = (200, page)
    with pytest.raises(ChatbridgeError, match="No Matrix server answers"):
        await homeserver_of(domain.name)


def test_http_is_for_ones_own_network_only() -> None:
    assert usable_address("http://192.168.1.2:8008") == "http://192.168.1.2:8008"
    assert usable_address("http://example.org") is None
    assert usable_address("https://example.org") == "https://example.org"
