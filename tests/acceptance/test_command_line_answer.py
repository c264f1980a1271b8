"""`pending`, `answer`, `cancel`, `history`, `status` and `version` as a person runs them: on a
terminal and in a pipe, in front of one real hub."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chatbridge import __version__
from tests.fakes.link_client import PATIENCE
from tests.fakes.machine import COLOURS, Agent, House, house
from tests.fakes.on_terminal import OnTerminal, in_pipe
from tests.fakes.program import CHATBRIDGE, bare

Json = dict[str, Any]
NUMBERS = itertools.count(1)
NIGHT = "\x1b[2J\x1b]8;;http://evil\x07click\u202e me\x07\n\n" + "x" * 9_000
RELEASE: Json = {
    "title": "Release 2.4",
    "questions": [
        {"id": "b", "question": "Which **branch**?", "type": "select", "options": ["main", "old"]},
        {"id": "c", "question": "Checks?", "type": "multi-select", "options": ["Unit", "Load"]},
        {"id": "s", "question": "Sure?", "type": "confirm"},
    ],
}


@pytest.fixture(scope="module")
def machine() -> Iterator[House]:
    with house() as machine:
        started = run(machine, "notify", "The hub starts")
        assert started.returncode == 0, started.stderr
        yield machine


@pytest.fixture
def home(machine: House) -> House:
    """A project of its own, whose asks the test sees alone. The commands see all."""
    return machine.with_project(f"shop-{next(NUMBERS)}")


@contextmanager
def agent(home: House) -> Iterator[Agent]:
    """One whose questions do not outlive it."""
    with home.agent() as here:
        here.initialize()
        yield here
        for ask in home.asks():
            if not any(q["type"] == "approval" for q in ask["questions"]):
                home.api(f"/api/asks/{ask['id']}/cancel", {})


def run(home: House, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return in_pipe(home.environment, *words, said=said)


def lines_of(shown: str, ask: Json) -> list[str]:
    """The rows of a table that are about this ask."""
    return [line for line in shown.splitlines() if line.startswith(ask["id"][:6])]


# ── pending ───────────────────────────────────────────────────────────────────────────────────────


def test_pending_is_a_table_whose_rows_fit_the_terminal(home: House) -> None:
    with agent(home) as asking:
        asking.ask(1, COLOURS)
        ask = home.until()
        with OnTerminal(home.environment, "pending") as terminal:
            code, shown = terminal.finish()
    assert code == 0
    assert max(map(len, shown.splitlines())) <= 80
    heading, *_ = shown.splitlines()
    assert heading.split() == ["ID", "PROJECT", "AGENT", "QUESTION", "LEFT"]
    (row,) = lines_of(shown, ask)
    expected = rf"{ask['id'][:6]} +{home.project.name} +Claude Code +Which colour\? +4:\d\d"
    assert re.fullmatch(expected, row.rstrip())
    assert re.search(
        r"Answer here: chatbridge answer \w{6,}     Live view: chatbridge pending --watch", shown
    )


def test_in_a_pipe_there_is_neither_colour_nor_box_nor_tab(home: House) -> None:
    with agent(home) as asking:
        asking.ask(1, {"question": NIGHT})
        ask = home.until()
        done = run(home, "pending")
        assert done.returncode == 0
        (row,) = lines_of(done.stdout, ask)
        assert "⟨U+001B⟩[2J⟨U+001B⟩]8;;http://evil⟨U+0007⟩click⟨U+202E⟩ me⟨U+0007⟩" in row
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e─│┃━]", done.stdout)
        assert run(home, "pending", "--ids").stdout.split().count(ask["id"][:6]) == 1
        (whole,) = [
            it for it in json.loads(run(home, "pending", "--json").stdout) if it["id"] == ask["id"]
        ]
        assert whole["questions"][0]["question"] == NIGHT
        for words in (["pending"], ["answer", ask["id"][:6]]):
            with OnTerminal({**home.environment, "NO_COLOR": "1"}, *words) as terminal:
                terminal.expect("⟨U+001B⟩[2J")
                terminal.interrupt()
                terminal.finish()
                assert "\x1b[2J" not in terminal.raw
                assert "\x1b]8" not in terminal.raw
                assert "\x07" not in terminal.raw
                assert "\u202e" not in terminal.raw


def test_the_live_view_follows_what_happens_and_survives_the_hub(home: House) -> None:
    with agent(home) as asking, OnTerminal(home.environment, "pending", "--watch") as terminal:
        terminal.expect("Ctrl-C: leave")
        asking.ask(1, COLOURS)
        terminal.expect("Which colour?")
        home.answer(home.until())
        terminal.expect("Nothing is waiting.")
        home.kill_hub()
        asking.ask(2, {"question": "After the night?"})
        terminal.expect("After the night?")
        terminal.interrupt()
        assert terminal.finish()[0] == 0
        assert terminal.raw.endswith("\x1b[?1049l")  # the terminal is as it was


def test_the_live_view_in_a_pipe_is_a_picture_for_each_change(home: House) -> None:
    with agent(home) as asking:
        watching = subprocess.Popen(
            [*CHATBRIDGE, "pending", "--watch", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=bare(home.environment),
        )
        assert watching.stdout is not None
        with watching:
            before = json.loads(watching.stdout.readline())
            asking.ask(1, COLOURS)
            ask = home.until()
            assert ask["id"] not in [it["id"] for it in before]
            while ask["id"] not in [it["id"] for it in json.loads(watching.stdout.readline())]:
                pass
            home.kill_hub()
            assert watching.stdout.read() == ""
            assert watching.wait(PATIENCE) == 4


# ── answer and cancel ─────────────────────────────────────────────────────────────────────────────


def test_a_form_is_filled_in_on_the_terminal_and_reaches_the_agent(home: House) -> None:
    with agent(home) as asking:
        asking.ask(1, RELEASE)
        ask = home.until()
        with OnTerminal(home.environment, "answer", ask["id"][:6]) as terminal:
            assert re.search(r" · Claude Code · ends \d\d:\d\d", terminal.expect("Which branch?"))
            terminal.type("7")
            terminal.expect("There is no option 7. This question has options 1 to 2.")
            terminal.type("MAIN")
            terminal.expect("2 of 3")
            terminal.type("1,2")
            terminal.expect("Type yes or no.")
            terminal.type("perhaps")
            terminal.expect("Type yes or no first")
            terminal.type("y")
            terminal.expect("Nothing has been sent yet.")
            assert home.api(f"/api/asks/{ask['id']}")["status"] == "open"
            terminal.type("")
            assert terminal.finish()[0] == 0
            assert terminal.raw.endswith("Sent.\r\n")
        assert asking.result()["answers"] == [
            {"questionId": "b", "values": ["main"]},
            {"questionId": "c", "values": ["Unit", "Load"]},
            {"questionId": "s", "values": ["yes"]},
        ]
        done = home.api(f"/api/asks/{ask['id']}")
        assert done["outcome"]["channel"] == "terminal"


def test_an_answer_elsewhere_ends_the_form_at_once(home: House) -> None:
    with agent(home) as asking:
        asking.ask(1, COLOURS)
        ask = home.until()
        with OnTerminal(home.environment, "answer", ask["id"]) as terminal:
            terminal.expect("> ")
            home.answer(ask, "red")  # by a script of the owner's
            code, shown = terminal.finish()
        assert code == 1
        assert "This question has ended: answered in the terminal at " in shown
        assert asking.result()["answers"][0]["values"] == ["red"]


@pytest.mark.parametrize(
    ("leave", "ends_with"), [(OnTerminal.leave, 1), (OnTerminal.interrupt, 130)]
)
def test_a_form_that_is_left_sends_nothing(
    home: House, leave: Callable[[OnTerminal], None], ends_with: int
) -> None:
    with agent(home) as asking:
        asking.ask(1, COLOURS)
        ask = home.until()
        with OnTerminal(home.environment, "answer", ask["id"]) as terminal:
            terminal.expect("> ")
            leave(terminal)
            code, shown = terminal.finish()
        assert code == ends_with
        assert shown.endswith("Nothing was sent. The question stays open.\n")
        assert [it["id"] for it in home.asks()] == [ask["id"]]


def test_more_time_and_a_snooze_are_typed_beside_the_question_or_are_commands(
    home: House,
) -> None:
    with agent(home) as asking:
        asking.ask(1, COLOURS)
        ask = home.until()
        with OnTerminal(home.environment, "answer", ask["id"]) as terminal:
            terminal.expect("> ")
            terminal.type("+15\n")
            terminal.expect("Ends ")
            terminal.expect("> ")
            terminal.type("!snooze 9h\n")
            terminal.expect("It can be snoozed until ")
            terminal.type("!snooze 5min\n")
            code, shown = terminal.finish()
        assert code == 0
        assert "Snoozed until " in shown
        assert "snoozed until " in run(home, "pending").stdout
        (listed,) = [it for it in home.asks() if it["id"] == ask["id"]]
        assert listed["snoozedUntil"]
        done = run(home, "snooze", ask["id"][:6], "10", "min")
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.startswith("Snoozed until ")
        refused = run(home, "extend", ask["id"], "until", "99:00")
        assert refused.returncode == 2
        assert run(home, "snooze", "0000000", "1h").returncode == 1
        assert run(home, "answer", ask["id"], "red").returncode == 0
        assert asking.result()["answers"][0]["values"] == ["red"]


def test_what_is_pasted_beyond_the_answer_does_not_become_the_shells_next_command(
    home: House,
) -> None:
    shell = ("sh", "-c", '"$@"; read -r line; echo "the shell has: $line"', "sh", *CHATBRIDGE)
    with agent(home) as asking:
        asking.ask(1, COLOURS)
        ask = home.until()
        with OnTerminal(home.environment, "answer", ask["id"], command=shell) as terminal:
            terminal.expect("> ")
            terminal.type("red\nrm -rf build")
            terminal.expect("Sent.")
            terminal.type("next")
            terminal.expect("the shell has: ")
            assert terminal.finish()[1] == "next\n"
        assert asking.result()["answers"][0]["values"] == ["red"]


def test_words_and_json_answer_without_a_terminal(home: House) -> None:
    with agent(home) as asking:
        asking.ask(1, COLOURS)
        ask = home.until()
        refused = run(home, "answer", ask["id"][:6], "3")
        assert (refused.returncode, refused.stderr) == (
            1,
            "There is no option 3.\nThis question has options 1 to 2.\n",
        )
        nobody = run(home, "answer", ask["id"][:6])
        assert nobody.returncode == 1
        assert nobody.stderr.startswith("There is no terminal to ask in.\n")
        done = run(home, "answer", ask["id"][:6], "2")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "Sent.\n")
        assert asking.result()["answers"][0]["values"] == ["blue"]
        asking.ask(2, RELEASE)
        ask = home.until()
        body = {"answers": [{"questionId": it, "values": ["?"]} for it in ("b", "c", "s")]}
        for given, code in (("{", 1), ('{"answer":1}', 1), (json.dumps(body), 1)):
            assert run(home, "answer", ask["id"], "--json", said=given).returncode == code
        right = {"b": ["old"], "c": [], "s": ["no"]}
        answers = [{"questionId": it, "values": values} for it, values in right.items()]
        answers[1]["customText"] = "fuzzing"
        sent = run(home, "answer", ask["id"], "--json", said=json.dumps({"answers": answers}))
        assert (sent.returncode, sent.stderr) == (0, "Sent.\n")
        assert asking.result()["answers"] == answers


def test_a_cancelled_question_tells_the_agent_why(home: House) -> None:
    with agent(home) as asking:
        asking.ask(1, COLOURS)
        ask = home.until()
        done = run(home, "cancel", ask["id"][:6], "--reason", "not before Monday")
        assert (done.returncode, done.stderr) == (0, "Cancelled. The agent is told.\n")
        result = asking.result()
        assert (result["cancelled"], result["reason"]) == (True, "not before Monday")
        again = run(home, "cancel", ask["id"][:6])
        assert again.returncode == 1
        assert "has ended: cancelled in the terminal at " in again.stderr


def test_an_unknown_id_names_the_open_ones(home: House) -> None:
    with agent(home) as asking:
        asking.ask(1, COLOURS)
        ask = home.until()
        done = run(home, "answer", "k3f", "1")
        assert done.returncode == 1
        first, second = done.stderr.splitlines()
        assert first == "No open question “k3f”."
        assert second.startswith("Open now: ")
        assert ask["id"][:6] in second


# ── what there was, and how it is ─────────────────────────────────────────────────────────────────


def test_history_shows_what_was_answered_and_by_day(home: House) -> None:
    with agent(home) as asking:
        asking.ask(1, {"question": "What did the fox say?"})
        ask = home.until()
        home.answer(ask, "nothing\x1b[1m at all")
        home.until_it(ask, lambda it: it["delivered"])
    done = run(home, "history", "--search", "the fox")
    day, row = done.stdout.splitlines()
    assert re.fullmatch(r"[A-Z][a-z]+day \d{1,2} [A-Z][a-z]+ \d{4}", day)
    project = home.project.name
    said = re.escape("nothing⟨U+001B⟩[1m at all")
    assert re.fullmatch(rf"\d\d:\d\d   {project}   What did the fox say\?   {said}", row)
    whole = json.loads(run(home, "history", "--search", "the fox", "--json").stdout)
    assert [it["id"] for it in whole] == [ask["id"]]
    assert "What did the fox say?" in run(home, "history", "--limit", "1", "--yaml").stdout
    assert run(home, "history", "--search", "nobody asked this").stdout == "Nothing was found.\n"
    assert run(home, "history", "--limit", "0").returncode == 2
    with OnTerminal(home.environment, "history", "--search", "the fox", "--yaml") as terminal:
        assert terminal.finish()[0] == 0
        assert "\x1b" not in terminal.raw


def test_status_says_how_the_hub_is(home: House) -> None:
    with agent(home):
        done = run(home, "status")
        assert done.returncode == 0
        rows = dict(re.findall(r"^✓ (\S+(?: \S+)?) {2,}(.+)$", done.stdout, re.MULTILINE))
        assert rows["hub"].endswith(f", version {__version__}, pid {home.hub()}")
        assert rows["web inbox"].startswith("http://127.0.0.1:")
        assert home.project.name in rows["agents"]
        whole = json.loads(run(home, "status", "--json").stdout)
        assert (whole["installed"], whole["pid"]) == (__version__, home.hub())
    assert run(home, "version").stdout == f"chatbridge {__version__}\n"


def test_in_a_fresh_home_each_command_says_setup_and_starts_no_hub() -> None:
    with house() as empty:
        for words in (["status"], ["answer", "x", "1"], ["cancel", "x"]):
            done = run(empty, *words)
            assert (done.returncode, done.stdout) == (4, ""), words
            assert done.stderr == "Nothing is set up yet.\nNext: chatbridge setup\n"
        for word, said in (("pending", "Nothing is waiting"), ("history", "The history is empty")):
            done = run(empty, word)
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout == f"{said}.\nNext: chatbridge setup\n"
            assert run(empty, word, "--json").stdout == "[]\n"
        assert empty.hubs() == []
        with OnTerminal(empty.environment, "pending", "--watch") as terminal:
            assert terminal.finish()[0] == 4
