"""doctor and `people` say who is in the team, and what is wrong with it."""

from __future__ import annotations

import argparse

import pytest

from chatbridge.channels.checks import Mark
from chatbridge.cli import people
from chatbridge.cli.doctor import people as checks
from chatbridge.cli.doctor.run import Check, all_checks
from tests.fakes.doctor import Machine

PEOPLE = Check("people", checks.people)
TELEGRAM = f'[telegram]\ntoken = "123456789:{"x" * 35}"\nallowed_users = [7]\n'
SLACK = '[slack]\nbot_token = "xoxb-1-2-abcdefgh"\napp_token = "xapp-1-A1-2-abcdefgh"\n'
ANN = '[[people]]\nname = "Ann"\ntelegram = 4242\n'
BOB = '[[people]]\nname = "Bob"\nmatrix = "@bob:example.org"\nroles = ["read"]\n'


def route(**keys: str) -> str:
    return "[[routes]]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())


async def test_without_a_team_it_says_nothing(machine: Machine) -> None:
    machine.configure(TELEGRAM)
    assert await machine.look(PEOPLE) == []
    assert "people" in [check.name for check in all_checks()]


async def test_a_team_that_can_be_reached_is_one_line(machine: Machine) -> None:
    machine.configure(TELEGRAM + ANN + route(to='["Ann"]') + route(to='["web"]'))
    (found,) = await machine.look(PEOPLE)
    assert (found.mark, found.what) == (Mark.FINE, "1 of them, 2 routes")


async def test_it_names_whoever_and_whatever_leads_nowhere(machine: Machine) -> None:
    machine.configure(
        TELEGRAM
        + ANN
        + BOB
        + route(to='["Bob"]')
        + route(to='["Ann"]', second='["matrix:!room:example.org"]', after='"10m"')
    )
    found = await machine.look(PEOPLE)
    assert {finding.mark for finding in found} == {Mark.REMARK}
    assert [finding.what for finding in found] == [
        "Bob has no id on a channel that is set up",
        "route 1 leads to no chat that is set up: its cards go everywhere",
        "the second line of route 2 has no chat that is set up",
    ]


async def test_it_says_that_a_route_leads_only_to_a_channel_in_trouble(machine: Machine) -> None:
    machine.configure(TELEGRAM + ANN + route(to='["Ann"]') + route(to='["Ann", "web"]'))
    channels = [{"name": "telegram", "trouble": "telegram cannot be reached"}]
    with machine.hub(channels=channels):
        (found,) = await machine.look(PEOPLE)
    assert found.what == "route 1 leads only to channels in trouble: its cards go everywhere"


async def test_it_says_that_nobody_may_approve(machine: Machine) -> None:
    only = SLACK + '[[people]]\nname = "Ann"\nslack = "U00000007"\nroles = ["answer"]\n'
    machine.configure(only)
    (found,) = await machine.look(PEOPLE)
    assert found.what == "nobody may approve where approvals are given, so all of them are denied"
    machine.configure(only.replace("[[people]]", 'allowed_users = ["U00000008"]\n[[people]]'))
    (found,) = await machine.look(PEOPLE)
    assert found.mark is Mark.FINE


def test_people_lists_names_roles_and_who_is_only_in_a_channels_list(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.configure(TELEGRAM + ANN + BOB)
    assert people.people(argparse.Namespace(command=None)) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert rows == [
        ["ID", "NAME", "CHANNEL", "ROLES"],
        ["4242", "Ann", "Telegram", "answer,", "approve"],
        ["@bob:example.org", "Bob", "Matrix", "read"],
        ["7", "Telegram", "answer,", "approve"],
    ]
