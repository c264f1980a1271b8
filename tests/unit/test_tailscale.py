"""What Tailscale serves already decides where it can serve the inbox."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.cli.inbox.tailscale import PORTS, HttpsPort, find_port
from chatbridge.core.errors import ChatbridgeError

BOX = "box.tail0a1b.ts.net"
INBOX = "http://127.0.0.1:8787"
OTHER = "http://127.0.0.1:3000"


def served(port: int, target: str = INBOX, more: dict[str, Any] | None = None) -> dict[str, Any]:
    handlers = {"Handlers": {"/": {"Proxy": target}, **(more or {})}}
    return {"TCP": {str(port): {"HTTPS": True}}, "Web": {f"{BOX}:{port}": handlers}}


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({}, HttpsPort(443, serves=False)),
        (served(443), HttpsPort(443, serves=True)),
        (served(443, "http://localhost:8787/"), HttpsPort(443, serves=True)),
        (served(443, OTHER), HttpsPort(8443, serves=False)),
        (served(443, more={"/files": {"Path": "/srv"}}), HttpsPort(8443, serves=False)),
        ({**served(443), "TCP": {"443": {"HTTP": True}}}, HttpsPort(8443, serves=False)),
        ({"Foreground": {"1": served(443)}}, HttpsPort(8443, serves=False)),
    ],
)
def test_a_port_is_reused_or_a_free_one_taken(config: dict[str, Any], place: HttpsPort) -> None:
    assert find_port(config, BOX, INBOX) == place


def test_the_port_of_the_address_that_is_set_comes_first() -> None:
    assert find_port(served(9443), BOX, INBOX, first=9443) == HttpsPort(9443, serves=True)
    assert find_port({}, BOX, INBOX, first=9443) == HttpsPort(9443, serves=False)


def test_what_leads_to_the_whole_internet_is_refused() -> None:
    config = {**served(443), "AllowFunnel": {f"{BOX}:443": True}}
    with pytest.raises(ChatbridgeError, match="tailscale funnel --https=443 off"):
        find_port(config, BOX, INBOX)


def test_ports_that_are_all_taken_are_named() -> None:
    config = {"TCP": {str(port): {"HTTPS": True} for port in PORTS}}
    with pytest.raises(ChatbridgeError, match="at all of the ports 443, 8443"):
        find_port(config, BOX, INBOX)


PORT = st.sampled_from([str(port) for port in PORTS])
NAMED = PORT.map(lambda port: f"{BOX}:{port}")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from([INBOX, OTHER]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["TCP", "Web", "Handlers", "/", "Proxy", "HTTPS", "Foreground"])
            | PORT
            | NAMED,
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["TCP", "Web", "AllowFunnel", "Foreground"]), ANYTHING))
def test_whatever_is_said_nobody_elses_port_is_taken(config: dict[str, Any]) -> None:
    try:
        place = find_port(config, BOX, INBOX)
    except ChatbridgeError:
        return
    taken = config.get("TCP")
    if not place.serves:
        assert not (isinstance(taken, dict) and str(place.port) in taken)
