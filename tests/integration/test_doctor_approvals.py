"""doctor lists what agents may do without asking."""

from __future__ import annotations

from dataclasses import replace

from chatbridge.channels.checks import Mark
from chatbridge.cli.doctor.approvals import approvals
from chatbridge.cli.doctor.run import Check, all_checks
from chatbridge.core.cards.phrases import clock_time
from chatbridge.core.model import Answer, Grant, Outcome, Status
from chatbridge.store.sqlite.store import SqliteStore
from tests.contract.asks import an_ask, keep
from tests.fakes.clock import StillClock
from tests.fakes.doctor import Machine, screen

APPROVALS = Check("approvals", approvals)


def rule(**keys: str) -> str:
    given = {"tool": "'Edit'", "project": "'~/shop'", **keys}
    return "[[approvals.allow]]\n" + "".join(f"{key} = {value}\n" for key, value in given.items())


async def test_without_rules_it_says_so(machine: Machine) -> None:
    (found,) = await machine.look(APPROVALS)
    assert found.what == "nothing is allowed without asking"
    assert "approvals" in [check.name for check in all_checks()]


async def test_each_rule_has_a_line_and_a_doubtful_one_says_why(machine: Machine) -> None:
    (machine.home / "shop").mkdir()
    machine.configure(
        rule(tool="'Bash'", command="'npm test'")
        + rule(tool="'Bash'", command="'ls'")
        + rule(path="'src/**'", expires="2001-01-01")
        + rule(path="'src/**'", project="'/no/folder'")
        + rule(path="'**'")
        + rule(tool="['Edit', 'Write']", path="'**/*.md'", expires="2199-12-31T12:00:00")
    )
    fix = "                   → Change approvals.allow in ~/config.toml\n"
    assert screen(await machine.look(APPROVALS)) == (
        "✓ approvals        rule 1 allows npm test … in ~/shop\n"
        "✓ approvals        rule 2 allows ls in ~/shop\n"
        f"! approvals        rule 3 has expired: Edit of src/** in ~/shop\n{fix}"
        "! approvals        rule 4 is for a folder that is not there: Edit of src/** in\n"
        f"                   /no/folder\n{fix}"
        f"! approvals        rule 5 is wide and never expires: Edit of ** in ~/shop\n{fix}"
        "✓ approvals        rule 6 allows Edit, Write of **/*.md in ~/shop until 31.12.99\n"
        "                   12:00\n"
    )


async def test_rules_that_do_not_apply_because_several_hubs_share_a_database_are_said(
    machine: Machine,
) -> None:
    (machine.home / "shop").mkdir()
    rules = rule(tool="'Bash'", command="'npm test'") + rule(path="'src/**'")
    several = 'store = "postgresql://nobody@127.0.0.1:1/x"\n[cluster]\n'
    for settings, marks in (
        (several + "name = 'hub-a'\n", [Mark.FINE, Mark.FINE]),
        (several + "listen = '10.0.0.5:8788'\n", [Mark.REMARK]),
    ):
        machine.configure(settings + rules)
        found = await machine.look(APPROVALS)
        assert [finding.mark for finding in found] == marks
    assert found[0].what.startswith("approvals.allow does not apply with cluster.listen")
    assert found[0].fix == ("Change approvals.allow in ~/config.toml, or take cluster.listen out",)
    machine.configure(several + "listen = '10.0.0.5:8788'\n")
    (said,) = await machine.look(APPROVALS)
    assert said.what == "nothing is allowed without asking"


async def test_what_was_allowed_for_a_time_is_listed_until_then(machine: Machine) -> None:
    machine.state.mkdir()
    store = await SqliteStore.open(machine.state / "chatbridge.db")
    clock = StillClock()
    until = clock.time() + 3600.0
    for grant in (
        Grant(folder=str(machine.home / "shop" / "src"), until=until),
        Grant(until=until),
        Grant(),
        Grant(until=clock.time()),
        Grant(until=until, taken_back_at=clock.time()),
    ):
        ask = replace(an_ask(), status=Status.ANSWERED, settled_at=clock.time())
        said = (Answer(values=("session",)),)
        await keep(store, replace(ask, outcome=Outcome(at=0.0, answers=said, grant=grant)))
    await store.close()
    found = await machine.look(APPROVALS, clock=clock)
    at = clock_time(until)
    assert [finding.what for finding in found] == [
        f"you allowed edits in ~/shop/src until {at}",
        f"you allowed one exact use in shop until {at}",
    ]
