"""`chatbridge ask` and `notify` as scripts run them: real processes, one real hub, a person at the
inbox."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chatbridge.cli.questions import ask, commands
from chatbridge.core.model import Priority
from chatbridge.tools import ask_user, clients, notify_user
from tests.acceptance.asking import Asking
from tests.fakes.machine import House, house
from tests.fakes.on_terminal import OnTerminal

Json = dict[str, Any]
FIRST_LINE = re.compile(
    r"Asked in the web inbox \(([0-9a-f]{6,})\)\. Ends \d\d:\d\d\. Ctrl-C: leave\.\n"
)


@pytest.fixture(scope="module")
def home() -> Iterator[House]:
    settings = {"MAX_TIMEOUT": "8h", "MIN_TIMEOUT": "1"}
    nights = {"QUIET__MAX_URGENT": "0", "QUIET__DEADLINES": "run"}
    with house(**{f"CHATBRIDGE_{key}": value for key, value in (settings | nights).items()}) as it:
        yield it


@pytest.fixture(scope="module", autouse=True)
def forgotten(home: House) -> Iterator[tuple[Asking, str]]:
    """A question that nobody answers, asked before all others: ten seconds are the shortest time
    that there is. With what it said once it was out: a test may end the hub after that."""
    with Asking(home, "Forgotten?", "--timeout", "10") as asking:
        yield asking, asking.first_line()


def asked(home: House, text: str) -> Json:
    return home.until(lambda ask: ask["questions"][0]["question"] == text)


def test_the_answer_alone_is_on_standard_output(home: House) -> None:
    with Asking(home, "Deploy 2.4?", "-o", "Yes", "-o", "Not today", "--timeout", "1h") as asking:
        found = FIRST_LINE.fullmatch(asking.first_line())
        assert found
        question = asked(home, "Deploy 2.4?")
        assert question["id"].startswith(found[1])
        assert (question["agent"]["name"], question["agent"]["project"]) == ("shell", "shop")
        home.answer(question, "Not today")
        assert asking.ends() == (0, "Not today\n", "")
    done = home.until_it(question, lambda it: it["delivered"])
    assert done["status"] == "answered"


@pytest.mark.parametrize(
    ("words", "given", "printed"),
    [
        (["--confirm"], {"values": ["no"]}, "no\n"),
        ([], {"values": ["two\nlines ✓"]}, "two\nlines ✓\n"),
        (["-o", "a", "-o", "b", "-o", "c", "--multi"], {"values": ["c", "a"]}, "a\nc\n"),
        (["-o", "a", "--multi"], {"values": ["a"], "customText": "own"}, "a\nown\n"),
        (["-o", "a", "-o", "b"], {"values": [], "customText": "neither"}, "neither\n"),
    ],
)
def test_each_kind_of_question_prints_its_answer(
    home: House, words: list[str], given: Json, printed: str
) -> None:
    text = f"Which of {words}?"
    with Asking(home, text, *words, "--title", "Kinds") as asking:
        question = asked(home, text)
        assert question["title"] == "Kinds"
        answers = [{"questionId": question["questions"][0]["id"], **given}]
        home.api(f"/api/asks/{question['id']}/answer", {"answers": answers})
        assert asking.ends()[:2] == (0, printed)


def test_a_remark_beside_a_yes_stays_out_of_what_a_script_reads(home: House) -> None:
    with Asking(home, "Really deploy?", "--confirm") as asking:
        asking.first_line()
        question = asked(home, "Really deploy?")
        given = {"values": ["yes"], "customText": "but back up first"}
        answers = [{"questionId": question["questions"][0]["id"], **given}]
        home.api(f"/api/asks/{question['id']}/answer", {"answers": answers})
        assert asking.ends() == (0, "yes\n", "Remark: but back up first\n")


def test_json_is_the_whole_outcome(home: House) -> None:
    with Asking(home, "As JSON?", "--json") as asking:
        question = asked(home, "As JSON?")
        home.answer(question, "fine")
        code, out, _ = asking.ends()
    assert code == 0
    assert json.loads(out) == {
        "askId": question["id"],
        "answered": True,
        "cancelled": False,
        "timedOut": False,
        "answers": [{"questionId": "answer", "values": ["fine"]}],
    }


def test_a_question_has_the_priority_that_it_is_given(home: House) -> None:
    with Asking(home, "Any time?", "--priority", "low") as asking:
        question = asked(home, "Any time?")
        assert question["priority"] == "low"
        home.answer(question, "now")
        assert asking.ends()[:2] == (0, "now\n")


def test_who_asks_is_told_on_standard_error_that_it_does_not_ring_tonight(home: House) -> None:
    assert home.run("quiet", "on", "1h").returncode == 0
    with Asking(home, "Wake me?", "--priority", "urgent") as asking:
        assert FIRST_LINE.fullmatch(asking.first_line())
        assert asking.first_line().startswith("You marked this urgent, but none may ring in quiet")
        home.answer(asked(home, "Wake me?"), "no")
        assert asking.ends() == (0, "no\n", "")
    assert home.run("quiet", "off").returncode == 0


def test_a_cancelled_question_is_5_with_the_reason(home: House) -> None:
    with Asking(home, "Cancel me?") as asking:
        question = asked(home, "Cancel me?")
        asking.first_line()
        home.api(f"/api/asks/{question['id']}/cancel", {"reason": "not\x1b[31m now"})
        assert asking.ends() == (5, "", "Cancelled: not⟨U+001B⟩[31m now\n")


def test_the_hub_may_be_killed_while_it_waits(home: House) -> None:
    with Asking(home, "Over a restart?") as asking:
        asking.first_line()
        question = asked(home, "Over a restart?")
        home.kill_hub()
        again = asked(home, "Over a restart?")
        assert again["id"] == question["id"]
        home.answer(again, "still here")
        assert asking.ends() == (0, "still here\n", "")


def test_two_at_once_with_the_same_words_get_their_own_answers(home: House) -> None:
    with Asking(home, "Which one?") as one, Asking(home, "Which one?") as other:
        ids = [FIRST_LINE.fullmatch(each.first_line()) for each in (one, other)]
        asks = home.asks()
        for each, found, answer in ((one, ids[0], "first"), (other, ids[1], "second")):
            assert found
            (question,) = (it for it in asks if it["id"].startswith(found[1]))
            home.answer(question, answer)
            assert each.ends() == (0, f"{answer}\n", "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_whoever_leaves_leaves_the_question_open_and_its_answer_is_kept(
    home: House, number: signal.Signals, code: int
) -> None:
    text = f"Left with {code}?"
    with Asking(home, text) as asking:
        asking.first_line()
        asking.process.send_signal(number)
        said = "Stopped waiting. The question stays open: chatbridge pending\n"
        assert asking.ends() == (code, "", said)
    question = asked(home, text)
    home.answer(question, "late")
    home.until_it(question, lambda it: it["kept"])
    with Asking(home, text) as again:
        assert again.ends() == (0, "late\n", "Answered before, and kept for this question.\n")


def test_ctrl_c_on_a_terminal_reaches_the_link_too_and_all_is_the_same(home: House) -> None:
    with OnTerminal(home.environment, "ask", "On a terminal?", cwd=home.project) as terminal:
        terminal.expect("Ctrl-C: leave.")
        terminal.interrupt()
        code, shown = terminal.finish()
    assert (code, shown) == (
        130,
        "\n^CStopped waiting. The question stays open: chatbridge pending\n",
    )
    home.api(f"/api/asks/{asked(home, 'On a terminal?')['id']}/cancel", {})


def test_an_answer_cannot_steer_the_terminal_it_is_printed_on(home: House) -> None:
    with OnTerminal(home.environment, "ask", "Steer?", cwd=home.project) as terminal:
        home.answer(asked(home, "Steer?"), "\x1b]0;title\x07\x1b[2J\u202eevil")
        assert terminal.finish()[0] == 0
        assert "⟨U+001B⟩]0;title⟨U+0007⟩⟨U+001B⟩[2J⟨U+202E⟩evil" in terminal.raw
        assert "\x1b" not in terminal.raw


def test_a_reader_that_has_gone_is_no_reason_to_complain(home: House) -> None:
    with Asking(home, "Who reads?") as asking:
        asking.first_line()
        assert asking.process.stdout is not None
        asking.process.stdout.close()
        home.answer(asked(home, "Who reads?"), "nobody")
        assert asking.says_no_more() == 141


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "required: question"),
        (["  "], "the question is empty"),
        (["x" * 1001], "the question has 1,001 characters, at most 1,000"),
        (["x?", "--title", "x" * 101], "--title has 101 characters, at most 100"),
        (["a", "b"], "there is no argument b"),
        (["x?", "--confirm", "-o", "a"], "--confirm takes no options"),
        (["x?", "--confirm", "--multi"], "not allowed with argument"),
        (["x?", "--multi"], "--multi needs options"),
        (["x?", "--timeout", "soon"], "--timeout 'soon': give seconds"),
        (["x?", "--timeout", "1s"], "--timeout '1s': 10 s is the shortest"),
        (["x?", "--timeout", "9h"], "--timeout '9h': 8 h is the longest\nTo allow more"),
        (["x?", "--priority", "urgnt"], "--priority: there is no 'urgnt', did you mean urgent?"),
        (["x?", "-o", "a", "-o", "b", "-o", "a"], "the option 'a' is given twice"),
        (["x?", "-o", "a", "-o", " "], "an option is empty"),
    ],
)
def test_wrong_usage_is_2_and_never_mistaken_for_an_answer(
    home: House, words: list[str], said: str
) -> None:
    done = home.run("ask", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: chatbridge ask")
    assert said in done.stderr


def test_what_the_hub_refuses_is_1(home: House) -> None:
    done = home.run("ask", "Which?", "-o", "a", "-o", "b" * (ask_user.MAX_LABEL + 1))
    assert (done.returncode, done.stdout) == (1, "")
    assert "questions[0].options[1].label" in done.stderr


def test_a_notice_reaches_the_inbox(home: House) -> None:
    done = home.run("notify", "Built in 4 min", "--title", "shop", "--level", "warn")
    assert (done.returncode, done.stdout) == (0, "")
    (notice,) = home.api("/api/notices")
    assert (notice["message"], notice["level"]) == ("Built in 4 min", "warning")
    assert home.run("notify", "x", "--level", "loud").returncode == 2
    assert home.run("notify", " ").returncode == 2


def test_without_a_hub_and_without_one_that_can_start_it_is_4(tmp_path: Path) -> None:
    with house(CHATBRIDGE_MAX_TIMEOUT="soon") as broken:
        for words in (("ask", "x?"), ("notify", "x")):
            done = broken.run(*words)
            assert (done.returncode, done.stdout) == (4, ""), words
            assert "max_timeout" in done.stderr
            assert "Traceback" not in done.stderr


def test_where_chatbridge_is_switched_off_nobody_is_asked(home: House) -> None:
    with Asking(home, "Off?", CHATBRIDGE_ENABLED="false") as asking:
        code, out, err = asking.ends()
    assert (code, out) == (4, "")
    assert err.startswith("Chatbridge is switched off here")


def test_a_question_that_times_out_is_3_and_says_until_when_it_waited(
    forgotten: tuple[Asking, str],
) -> None:
    asking, said = forgotten
    ends = re.search(r"Ends (\d\d:\d\d)", said)
    assert ends, said
    code, out, err = asking.ends()
    assert (code, out) == (3, "")
    assert err.startswith(f"Nobody answered by {ends[1]}.\n")


def test_command_and_hub_agree_on_names_and_limits() -> None:
    assert ask.CLIENT == clients.COMMAND
    assert ask.MIN_TIMEOUT_SECONDS == ask_user.SHORTEST_TIMEOUT
    assert tuple(Priority) == commands.PRIORITIES
    assert ask.MAX_QUESTION == ask_user.MAX_QUESTION
    assert ask.MAX_TITLE == ask_user.MAX_TITLE
    assert ask.MAX_MESSAGE == notify_user.MAX_MESSAGE
