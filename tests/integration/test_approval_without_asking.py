"""What is allowed without asking: by the owner's rules, or with an approval that was given for more
than one use; by nobody else, and only what they say."""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chatbridge.core.approval_rules import Rule
from chatbridge.core.cards.build import build_card
from chatbridge.core.errors import NotHere
from chatbridge.core.forms import form
from chatbridge.core.forms.typed_input import interpret_approval
from chatbridge.core.model import ALLOW, ALLOW_SESSION, DENY, Ask, Grant, Person, Project
from tests.fakes.approving import ClaudeCode, allow, denial, put, verdict
from tests.fakes.clock import StillClock
from tests.fakes.core_env import OWNER, World, world
from tests.fakes.disk import failing

Json = dict[str, Any]


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as it:
        yield it


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "shop"
    (folder / "src").mkdir(parents=True)
    return folder


def bash(command: str) -> Json:
    return {"tool_name": "Bash", "input": {"command": command}}


def write(path: Path | str, content: str = "x\n") -> Json:
    return {"tool_name": "Write", "input": {"file_path": str(path), "content": content}}


def claude_in(hub: World, shop: Path, **more: Any) -> ClaudeCode:
    project = Project(key=str(shop), name=shop.name)
    return ClaudeCode(hub, project=project, name="chatbridge-hook", **more)


def allowed(use: Json) -> Json:
    return {"behavior": "allow", "updatedInput": use["input"]}


# ── the owner's rules ─────────────────────────────────────────────────────────────────────────────


def rules_of(shop: Path) -> tuple[Rule, ...]:
    return (
        Rule(tools=("Bash",), project=str(shop), command=("npm", "test")),
        Rule(tools=("Write",), project=str(shop), path="src/**"),
    )


async def test_a_rule_allows_without_asking_and_the_log_says_which(
    hub: World, shop: Path, caplog: pytest.LogCaptureFixture
) -> None:
    claude = claude_in(hub, shop, rules=rules_of(shop))
    for number, use in enumerate((bash("npm test --silent"), write(shop / "src" / "new.py")), 1):
        with caplog.at_level(logging.INFO):
            assert verdict(await claude.wants(use)) == allowed(use)
        tool = use["tool_name"]
        assert f"allowed by rule {number} of approvals.allow tool={tool}" in caplog.text
    assert await hub.store.open_asks() == []


async def test_what_a_rule_or_a_grant_allows_is_in_the_audit_trail_or_is_not_allowed(
    tmp_path: Path, shop: Path
) -> None:
    async with world(tmp_path, audited=True) as hub:
        claude = claude_in(hub, shop, rules=rules_of(shop))
        assert verdict(await claude.wants(bash("npm test"))) == allowed(bash("npm test"))
        ask = await grant(hub, claude, bash("make"), lasting=HOUR)
        assert verdict(await claude.wants(bash("make"))) == allowed(bash("make"))
        lines = await hub.store.audit(since=0.0, until=math.inf, limit=99)
        found = [(it.kind, it.thing, it.id, it.what["about"]) for it in lines if "about" in it.what]
        assert found == [
            ("allowed", "rule", "1", "npm test"),
            ("asked", "ask", ask.id, "make"),
            ("granted", "ask", ask.id, "make"),
            ("allowed", "ask", ask.id, "make"),
        ]
        async with failing(tmp_path, "audit"):
            for use in (bash("npm test"), bash("make")):
                assert denial(await claude.wants(use))[0] == "failed"
        assert len(await hub.store.audit(since=0.0, until=math.inf, limit=99)) == len(lines)


async def test_what_no_rule_covers_is_asked_for(hub: World, shop: Path) -> None:
    (shop / "src" / "link.py").symlink_to(shop / "other.py")
    claude = claude_in(hub, shop, rules=rules_of(shop))
    for use in (
        bash("npm test; rm -rf ~"),
        write(shop / "other.py"),
        write(shop / "src" / "link.py"),
        {"tool_name": "Edit", "input": write(shop / "src" / "new.py")["input"]},
    ):
        async with claude.wanting(use) as (_, ask):
            assert ask.approval, use


async def test_a_projects_own_file_allows_nothing(hub: World, shop: Path) -> None:
    (shop / ".chatbridge.toml").write_text(
        '[[approvals.allow]]\ntool = "Bash"\ncommand = "npm test"\nproject = "."\n'
    )
    async with claude_in(hub, shop).wanting(bash("npm test")) as (call, ask):
        await allow(hub, ask)
        assert verdict(await call) == allowed(bash("npm test"))


# ── what a person has allowed beyond one use ──────────────────────────────────────────────────────

HOUR, EIGHT_HOURS, SESSION = range(3)


async def grant(hub: World, claude: ClaudeCode, use: Json, *, scope: int = 0, lasting: int) -> Ask:
    """Allow more with this use, by way of the screens; the ask with which that was done."""
    async with claude.wanting(use) as (call, ask):
        assert ask.questions[0].subject
        several = len(ask.questions[0].subject.scopes) > 1
        picks = [scope, lasting] if several else [lasting]
        await put(hub, ask, form.AskMore(step=0))
        for step, option in enumerate(picks, 1):
            await put(hub, ask, form.Pick(step=step, option=option))
        last = form.Choose(step=len(picks) + 1, option=ALLOW_SESSION)
        assert isinstance(await put(hub, ask, last), form.Answered)
        assert verdict(await call) == allowed(use)
    return await hub.now(ask)


async def is_asked(claude: ClaudeCode, use: Json) -> bool:
    """Whether a person is asked; if not, it has to be allowed."""
    store = claude.world.store
    # Of one that has just ended, an earlier change may not have been told yet.
    before = {ask.id for ask in [*await store.open_asks(), *await store.history(limit=100)]}
    while not claude.world.changes.empty():
        claude.world.changes.get_nowait()
    call = asyncio.create_task(claude.wants(use))
    opened = asyncio.create_task(claude.world.until(lambda ask: ask.open and ask.id not in before))
    try:
        await asyncio.wait({call, opened}, return_when=asyncio.FIRST_COMPLETED)
        if not opened.done():
            assert verdict(await call) == allowed(use)
            return False
        await put(claude.world, await opened, form.Choose(step=0, option=DENY))
        return True
    finally:
        call.cancel()
        opened.cancel()
        await asyncio.wait({call, opened})


async def test_edits_in_a_folder_are_allowed_for_a_time_in_every_session_of_the_project(
    hub: World, shop: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = claude_in(hub, shop), claude_in(hub, shop, link="link-2")
    ask = await grant(hub, first, write(shop / "src" / "a.py"), lasting=HOUR)
    assert ask.grant == Grant(
        folder=str(shop / "src"), lasting=3600.0, until=hub.clock.time() + 3600.0
    )
    edit = {"file_path": str(shop / "src" / "b" / "c.py"), "old_string": "", "new_string": "x"}
    for claude in (first, second):
        for use in (write(shop / "src" / "new.py"), {"tool_name": "Edit", "input": edit}):
            with caplog.at_level(logging.INFO):
                assert not await is_asked(claude, use)
            assert f"allowed with ask {ask.id} tool={use['tool_name']}" in caplog.text
            caplog.clear()
    hub.clock.advance(3599.0)
    assert not await is_asked(second, write(shop / "src" / "new.py"))
    hub.clock.advance(1.0)
    assert await is_asked(first, write(shop / "src" / "new.py"))


async def test_what_lies_outside_or_others_run_is_asked_for_under_a_grant_too(
    hub: World, shop: Path, tmp_path: Path
) -> None:
    source = shop / "src"
    claude = claude_in(hub, shop)
    await grant(hub, claude, write(source / "a.py"), lasting=EIGHT_HOURS)
    (source / "file.py").symlink_to(tmp_path / "a.txt")
    for beside in ("a.py", "srcs/a.py", "SRC/a.py", "src-evil/a.py", "lib/src/a.py"):
        assert await is_asked(claude, write(shop / beside)), beside
    for path in ("../../.bashrc", "file.py", ".env", "Makefile", "CLAUDE.md", "a\u200b.py"):
        assert await is_asked(claude, write(f"{source}/{path}")), path
    assert await is_asked(claude, write(source / "b.py", "#!/bin/sh\n"))
    assert await is_asked(claude, bash("npm test"))
    assert not await is_asked(claude, write(source / "b.py"))


async def test_all_edits_in_a_project_are_allowed_in_no_other(
    hub: World, shop: Path, tmp_path: Path
) -> None:
    claude = claude_in(hub, shop)
    ask = await grant(hub, claude, write(shop / "src" / "a.py"), scope=1, lasting=EIGHT_HOURS)
    assert ask.grant
    assert ask.grant.folder == str(shop)
    assert not await is_asked(claude, write(shop / "lib" / "b.py"))
    assert await is_asked(claude, write(tmp_path / "b.py"))
    other = tmp_path / "other" / "shop"
    inner = shop / "inner"
    for folder in (other, inner):
        folder.mkdir(parents=True)
        elsewhere = claude_in(hub, folder, link=f"link-{folder.parent.name}")
        assert await is_asked(elsewhere, write(folder / "b.py"))
        assert await is_asked(elsewhere, write(shop / "src" / "b.py"))
    for key in (f"uid:1000:{shop}", f"http:laptop:{shop}", f"link:{shop}"):
        project = Project(key=key, name="shop")
        outsider = ClaudeCode(hub, project=project, link=key, folder=str(shop))
        assert await is_asked(outsider, write(shop / "src" / "b.py"))


async def test_a_grant_for_the_session_is_for_no_other_and_survives_the_hub(
    shop: Path, tmp_path: Path
) -> None:
    clock = StillClock()
    async with world(tmp_path, clock) as hub:
        claude = claude_in(hub, shop)
        await grant(hub, claude, write(shop / "src" / "a.py"), lasting=SESSION)
        await grant(hub, claude, bash("npm test"), lasting=HOUR)
        assert not await is_asked(claude, write(shop / "src" / "b.py"))
        assert await is_asked(claude_in(hub, shop, link="link-2"), write(shop / "src" / "b.py"))
    async with world(tmp_path, clock) as hub:
        claude, other = claude_in(hub, shop), claude_in(hub, shop, link="link-2")
        clock.advance(1800.0)
        assert not await is_asked(claude, write(shop / "src" / "b.py"))
        assert not await is_asked(other, bash("npm test"))
        assert await is_asked(other, write(shop / "src" / "b.py"))
        clock.advance(1800.0)
        assert not await is_asked(claude, write(shop / "src" / "b.py"))
        assert await is_asked(claude, bash("npm test"))


async def test_a_session_that_cannot_be_told_from_others_is_allowed_nothing_for_itself(
    hub: World, shop: Path
) -> None:
    project = Project(key="http:laptop", name="laptop")
    agents = ClaudeCode(hub, project=project, folder=str(shop), shared_link=True)
    async with agents.wanting(bash("npm test")) as (_, ask):
        await put(hub, ask, form.AskMore(step=0))
        card = build_card(await hub.now(ask), channel="web")
        assert [choice.label for choice in card.choices] == ["For 1 h", "For 8 h"]
        assert await put(hub, ask, form.Pick(step=1, option=SESSION)) == form.UNFIT
        await put(hub, ask, form.Back(step=1))
        card = build_card(await hub.now(ask), channel="matrix")
        assert interpret_approval(card, "session") == (form.AskMore(step=2),)


async def test_an_exact_command_is_allowed_to_the_letter_and_in_its_folder(
    hub: World, shop: Path
) -> None:
    claude = claude_in(hub, shop)
    ask = await grant(hub, claude, bash("npm test"), lasting=HOUR)
    assert ask.grant
    assert ask.grant.folder is None
    assert not await is_asked(claude_in(hub, shop, link="link-2"), bash("npm test"))
    for command in ("npm  test", "npm test ", "npm test; rm -rf ~", "npm test\n", "npm tests"):
        assert await is_asked(claude, bash(command)), command
    elsewhere = claude_in(hub, shop, link="link-3", folder=str(shop / "src"))
    assert await is_asked(elsewhere, bash("npm test"))
    other = {"tool_name": "Shell", "input": {"command": "npm test"}}
    assert await is_asked(claude, other)


async def test_an_exact_change_stays_the_same_once_its_file_is_there(
    hub: World, shop: Path
) -> None:
    claude, script = claude_in(hub, shop), shop / "deploy.sh"
    ask = await grant(hub, claude, write(script), lasting=HOUR)
    assert ask.questions[0].text == "Create this file?"
    script.write_text("x\n")
    assert not await is_asked(claude, write(script))
    assert await is_asked(claude, write(script, "y\n"))


async def test_what_is_taken_back_is_asked_for_at_once(hub: World, shop: Path) -> None:
    claude, use = claude_in(hub, shop), write(shop / "src" / "a.py")
    for lasting in (HOUR, SESSION):
        ask = await grant(hub, claude, use, lasting=lasting)
        assert not await is_asked(claude, use)
        taken = await hub.inbox.take_back(ask.id, person=OWNER)
        assert taken.grant
        assert taken.grant.taken_back_at == hub.clock.time()
        assert taken.revision > ask.revision
        assert await is_asked(claude, use)
        assert await hub.inbox.take_back(ask.id, person=OWNER) == taken


async def test_what_a_rule_allows_too_is_not_said_to_be_asked_for_once_it_is_taken_back(
    hub: World, shop: Path
) -> None:
    use = bash("npm test")
    ask = await grant(hub, claude_in(hub, shop), use, lasting=HOUR)
    taken = await hub.inbox.take_back(ask.id, person=OWNER)
    assert not await is_asked(claude_in(hub, shop, rules=rules_of(shop)), use)
    said = build_card(taken, channel="web").grant_text
    assert said[-1] == ". It is asked for again, unless something else allows it."


async def test_only_a_channel_for_approvals_takes_back(hub: World, shop: Path) -> None:
    claude, use = claude_in(hub, shop), write(shop / "src" / "a.py")
    ask = await grant(hub, claude, use, lasting=HOUR)
    for channel in ("terminal", "window", ""):
        with pytest.raises(NotHere):
            await hub.inbox.take_back(ask.id, person=Person(name="x", channel=channel))
    assert not await is_asked(claude, use)


async def test_what_was_not_allowed_for_longer_is_no_grant(hub: World, shop: Path) -> None:
    claude, use = claude_in(hub, shop), write(shop / "src" / "a.py")
    for verdict_of in (ALLOW, DENY):
        async with claude.wanting(use) as (call, ask):
            await put(hub, ask, form.AskMore(step=0))
            await put(hub, ask, form.Back(step=1))
            await put(hub, ask, form.Choose(step=2, option=verdict_of))
            await call
        after = await hub.now(ask)
        assert after.grant is None
        assert await hub.inbox.take_back(ask.id, person=OWNER) == after
        assert await is_asked(claude, use)


@pytest.mark.parametrize("lasting", [HOUR, SESSION])
async def test_a_grant_that_can_be_undone_begins_when_it_is_sent_and_ends_as_its_screen_said(
    shop: Path, tmp_path: Path, lasting: int
) -> None:
    async with world(tmp_path, undo=5.0) as hub:
        claude, use = claude_in(hub, shop), bash("npm test")
        async with claude.wanting(use) as (call, ask):
            for event in (
                form.AskMore(step=0),
                form.Pick(step=1, option=lasting),
                form.Choose(step=2, option=ALLOW_SESSION),
                form.Undo(step=3),
            ):
                await put(hub, ask, event)
            undone = await hub.now(ask)
            assert (undone.open, undone.grant) == (True, None)
            for event in (
                form.AskMore(step=4),
                form.Pick(step=5, option=lasting),
                form.Choose(step=6, option=ALLOW_SESSION),
            ):
                await put(hub, ask, event)
            said = (await hub.now(ask)).draft.until
            assert said == (hub.clock.time() + 3600.0 if lasting == HOUR else None)
            assert await is_asked(claude_in(hub, shop, link="link-2"), use)
            hub.clock.advance(6)
            assert verdict(await call) == allowed(use)
        sent = await hub.now(ask)
        assert sent.grant
        assert sent.grant.until == said
        other = claude_in(hub, shop, link="link-3")
        assert await is_asked(other, use) is (lasting == SESSION)
        assert not await is_asked(claude, use)
        hub.clock.advance(3594.0)
        assert await is_asked(claude, use) is (lasting == HOUR)
