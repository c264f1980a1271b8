"""What `pending`, `history`, `status` and `version` print, word for word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chatbridge import __version__
from chatbridge.channels.checks import fine
from chatbridge.cli.doctor.screen import drawn
from chatbridge.cli.hub import status
from chatbridge.cli.questions import lists
from chatbridge.cli.questions.ask import notified
from chatbridge.cli.ui import tables, wording
from chatbridge.core.asks import transitions
from chatbridge.core.asks.serialize import ask_object
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.model import (
    Agent,
    Answer,
    Ask,
    AskRequest,
    Attention,
    Entry,
    Grant,
    Outcome,
    Person,
    Project,
    Question,
    QuestionType,
    Status,
    Subject,
)

Json = dict[str, Any]
NOW = 1_794_782_460.0


def ask(project: str, agent: str, *questions: Question, left: float | None, title: str = "") -> Ask:
    request = AskRequest(
        project=Project(key=f"/src/{project}", name=project),
        agent=Agent(client="x", name=agent),
        tool="ask_user",
        dialect="questions",
        title=title or None,
        questions=questions,
    )
    opened = transitions.open_ask(request, now=NOW, deadline=None if left is None else NOW + left)
    return replace(opened, id=f"{project}-and-more")


def shown(ask: Ask) -> Json:
    done = sum(entry.done for entry in ask.draft.entries)
    more = {"short": ask.id[:6], "approval": ask.approval, "done": done}
    return {**ask_object(ask), **more}


SEVERAL = (Answer(), Answer(custom_text="x"), Answer(values=("a", "b")))
TEXT = Question(id="q", text="Which database should the integration tests use, and why?")
COMMAND = Question(
    id="q",
    text="Run this command?",
    type=QuestionType.APPROVAL,
    subject=Subject(code="terraform apply plan.out"),
)
DATABASE = ask("shop-api", "Claude Code", TEXT, left=108.0)
APPROVAL = ask("infra1", "Codex", COMMAND, left=725.0)
BEYOND = replace(COMMAND, subject=Subject(code="make", beyond="Allowing it allows every make."))
FOR_MORE = ask("infra1", "Codex", BEYOND, left=725.0)
RELEASE = ask("billing", "Claude Code", TEXT, TEXT, TEXT, left=28_265.0, title="Release 2.4")
RELEASE = replace(
    RELEASE, draft=replace(RELEASE.draft, entries=(Entry(done=True), Entry(), Entry()))
)


def screen(parts: list[tables.Table | str], room: int) -> str:
    return "".join(f"{line}\n" for line in tables.lines(parts, room))


def test_pending_looks_as_it_was_drawn() -> None:
    found = lists.pending_screen(
        [shown(it) for it in (DATABASE, APPROVAL, RELEASE)], now=NOW, room=80
    )
    assert screen(found, 78) == (
        "ID       PROJECT    AGENT         QUESTION                                LEFT\n"
        "shop-a   shop-api   Claude Code   Which database should the integrat…     1:48\n"
        "infra1   infra1     Codex         Approve: terraform apply plan.out     12 min\n"
        "billin   billing    Claude Code   Release 2.4 (3 questions, 1 done)     7 h 51\n"
        "\n"
        "Answer here: chatbridge answer shop-a     Live view: chatbridge pending --watch\n"
    )


def test_what_is_snoozed_says_until_when() -> None:
    snoozed = replace(DATABASE, attention=Attention(snoozed_until=NOW + 60))
    (table, *_) = lists.pending_screen([shown(snoozed)], now=NOW)
    assert f"snoozed until {clock_time(NOW + 60)}" in screen([table], 100)
    (table, *_) = lists.pending_screen([shown(snoozed)], now=NOW, room=50)
    assert screen([table], 50).endswith(f"   back {clock_time(NOW + 60)}\n")


def test_a_change_is_listed_by_its_file_and_not_by_its_diff() -> None:
    subject = Subject(code="@@ the whole file @@\n+x", language="diff", file="src/new.py")
    changed = ask("infra1", "Codex", replace(COMMAND, subject=subject), left=725.0)
    assert lists.headline(shown(changed)) == "Approve: src/new.py"


@pytest.mark.parametrize(("count", "said"), [(6, "Which"), (9, "and 3 more: chatbridge pending")])
def test_the_live_view_fits_the_terminal_and_counts_what_does_not(count: int, said: str) -> None:
    asks_there = [shown(DATABASE)] * count
    lines = screen(lists.live_screen(asks_there, now=NOW, height=10), 80).splitlines()
    assert len(lines) <= 10
    assert said in lines[-3]
    assert lines[-2:] == ["", "Ctrl-C: leave"]


def test_on_a_narrow_terminal_the_id_and_the_time_are_whole() -> None:
    found = lists.pending_screen([shown(it) for it in (DATABASE, RELEASE)], now=NOW, room=40)
    assert screen(found[:1], 40) == (
        "ID       PRO…   AGE…   QUESTION     LEFT\n"
        "shop-a   sho…   Cla…   Which d…     1:48\n"
        "billin   bil…   Cla…   Release…   7 h 51\n"
    )


def test_nothing_that_waits_is_said_in_a_sentence() -> None:
    assert lists.pending_screen([], now=NOW, room=80) == ["Nothing is waiting."]


def test_nobody_is_told_to_answer_an_approval_here() -> None:
    found = lists.pending_screen([shown(APPROVAL)], now=NOW, room=80)
    assert found[1:] == ["", "Live view: chatbridge pending --watch"]


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        (None, "no limit"),
        (-5.0, "0:00"),
        (9.9, "0:09"),
        (599.0, "9:59"),
        (600.0, "10 min"),
        (3599.0, "59 min"),
        (3600.0, "1 h 00"),
        (28_265.0, "7 h 51"),
        (90_000.0, "1 d 1 h"),
    ],
)
def test_what_is_left_of_the_time(rest: float | None, said: str) -> None:
    assert wording.left(None if rest is None else NOW + rest, now=NOW) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(3600.0, "1 h"), (5400.0, "90 min"), (90.0, "90 s"), (172_800.0, "2 d")]
)
def test_a_time_is_whole_in_the_largest_unit_that_fits(seconds: float, said: str) -> None:
    assert wording.duration(seconds) == said


def ended(ask: Ask, how: Status, *, at: float = NOW, **outcome: Any) -> Json:
    by = Person(name="Ada", channel="web")
    found = Outcome(at=at, by=by, **outcome)
    return shown(replace(ask, status=how, settled_at=at, outcome=found))


def granted(grant: Grant) -> Json:
    return ended(APPROVAL, Status.ANSWERED, answers=(Answer(values=("session",)),), grant=grant)


def test_history_is_a_table_for_each_day_with_the_newest_last() -> None:
    yesterday = NOW - 86_400.0
    found = [
        ended(APPROVAL, Status.ANSWERED, answers=(Answer(values=("session",)),)),
        ended(DATABASE, Status.CANCELLED, reason="not now"),
        ended(DATABASE, Status.ANSWERED, at=yesterday, answers=(Answer(values=("SQLite",)),)),
    ]
    at = clock_time(NOW)
    assert screen(lists.history_screen(found), 80) == (
        f"{wording.day(yesterday)}\n"
        f"{at}   shop-api   Which database should the integra…   SQLite\n"
        "\n"
        f"{wording.day(NOW)}\n"
        f"{at}   shop-api   Which database should the integra…   cancelled: not now\n"
        f"{at}   infra1     Approve: terraform apply plan.out    allowed for this session\n"
    )


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (ended(DATABASE, Status.TIMED_OUT), "timed out"),
        (ended(DATABASE, Status.WITHDRAWN), "withdrawn"),
        (ended(DATABASE, Status.CANCELLED), "cancelled"),
        (ended(APPROVAL, Status.TIMED_OUT), "timed out"),
        (ended(APPROVAL, Status.ANSWERED, answers=(Answer(values=("deny",)),)), "denied"),
        (ended(APPROVAL, Status.ANSWERED, answers=(Answer(values=("allow",)),)), "allowed once"),
        (ended(FOR_MORE, Status.ANSWERED, answers=(Answer(values=("allow",)),)), "allowed"),
        (granted(Grant()), "allowed for this session"),
        (granted(Grant(lasting=3600.0, until=NOW + 3600.0)), "allowed for 1 h"),
        (
            granted(Grant(folder="/a/src", lasting=28_800.0, until=NOW, taken_back_at=NOW)),
            "allowed for 8 h, edits in /a/src, taken back",
        ),
        (ended(FOR_MORE, Status.ANSWERED, answers=(Answer(values=("deny",)),)), "denied"),
        (ended(RELEASE, Status.ANSWERED, answers=SEVERAL), "skipped; x; a, b"),
    ],
)
def test_how_it_ended_in_a_few_words(found: Json, said: str) -> None:
    assert lists.said(found) == said


STATUS: Json = {
    "version": __version__,
    "pid": 17,
    "since": NOW - 3 * 86_400,
    "startedBy": "service",
    "web": "http://127.0.0.1:8787",
    "open": 1,
    "links": [
        {"project": "shop-api", "version": __version__, "pid": 1},
        {"project": "inf\x1bra", "version": "0.0.9", "pid": 2},
        {"project": "shop-api", "version": __version__, "pid": 3},
    ],
    "channels": [
        {"name": "telegram", "trouble": "telegram rejected the bot token (401). Check the file"},
        {"name": "web", "trouble": None},
    ],
    "remarks": ["The agent in shop-api was started with other settings. Run: chatbridge restart"],
}


def test_status_looks_as_the_doctor_does() -> None:
    found = status.findings({**STATUS, "version": "0.0.1"}, clients=0, now=NOW)
    assert "".join(drawn(finding, width=80) for finding in found) == (
        "✓ hub              running for 3 d as a service, version 0.0.1, pid 17\n"
        f"! version          {__version__} is installed, the running hub is 0.0.1\n"
        "                   → chatbridge restart\n"
        "✗ telegram         telegram rejected the bot token (401)\n"
        "                   → Check the file\n"
        "✓ web inbox        http://127.0.0.1:8787\n"
        "✓ agents           3 connected: shop-api × 2, inf⟨U+001B⟩ra (0.0.9)\n"
        "✓ questions        1 open: chatbridge pending\n"
        "! warning          The agent in shop-api was started with other settings\n"
        "                   → Run: chatbridge restart\n"
    )


def test_on_a_narrow_terminal_a_path_is_not_broken() -> None:
    found = fine("opencode", "connected in ~/.config/opencode/opencode.json")
    assert (
        drawn(found, width=50) == "✓ opencode\n    connected in ~/.config/opencode/opencode.json\n"
    )


def test_status_without_channels_says_what_to_do() -> None:
    bare = {**STATUS, "channels": [], "links": [], "open": 0, "remarks": []}
    found = "".join(drawn(it, width=80) for it in status.findings(bare, clients=0, now=NOW))
    assert "✗ channels         none is set up\n                   → chatbridge setup\n" in found
    assert "! agents           none is set up\n                   → chatbridge connect\n" in found
    assert "none open" in found


def test_clients_that_are_set_up_and_do_not_run_are_counted() -> None:
    found = status.findings({**STATUS, "links": []}, clients=4, now=NOW)
    assert "✓ agents           4 set up, none running\n" in [drawn(it, width=80) for it in found]


def test_agents_on_other_machines_are_agents_where_no_client_is_set_up() -> None:
    none = {**STATUS, "links": []}
    over_http = [fine("agents", "over HTTP: ci")]
    found = status.findings(none, clients=0, elsewhere=over_http, now=NOW)
    assert [it for it in found if it.name == "agents"] == over_http


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"sent": ["telegram"], "waiting": []}, "Shown: Telegram."),
        (
            {"sent": ["telegram", "matrix", "web"], "waiting": []},
            "Shown: Telegram, Matrix, web inbox.",
        ),
        (
            {"sent": ["web"], "waiting": ["telegram"]},
            "Shown: web inbox. Later, when it can be reached: Telegram.",
        ),
        (
            {"sent": [], "waiting": ["telegram"], "delivery": "Nobody could be reached. T: x."},
            "Not shown yet. Nobody could be reached. T: x. It is kept and shown later.",
        ),
    ],
)
def test_notify_says_what_became_of_it(content: Json, said: str) -> None:
    assert notified(content) == said
