"""Notifications of browsers in a hub's process: an answer from one, a kill, and no secret left."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import httpx2
import pytest

from chatbridge import lock_file
from tests.fakes.machine import House, house
from tests.fakes.program import bare
from tests.fakes.push_service import PushService

CODE = "from chatbridge.cli.hub.hub_client import ask_hub; print(ask_hub('login-code')['code'])"
WORKER = {"X-Chatbridge": "worker"}


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService.running() as found:
        yield found


@pytest.fixture
def home(service: PushService) -> Iterator[House]:
    with house(CHATBRIDGE_PUSH__SERVICES=service.address, CHATBRIDGE_LOG_LEVEL="debug") as found:
        yield found


def logged_in(home: House) -> httpx2.Client:
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=bare(home.environment),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    home.asks()  # once its inbox is up
    hub = lock_file.find_holder(str(home.state))
    assert hub is not None
    assert hub.web is not None
    page = httpx2.Client(base_url=hub.web, headers={"Origin": hub.web}, trust_env=False)
    assert page.post("/login", data={"code": done.stdout.strip()}).status_code == 303
    return page


def test_a_browser_rings_answers_hears_of_another_outlives_a_kill_and_leaves_no_secret(
    home: House, service: PushService
) -> None:
    with home.agent() as agent:
        agent.initialize()
        with closing(logged_in(home)) as page:
            key = page.get("/push/key").json()["key"]
            browser = service.browser(key)
            added = page.post("/push/subscriptions", json=browser.subscription, headers=WORKER)
            assert added.status_code == 201, added.text
            agent.ask(1)
            shown = browser.sees("Which colour?")
            (blue,) = [it for it in shown["actions"] if it["title"] == "blue"]
            body = {**shown["data"], "option": int(blue["action"])}
            taken = page.post("/push/answer", json=body, headers=WORKER)
            assert taken.json() == {"text": "Answered: blue"}
            assert agent.result()["answers"][0]["values"] == ["blue"]
        with closing(logged_in(home)) as page:
            second = service.browser(key).subscription
            page.post("/push/subscriptions", json=second, headers=WORKER).raise_for_status()
            browser.sees("Notifications were turned on in")
        home.until_gone(home.kill_hub())
        agent.ask(2, {"questions": [{"question": "And now?", "type": "text"}]})
        browser.sees("And now?")
        said = [home.run("doctor", "--json").stdout, home.run("status").stdout]
        (told,) = [it for it in json.loads(said[0])["checks"] if it["name"] == "notifications"]
        assert told["result"] == "ok"
    assert service.faults == []
    files = [it for it in home.state.rglob("*") if it.is_file() and ".db" not in it.name]
    kept = [it.read_bytes().decode(errors="replace") for it in files]
    assert any("hub" in text for text in kept), "the log"
    keys = browser.subscription["keys"]
    for secret in (browser.token, keys["auth"], shown["data"]["key"]):
        assert not [text for text in (*said, *kept) if secret in text]
