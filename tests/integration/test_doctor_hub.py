"""doctor looks at the hub that runs, whichever version it has and whatever it says."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from itertools import count
from types import FrameType

import pytest

from chatbridge import __version__, lock_file
from chatbridge.channels.checks import Finding, Mark, fine
from chatbridge.channels.matrix.spec import MATRIX
from chatbridge.channels.telegram.spec import TELEGRAM
from chatbridge.channels.web import spec
from chatbridge.cli.doctor.context import DoctorContext
from chatbridge.cli.doctor.hub import hub, order_of
from chatbridge.cli.doctor.run import Check, channel_check, run, run_checks
from chatbridge.settings.secrets import keep
from tests.fakes.doctor import Machine, screen
from tests.fakes.scripted_hub import scripted_hub

HUB = Check("hub", hub)
WEB = channel_check(spec.WEB)


async def test_in_a_fresh_home_setup_is_next(machine: Machine) -> None:
    assert screen(await machine.look(HUB)) == (
        "! hub              Nothing is set up yet\n                   → chatbridge setup\n"
    )
    assert not machine.state.exists()


@pytest.mark.parametrize("systemd", [True, False])
async def test_none_runs_and_none_is_started(
    machine: Machine, systemd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    why_not = None if systemd else "There is no systemd on this computer."
    monkeypatch.setattr("chatbridge.cli.service.systemd.Systemd.available", lambda _: why_not)
    machine.configure("")
    (found,) = await machine.look(HUB)
    assert found.what == "The hub is not running"
    keep = ". To keep it running: chatbridge service install" if systemd else ""
    assert found.fix == (f"It starts with the first agent{keep}",)
    assert not machine.state.exists()


async def test_one_that_runs_says_since_when(machine: Machine) -> None:
    with machine.hub(since=time.time() - 3 * 86_400 - 60, links=[]):
        shown = screen(await machine.look(HUB))
    assert shown == f"✓ hub              running for 3 d, version {__version__}, links 0\n"


async def test_what_is_wrong_with_it_is_a_problem(machine: Machine) -> None:
    fault = "A part of the hub failed: deadlines (KeyError, once). The hub's log says more"
    with machine.hub(faults=[fault]):
        fine, found = await machine.look(HUB)
    assert (fine.mark, found.mark) == (Mark.FINE, Mark.PROBLEM)
    assert found.what == "A part of the hub failed: deadlines (KeyError, once)"
    assert found.fix == ("The hub's log says more",)


async def test_an_older_one_is_told_with_how_to_get_the_new_one(machine: Machine) -> None:
    with machine.hub(version="0.0.9", startedBy="service"):
        (found,) = await machine.look(HUB)
    assert found.mark is Mark.REMARK
    assert found.what == f"runs version 0.0.9, older than what is installed ({__version__})"
    assert found.fix == ("chatbridge restart    (waiting agents do not notice)",)


async def test_one_that_knows_an_older_configuration_is_told(machine: Machine) -> None:
    machine.configure("")
    with machine.hub(since=time.time() - 60):
        (found,) = await machine.look(HUB)
    assert found.what == "started before ~/config.toml was changed"
    assert found.fix[0].startswith("chatbridge restart")


async def test_nobody_is_told_to_restart_it_with_a_configuration_that_it_could_not_use(
    machine: Machine,
) -> None:
    machine.configure("colour = 1")
    with machine.hub(since=time.time() - 60):
        (found,) = await machine.look(HUB)
    assert found.mark is Mark.FINE


async def test_an_older_link_is_told_with_its_project(machine: Machine) -> None:
    links = [
        {"project": "shop-api", "version": "0.0.4", "pid": 1},
        {"project": "billing", "version": __version__, "pid": 2},
    ]
    with machine.hub(links=links):
        shown = screen(await machine.look(HUB)).splitlines()
    assert shown[0].endswith("links 2")
    assert shown[1:] == [
        "! link             one older link (0.0.4) in shop-api: restart that agent"
    ]


async def test_many_older_links_are_one_line(machine: Machine) -> None:
    links = [{"project": f"p{n}", "version": "0.0.4", "pid": n} for n in range(5)]
    with machine.hub(links=links):
        _, found = await machine.look(HUB)
    assert found.what == ("5 older links (0.0.4) in p0, p1, p2 and 2 more: restart these agents")


async def test_a_projects_name_cannot_pretend_to_be_a_line_of_doctors(machine: Machine) -> None:
    name = "\x1b[2K\r✓ hub\n✓ all is well\u202e"
    remark = f"The agent in \u2068{name}\u2069 was started with settings. Put them"
    with machine.hub(
        links=[{"project": name, "version": "0.0.4\x1b[31m", "pid": 1}], remarks=[remark]
    ):
        shown = screen(await machine.look(HUB))
    assert not set(shown) & {"\x1b", "\r", "\u202e"}
    assert [line[:2] for line in shown.splitlines() if not line.startswith(" ")] == [
        "✓ ",
        "! ",
        "! ",
    ]


async def test_settings_that_only_a_link_has_are_told(machine: Machine) -> None:
    said = (
        "The agent in \u2068shop-api\u2069 was started with settings that this hub does not use: "
        "CHATBRIDGE_STORE. Put them into config.toml, then run: chatbridge restart"
    )
    with machine.hub(remarks=[said]):
        _, found = await machine.look(HUB)
    assert (found.mark, found.name) == (Mark.REMARK, "settings")
    assert found.what == (
        "The agent in shop-api was started with settings that this hub does not use: "
        "CHATBRIDGE_STORE"
    )
    assert found.fix == ("Put them into config.toml, then run: chatbridge restart",)


async def test_a_hub_that_accepts_and_never_answers_is_a_problem_and_ends_nothing(
    machine: Machine,
) -> None:
    with scripted_hub(str(machine.state)) as silent:
        found = await machine.look(HUB, WEB, hub_within=0.2)
    assert found[0].mark is Mark.PROBLEM
    assert found[0].what == (f"pid {silent.pid} does not work properly: no answer within 0.2 s")
    assert found[1].mark is Mark.FINE


async def test_one_of_another_version_that_does_not_understand_is_named_as_such(
    machine: Machine,
) -> None:
    lock = lock_file.acquire(str(machine.state))
    info = lock_file.LockInfo(
        pid=os.getpid(), version="0.0.1", socket=None, started_by="link", error=None
    )
    lock_file.write(lock, info)
    try:
        (found,) = await machine.look(HUB)
    finally:
        os.close(lock)
    assert found.mark is Mark.PROBLEM
    assert found.what == (
        f"pid {os.getpid()} (version 0.0.1, and {__version__} is installed) does not work "
        "properly: it holds the lock, but takes no connection"
    )


async def test_why_the_last_one_could_not_start_is_told(machine: Machine) -> None:
    lock = lock_file.acquire(str(machine.state))
    lock_file.write(
        lock,
        lock_file.LockInfo(
            pid=1, version="0", socket=None, started_by="link", error="colour is not a setting. X"
        ),
    )
    os.close(lock)
    (found,) = await machine.look(HUB)
    assert found.mark is Mark.PROBLEM
    assert found.what == "the last one could not start: colour is not a setting"


async def test_a_channel_whose_settings_only_the_hub_has_is_told_as_the_hub_does(
    machine: Machine,
) -> None:
    channels = [
        {"name": "telegram", "trouble": "telegram rejected the bot token (401). Check it"},
        {"name": "matrix", "trouble": None},
    ]
    with machine.hub(channels=channels):
        found = await machine.look(channel_check(TELEGRAM), channel_check(MATRIX))
    assert screen(found) == (
        "✗ telegram         telegram rejected the bot token (401)\n"
        "                   → Check it\n"
        "✓ matrix           works, the hub says; its settings cannot be seen from here\n"
    )


async def test_a_secret_that_was_changed_after_the_start_is_told(machine: Machine) -> None:
    with machine.hub(since=time.time() - 60):
        assert [found.mark for found in await machine.look(HUB)] == [Mark.FINE]
        keep(machine.config, "web", "token", value="a token of one's own")
        (found,) = await machine.look(HUB)
    assert found.what == "started before ~/config.toml was changed"


async def test_a_check_that_hangs_is_a_problem_and_the_others_go_on(machine: Machine) -> None:
    async def hangs(_: DoctorContext) -> list[Finding]:
        await asyncio.Event().wait()
        return []

    async def breaks(_: DoctorContext) -> list[Finding]:
        raise LookupError("nothing there")

    async def goes_on(_: DoctorContext) -> list[Finding]:
        return [fine("quick", "is well")]

    checks = [Check("slow", hangs), Check("broken", breaks), Check("quick", goes_on)]
    found = [f async for f in run_checks(machine.situation(), checks, within=0.1)]
    assert [(f.name, f.what) for f in found] == [
        ("slow", "no answer within 0.1 s"),
        ("broken", "could not be checked (LookupError: nothing there)"),
        ("quick", "is well"),
    ]


@pytest.mark.parametrize("turn", range(12))
def test_ctrl_c_ends_it_whatever_was_about_to_run(machine: Machine, turn: int) -> None:
    async def comes_back(_context: DoctorContext) -> list[Finding]:
        for _ in range(20):
            await asyncio.to_thread(tuple)
        return []

    async def hangs(_: DoctorContext) -> list[Finding]:
        await asyncio.Event().wait()
        return []

    before = count(turn, -1)

    def interrupt(frame: FrameType, event: str, _: object) -> None:
        of_the_loop = frame.f_code is asyncio.Handle._run.__code__
        if event == "call" and of_the_loop and not next(before):
            signal.raise_signal(signal.SIGINT)

    checks = [Check("slow", comes_back), Check("another", comes_back), Check("stuck", hangs)]
    sys.setprofile(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(machine.situation(), checks, as_json=True)
    finally:
        sys.setprofile(None)


async def test_an_inbox_that_other_computers_can_reach_is_a_remark(machine: Machine) -> None:
    machine.configure('[web]\nhost = "0.0.0.0"\n')
    (found,) = await machine.look(WEB)
    assert found.mark is Mark.REMARK
    assert found.what == "opens with the hub, open to other computers, without encryption"
    assert found.fix[0].startswith("put HTTPS before it")


async def test_an_inbox_that_does_not_answer_is_a_problem(machine: Machine) -> None:
    with machine.hub(web="http://127.0.0.1:9", channels=[{"name": "web", "trouble": None}]):
        (found,) = await machine.look(WEB)
    assert found.mark is Mark.PROBLEM
    assert found.what.startswith("http://127.0.0.1:9 does not answer")


async def test_why_the_inbox_does_not_work_is_told_in_the_hubs_words(machine: Machine) -> None:
    channels = [{"name": "web", "trouble": "the port 8787 is taken. Set web.port"}]
    with machine.hub(channels=channels):
        (found,) = await machine.look(WEB)
    assert (found.what, found.fix) == ("the port 8787 is taken", ("Set web.port",))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("0.9.4", "0.10.0"),
        ("1.0.0rc1", "1.0.0"),
        ("1.0.0", "1.0.1"),
        ("1.0", "1.0.0"),
        ("0.1.0.dev3", "0.1.0.dev12"),
    ],
)
def test_versions_are_compared_as_people_do(older: str, newer: str) -> None:
    assert order_of(older) < order_of(newer)


# ── several hubs ──────────────────────────────────────────────────────────────────────────────────

AWAY = "the database x on 127.0.0.1:1: the server cannot be reached. Check that it runs"


def among(**other: object) -> dict[str, object]:
    """What a hub says of its part that follows hub-b."""
    led = {"leader": "hub-b", "address": "10.0.0.6:8788", "epoch": 7, "hubs": ["hub-a", "hub-b"]}
    return {"name": "hub-a", "role": "follows", **led, **other}


NOBODY = among(leader=None, address=None, epoch=None)


async def test_one_that_follows_names_the_one_that_leads_and_has_the_inbox(
    machine: Machine,
) -> None:
    with machine.hub(cluster=among()):
        _, leader, inbox = await machine.look(HUB, WEB)
    assert (leader.mark, leader.name) == (Mark.FINE, "leader")
    assert leader.what.startswith("hub-b at 10.0.0.6:8788 (epoch 7); channels and questions")
    assert (inbox.mark, inbox.what) == (Mark.FINE, "served by hub-b (10.0.0.6), which leads")
    machine.configure("[web]\nenabled = false\n")
    with machine.hub(cluster=among()):
        (inbox,) = await machine.look(WEB)
    assert inbox.what == "off"


async def test_that_nobody_leads_is_said_once_it_has_lasted_and_without_the_databases_trouble(
    machine: Machine,
) -> None:
    """Which the check of the database finds itself."""
    other = "the hub hub-b, which leads, cannot be reached at 10.0.0.6:8788 (no answer)"
    machine.set(CHATBRIDGE_STORE="postgresql://nobody@127.0.0.1:1/x")
    with machine.hub(cluster=NOBODY, remarks=[AWAY, other]):
        _, leader, said, inbox = await machine.look(HUB, WEB, leader_within=0.1)
    assert (leader.mark, leader.what) == (
        Mark.REMARK,
        "no hub leads at present; agents wait",
    )
    assert leader.fix
    assert (said.name, said.what) == ("settings", other)
    assert (inbox.mark, inbox.what) == (Mark.FINE, "opens where a hub leads")


async def test_right_after_a_start_it_waits_until_a_hub_leads(machine: Machine) -> None:
    led = among(role="leads", leader="hub-a")
    first = ({"cluster": NOBODY, "remarks": [AWAY]}, {"cluster": NOBODY})
    with machine.hub(*first, cluster=led, web="http://127.0.0.1:1"):
        situation = machine.situation()
        found = await situation.hub()
    assert found.status is not None
    assert not found.follows
    assert found.status["web"]


@pytest.mark.parametrize(
    "cluster", [None, among(), among(role="leads")], ids=["alone", "follows", "leads"]
)
async def test_where_a_hub_leads_nothing_is_waited_for(
    machine: Machine, cluster: dict[str, object] | None
) -> None:
    told = {} if cluster is None else {"cluster": cluster}
    channels = [{"name": "web", "trouble": None}]
    with machine.hub({**told, "channels": channels}, web="asked again"):
        found = await machine.situation().hub()
    assert found.status is not None
    assert found.status["web"] is None
