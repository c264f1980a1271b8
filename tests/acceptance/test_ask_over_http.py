"""`chatbridge ask --hub`: a script on another machine, and a real hub that it reaches over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.asking import Asking
from tests.acceptance.bridge import Json, new_home, until
from tests.acceptance.served import Served, served
from tests.fakes.on_terminal import OnTerminal

FIRST_LINE = re.compile(r"Asked through 127\.0\.0\.1:\d+ \(([0-9a-f]{6})\)\. Ctrl-C: leave\.\n")
LEFT = "Stopped waiting. Whether it is still open shows, at the hub: chatbridge pending"
LONGER = """\
--timeout '9h' is longer than this hub allows.
To allow more: max_timeout in its config.toml
"""


@pytest.fixture(scope="module")
def hub() -> Iterator[Served]:
    with new_home(MIN_TIMEOUT="1s") as here, served(here) as it:
        yield it


@pytest.fixture(scope="module")
def token(hub: Served) -> str:
    return hub.token("ci")


@pytest.fixture(scope="module", autouse=True)
def forgotten(hub: Served, token: str) -> Iterator[Asking]:
    """Asked before all others: ten seconds are the shortest time that there is."""
    with remotely(hub, token, "Forgotten?", "--timeout", "10") as asking:
        asking.first_line()
        yield asking


def elsewhere(hub: Served, token: str) -> dict[str, str]:
    """A home in which nothing is set up."""
    home = str(hub.home.folder / "elsewhere")
    folders = ("HOME", "CHATBRIDGE_STATE_DIR", "CHATBRIDGE_RUNTIME_DIR")
    return {**dict.fromkeys(folders, home), "CHATBRIDGE_TOKEN": token}


def remotely(hub: Served, token: str, *words: str) -> Asking:
    return Asking(hub.home, "--hub", hub.url, *words, **elsewhere(hub, token))


def asked(hub: Served, text: str) -> Json:
    return hub.home.person.sees(text, project="ci")


def test_the_answer_comes_back_and_no_hub_is_started_here(hub: Served, token: str) -> None:
    with remotely(hub, token, "Deploy 2.4?", "-o", "Yes", "-o", "Not today") as asking:
        found = FIRST_LINE.fullmatch(asking.first_line())
        assert found
        question = asked(hub, "Deploy 2.4?")
        assert question["id"].startswith(found[1])
        assert question["agent"]["name"] == "shell"
        hub.home.person.answer(question, {"values": ["Not today"]})
        code, out, _ = asking.ends()
        assert (code, out) == (0, "Not today\n")
    assert not (hub.home.folder / "elsewhere").exists()


def test_a_file_goes_along_as_data(hub: Served, token: str, tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_text("first this")
    with remotely(hub, token, "Like this?", "--attach", str(tmp_path / "plan.txt")) as asking:
        question = asked(hub, "Like this?")
        assert [file["name"] for file in question["attachments"]] == ["plan.txt"]
        hub.home.person.answer(question, {"values": ["yes"]})
        assert asking.ends()[:2] == (0, "yes\n")


def test_a_cancelled_question_is_5_with_the_reason(hub: Served, token: str) -> None:
    with remotely(hub, token, "Cancel me?", "--confirm") as asking:
        asking.first_line()
        hub.home.person.cancel(asked(hub, "Cancel me?")["id"], reason="not now")
        code, out, said = asking.ends()
        assert (code, out) == (5, "")
        assert said.endswith("Cancelled: not now\n")


def test_a_stranger_is_refused_with_1_and_nobody_is_asked(hub: Served) -> None:
    with remotely(hub, "cb_" + "x" * 43, "Let me in?") as asking:
        code, out, said = asking.ends()
    assert (code, out) == (1, "")
    assert "This token is not known, or was removed." in said
    assert "cb_" not in said
    assert not [it for it in hub.home.person.open_asks() if "Let me in" in json.dumps(it)]


def test_a_time_that_the_hub_does_not_allow_is_1_and_says_what_would(
    hub: Served, token: str
) -> None:
    with remotely(hub, token, "For long?", "--timeout", "9h") as asking:
        assert asking.ends() == (1, "", LONGER)


def test_the_hub_may_be_killed_while_it_waits(hub: Served, token: str) -> None:
    with remotely(hub, token, "Over a restart?") as asking:
        asking.first_line()
        before = asked(hub, "Over a restart?")
        hub.kill()
        hub.start_again()
        question = asked(hub, "Over a restart?")
        assert question["id"] == before["id"]
        hub.home.person.answer(question, {"values": ["still here"]})
        assert asking.ends()[:2] == (0, "still here\n")


def test_ctrl_c_on_a_terminal_lets_go_of_the_question(hub: Served, token: str) -> None:
    words = ("ask", "--hub", hub.url, "Left alone?")
    with OnTerminal(elsewhere(hub, token), *words, cwd=hub.home.folder) as terminal:
        terminal.expect("Ctrl-C: leave.")
        terminal.interrupt()
        code, shown = terminal.finish()
    assert (code, " ".join(shown.split())) == (130, f"^C{LEFT}")
    with remotely(hub, token, "Left alone?") as again:  # the same question, and not a second one
        again.first_line()
        question = asked(hub, "Left alone?")
        hub.home.person.answer(question, {"values": ["late"]})
        assert again.ends()[:2] == (0, "late\n")


def test_a_question_that_times_out_is_3(forgotten: Asking) -> None:
    code, out, said = forgotten.ends()
    assert (code, out) == (3, "")
    assert "Nobody answered." in said


def test_a_notice_reaches_the_inbox(hub: Served, token: str) -> None:
    environment = {**hub.home.environment, "CHATBRIDGE_TOKEN": token}
    with Asking(hub.home, "Built", "--hub", hub.url, command="notify", **environment) as telling:
        assert telling.ends()[0] == 0
    notices = until(lambda: hub.home.person.request("/api/notices"), "the notice")
    assert [it["message"] for it in notices] == ["Built"]
