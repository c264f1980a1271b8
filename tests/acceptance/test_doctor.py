"""`chatbridge doctor` as a person runs it: beside a real hub, on a real terminal, for a script."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator

import pytest

from chatbridge import __version__
from tests.fakes.chat_settings import telegram_settings
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import House, Json, frozen, house
from tests.fakes.on_terminal import OnTerminal
from tests.fakes.telegram.people import Phone
from tests.fakes.telegram.server import BotApi

RESULTS = ("ok", "remark", "problem")


@pytest.fixture(scope="module")
def api() -> Iterator[BotApi]:
    with BotApi.running() as api:
        yield api


@pytest.fixture(scope="module")
def phone(api: BotApi) -> Phone:
    ada = api.person("Ada")
    return api.private(ada).phone(ada)


@pytest.fixture(scope="module")
def home(api: BotApi, phone: Phone) -> Iterator[House]:
    """A hub with an agent and a bot, all of it as it should be."""
    zone = {"CHATBRIDGE_QUIET__ZONE": "Pacific/Kiritimati"}
    with house(**telegram_settings(api, phone.person), **zone) as home:
        config = home.state.parent / ".config" / "chatbridge" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("")
        config.chmod(0o600)
        with home.agent() as agent:
            agent.initialize()
            api.until(lambda it: it.polling)
            home.asks()  # once the inbox is up
            yield home


def report(home: House) -> tuple[int, Json]:
    done = home.run("doctor", "--json")
    assert done.stderr == ""
    found: Json = json.loads(done.stdout)
    return done.returncode, found


def checks(found: Json) -> dict[str, Json]:
    return {check["name"]: check for check in found["checks"]}


def test_it_says_of_quiet_hours_by_hand_what_the_hub_says(home: House) -> None:
    assert "quiet" not in checks(report(home)[1])
    said = home.run("quiet", "on", "2h").stdout
    until = re.search(r"on until \d\d:\d\d", said)
    assert until, said
    assert f"by hand {until[0]}, without sound" in checks(report(home)[1])["quiet"]["what"]
    home.run("quiet", "off")
    assert "quiet" not in checks(report(home)[1])


def test_beside_a_hub_that_works_there_is_no_problem_and_it_ends_with_0(home: House) -> None:
    code, found = report(home)
    assert (code, found["ok"], found["problems"]) == (0, True, 0), found
    assert found["version"] == __version__
    assert found["remarks"] == sum(it["result"] == "remark" for it in found["checks"])
    for check in found["checks"]:
        assert set(check) == {"name", "result", "what", "fix", "details"}
        assert check["result"] in RESULTS
        assert all(isinstance(fix, str) for fix in check["fix"])
    by_name = checks(found)
    assert by_name["hub"]["details"]["links"] == 1
    assert by_name["hub"]["details"]["pid"] == home.hub()
    assert by_name["web inbox"]["what"].startswith("http://127.0.0.1:")
    assert by_name["telegram"]["what"].endswith("can write to 1 chat")
    assert by_name["database"]["what"] == "0 questions, integrity ok"


def test_a_second_poller_is_a_problem_with_what_to_do_and_it_ends_with_1(
    home: House, api: BotApi, phone: Phone
) -> None:
    api.another_poller(on=True)
    try:
        until = time.monotonic() + PATIENCE
        while (done := home.run("doctor")).returncode == 0:  # until the hub has met it
            assert time.monotonic() < until, done.stdout
    finally:
        api.another_poller(on=False)
    assert (
        "✗ telegram         another program polls this bot (409)\n"
        "                   → stop it: look for a second chatbridge, or another bridge\n"
        "                     with the same token; or make a new bot: chatbridge setup\n"
    ) in done.stdout
    assert "\n1 problem" in done.stdout
    assert done.stdout.endswith("Details: chatbridge doctor --json\n")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stderr == ""
    # A poll that has brought something shows the hub that it is alone again.
    api.until(lambda it: it.polling)
    phone.say("hello")
    api.until_confirmed()


def test_no_secret_is_in_anything_that_it_prints(home: House, api: BotApi) -> None:
    web = (home.state / "web-token").read_text().strip()
    for words in ((), ("--json",)):
        done = home.run("doctor", *words)
        for secret in (api.token, api.token.partition(":")[2], web):
            assert secret not in done.stdout + done.stderr


def test_a_hub_that_is_stuck_keeps_nothing_waiting(home: House) -> None:
    with frozen(home.hub()):
        code, found = report(home)
    assert code == 1
    assert "no answer within 4 s" in checks(found)["hub"]["what"]
    assert checks(found)["database"]["result"] == "ok"


def test_with_nothing_there_it_starts_nothing_and_makes_nothing() -> None:
    with house() as home:
        before = sorted(home.state.parent.rglob("*"))
        done = home.run("doctor")
        assert done.returncode == 0, done.stdout
        assert "! hub              Nothing is set up yet\n" in done.stdout
        assert home.hubs() == []
        assert sorted(home.state.parent.rglob("*")) == before


def test_a_broken_configuration_and_no_network_still_end_with_a_whole_screen() -> None:
    with house() as home:
        token = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
        config = home.state.parent / ".config" / "chatbridge" / "config.toml"
        config.parent.mkdir(parents=True)
        server = 'api_base = "http://127.0.0.1:9"'
        config.write_text(f'[telegram]\n{server}\ntoken = "{token}"\nallowed_users = [1]\n')
        done = home.run("doctor")
        assert done.returncode == 1
        assert "✗ telegram         127.0.0.1 cannot be reached" in done.stdout
        config.write_text(f'tokem = "{token}"\n')
        done = home.run("doctor")
        assert done.returncode == 1
        assert "✗ configuration    tokem is not a setting (line 1)\n" in done.stdout
        assert "✓ clock" in done.stdout
        assert token not in done.stdout + done.stderr


def test_on_a_terminal_what_is_waited_for_is_shown_and_gone_in_the_end(home: House) -> None:
    with OnTerminal(home.environment, "doctor") as terminal:
        assert terminal.finish()[0] == 0
    assert "\r\x1b[K… " in terminal.raw
    lines = terminal.raw.replace("\r\n", "\n").split("\n")
    left = [line.rpartition("\r\x1b[K")[2] for line in lines]
    assert any(line.startswith("\x1b[32m✓\x1b[0m hub ") for line in left)
    assert not any("… " in line for line in left)


def test_ctrl_c_ends_it_at_once_and_without_a_word(home: House) -> None:
    with frozen(home.hub()), OnTerminal(home.environment, "doctor") as terminal:
        terminal.expect("… hub")
        terminal.interrupt()
        assert terminal.finish()[0] == 130
    assert "Traceback" not in terminal.raw
