"""What the hub writes into its log: the documented sentences, with the ids to find things by."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
from contextlib import closing

from tests.acceptance.bridge import until
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import COLOURS, House
from tests.fakes.program import bare

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def log_of(home: House) -> str:
    return (home.state / "hub.log").read_text(encoding="utf-8")


def logged(home: House, pattern: str) -> re.Match[str]:
    """The first line that fits, now or as soon as it is written."""
    return until(lambda: re.search(pattern, log_of(home)), f"{pattern} in the log")


def test_a_session_that_ended_is_logged_with_its_ask_and_its_call(home: House) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        asked = home.until()
        home.answer(asked)
        agent.result()
    pattern = rf"Session completed successfully session=({UUID}) call=({UUID})"
    found = logged(home, pattern)
    assert found[1] == asked["id"]
    assert re.search(rf"ask {asked['id']} call={found[2]} project=shop", log_of(home))


def test_a_session_that_failed_is_logged_with_its_call_and_the_error(home: House) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1, {"questions": []})
        assert agent.receive()["result"]["isError"]
    sentence = "Validation error: questions array must have at least 1 item"
    logged(home, rf"Session failed call={UUID} tool=ask_user error={sentence}")


def test_what_is_older_than_the_retention_is_swept_at_the_start_and_counted(home: House) -> None:
    with home.agent() as agent:
        agent.initialize()
        agent.ask(1)
        asked = home.until()
        home.answer(asked)
        agent.result()
        home.until_it(asked, lambda ask: ask["delivered"])
        home.kill_hub()
        with closing(sqlite3.connect(home.state / "chatbridge.db")) as database, database:
            database.execute("UPDATE asks SET settled_at = settled_at - 91 * 86400")
        agent.ask(2, {**COLOURS, "wait": False})
        agent.result()
        logged(home, "swept 1 ended asks")
    assert home.status(f"/api/asks/{asked['id']}") == 404


def test_a_hub_under_systemd_gives_the_journal_priorities_and_no_times(home: House) -> None:
    read_end, write_end = os.pipe()
    stream = os.fstat(write_end)
    hub = subprocess.Popen(
        [*home.chatbridge, "hub", "--started-by", "service"],
        stderr=write_end,
        env=bare(
            {
                "JOURNAL_STREAM": f"{stream.st_dev}:{stream.st_ino}",
                **home.environment,
            }
        ),
    )
    os.close(write_end)
    try:
        assert home.asks() == []
    finally:
        hub.terminate()
        hub.wait(PATIENCE)
    with open(read_end, encoding="utf-8") as said:
        lines = said.read().splitlines()
    assert any("ready pid=" in line for line in lines)
    assert [line for line in lines if not re.match(r"<[3-6]>chatbridge\.[\w.]+: ", line)] == []


def test_a_log_file_has_times_though_the_agent_runs_under_systemd(home: House) -> None:
    home.environment["JOURNAL_STREAM"] = "8:1234"
    with home.agent() as agent:
        agent.initialize()
    lines = log_of(home).splitlines()
    assert [line for line in lines if not re.match(r"\d{4}-\d\d-\d\d \d\d:", line)] == []
