"""Claude Code's hooks, from the process that it starts over a real hub to the owner at the inbox's
page and back."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.fakes.hooked import EVENT, LIST, PATIENCE, Hook, hooked, permission
from tests.fakes.machine import House, house
from tests.fakes.page import Page

Json = dict[str, Any]
COMMAND = "Run this command?"
ALLOWED: Json = {
    "hookEventName": "PermissionRequest",
    "decision": {"behavior": "allow", "updatedInput": LIST},
}


@pytest.fixture(scope="module")
def home() -> Iterator[House]:
    """One hub for all tests here; the first hook starts it."""
    with house(CHATBRIDGE_MIN_TIMEOUT="1") as here:
        yield here


@pytest.fixture
def page(home: House) -> Page:
    return Page(home.state)


def hook(home: House, event: Json) -> Hook:
    return Hook(event, home.environment)


def test_the_owner_allows_and_denies(home: House, page: Page) -> None:
    with hook(home, permission(home.project)) as asking:
        ask = page.sees(COMMAND)
        assert ask["agent"]["name"] == "Claude Code"
        assert page.allows(ask) == 200
        assert asking.says() == ALLOWED
    with hook(home, permission(home.project)) as asking:
        page.denies(page.sees(COMMAND), "Use the staging server")
        decision = {"behavior": "deny", "message": "The user denied this: Use the staging server"}
        assert asking.says() == {"hookEventName": "PermissionRequest", "decision": decision}


def test_allowed_for_the_session_counts_for_its_next_hooks_and_no_others(
    home: House, page: Page
) -> None:
    with hook(home, permission(home.project, session="long")) as asking:
        page.allows_for_session(page.sees(COMMAND))
        assert asking.says() == ALLOWED
    assert hooked(permission(home.project, session="long"), home.environment) == ALLOWED
    with hook(home, permission(home.project, session="other")) as asking:
        page.denies(page.sees(COMMAND))
        said = asking.says()
    assert said
    assert said["decision"]["behavior"] == "deny"


def test_the_folder_is_the_agents_own_and_what_is_allowed_there_is_allowed_nowhere_else(
    home: House, page: Page
) -> None:
    build, source = home.project / "build", home.project / "src"
    build.mkdir()
    source.mkdir()
    with hook(home, permission(build, session="moving")) as asking:
        ask = page.sees(COMMAND)
        assert ask["questions"][0]["subject"]["folder"] == "~/shop/build"
        page.allows_for_session(ask)
        assert asking.says() == ALLOWED
    assert hooked(permission(build, session="moving"), home.environment) == ALLOWED
    with hook(home, permission(source, session="moving")) as asking:
        ask = page.sees(COMMAND)
        assert ask["questions"][0]["subject"]["folder"] == "~/shop/src"
        page.denies(ask)
        said = asking.says()
    assert said
    assert said["decision"]["behavior"] == "deny"


def test_two_hooks_of_one_session_wait_side_by_side(home: House, page: Page) -> None:
    with hook(home, permission(home.project)) as first:
        one = page.sees(COMMAND)
        with hook(home, permission(home.project, given={"other": "input"})) as second:
            two = page.sees("Use `Bash`?")
            page.denies(one)
            said = first.says()
            assert said
            assert said["decision"]["behavior"] == "deny"
            assert page.ask(two["id"])["status"] == "open"
            page.allows(two)
            assert second.says()


def test_its_own_question_comes_back_with_the_answer(home: House, page: Page) -> None:
    options = [{"label": "red", "description": "Warm"}, {"label": "blue", "description": "Calm"}]
    colour = {"question": "Which colour?", "header": "Colour", "options": options}
    event = {
        **EVENT,
        "cwd": str(home.project),
        "hook_event_name": "PreToolUse",
        "tool_name": "AskUserQuestion",
        "tool_input": {"questions": [colour]},
    }
    with hook(home, event) as asking:
        page.taps(page.sees("Which colour?"), "choose", step=0, option=1)
        said = asking.says()
    assert said
    assert said["permissionDecision"] == "allow"
    assert said["updatedInput"] == {
        "questions": [colour],
        "answers": {"Which colour?": "blue"},
    }
    with hook(home, event) as asking:
        ask = page.sees("Which colour?")
        page.with_token(f"/api/asks/{ask['id']}/cancel", {"reason": "Ask Grace"})
        said = asking.says()
    assert said
    assert said["permissionDecision"] == "deny"
    assert "Ask Grace" in said["permissionDecisionReason"]


def test_notices_reach_the_inbox_and_nothing_is_said(home: House, page: Page) -> None:
    usual = {**EVENT, "cwd": str(home.project)}
    idle = {"notification_type": "idle_prompt", "message": "Claude is waiting for your input"}
    assert hooked({**usual, "hook_event_name": "Notification", **idle}, home.environment) is None
    assert hooked({**usual, "hook_event_name": "Stop"}, home.environment) is None
    seen = [(it["title"], it["message"]) for it in page.notices()]
    assert seen == [
        ("Finished", "Claude Code has finished its turn."),
        ("Waiting for you", "Claude is waiting for your input"),
    ]


def test_a_project_that_is_switched_off_leaves_it_to_claude_code(home: House, page: Page) -> None:
    project = home.project.parent / "quiet"
    project.mkdir()
    (project / ".chatbridge.toml").write_text("enabled = false")
    assert hooked(permission(project), home.environment) is None
    before = len(page.notices())
    stop = {**EVENT, "cwd": str(project), "hook_event_name": "Stop"}
    assert hooked(stop, home.environment) is None
    assert len(page.notices()) == before
    assert page.open_asks() == []


def test_a_hook_waits_through_a_hub_that_is_killed(home: House, page: Page) -> None:
    with hook(home, permission(home.project)) as asking:
        asked = page.sees(COMMAND)
        home.kill_hub(signal.SIGKILL)
        again = page.sees(COMMAND)
        assert again["id"] == asked["id"]
        assert Page(home.state).allows(again) == 200
        assert asking.says() == ALLOWED


def test_a_permission_that_was_given_in_claude_codes_window_is_no_longer_asked_for(
    home: House, page: Page
) -> None:
    record = home.project.parent / "session.jsonl"
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": LIST}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    event = {**permission(home.project, session="window"), "transcript_path": str(record)}
    with hook(home, event) as asking:
        ask = page.sees(COMMAND)
        at = time.strftime("%Y-%m-%dT%H:%M:%S.999Z", time.gmtime())
        entry = {"type": "user", "timestamp": at}
        lines = [{**entry, "message": {"content": [it]}} for it in (use, result)]
        record.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        assert asking.says() is None
    assert page.ask(ask["id"])["status"] == "withdrawn"


def test_a_hook_that_is_killed_leaves_an_approval_that_nobody_waits_for(
    home: House, page: Page
) -> None:
    with hook(home, permission(home.project)) as asking:
        ask = page.sees(COMMAND)
        asking.process.kill()
        until_alone(home, ask)
    assert page.denies(ask) == 200


def until_alone(home: House, ask: Json) -> None:
    """Once the hub knows that it has no caller; after two minutes of that it is withdrawn."""
    deadline = time.monotonic() + PATIENCE
    found = "SELECT 1 FROM asks WHERE id = ? AND alone_since IS NOT NULL"
    with closing(sqlite3.connect(f"{home.database.as_uri()}?mode=ro", uri=True)) as read:
        while read.execute(found, (ask["id"],)).fetchone() is None:
            assert time.monotonic() < deadline, "its caller is still there"
            time.sleep(0.02)


def test_the_owners_rule_allows_without_asking_and_no_variable_or_project_does() -> None:
    rule = '[[approvals.allow]]\ntool = "Bash"\ncommand = "{}"\nproject = "{}"\n'
    variable = '[{"tool": "Bash", "command": "make x", "project": "%s"}]'
    settings = {"CHATBRIDGE_APPROVALS__TIMEOUT": "1", "CHATBRIDGE_MIN_TIMEOUT": "1"}
    with house(**settings) as home:
        config = home.state.parent / ".config" / "chatbridge" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(rule.format("npm test", home.project))
        (home.project / ".chatbridge.toml").write_text(rule.format("make x", home.project))
        home.environment["CHATBRIDGE_APPROVALS__ALLOW"] = variable % home.project
        for command, allowed in (("npm test", True), ("npm test; x", False), ("make x", False)):
            event = permission(home.project, given={"command": command})
            said = hooked(event, home.environment)
            assert bool(said) is allowed, command
        with closing(sqlite3.connect(home.database)) as read:
            rows = read.execute("SELECT json_extract(questions, '$[0].subject.code') FROM asks")
            assert [code for (code,) in rows] == ["npm test; x", "make x"]


def test_nobody_answers_and_claude_code_asks_by_itself() -> None:
    settings = {"CHATBRIDGE_APPROVALS__TIMEOUT": "1", "CHATBRIDGE_MIN_TIMEOUT": "1"}
    with house(**settings) as home, hook(home, permission(home.project)) as asking:
        assert asking.says() is None
        with closing(sqlite3.connect(home.database)) as read:
            rows = read.execute("SELECT tool, status FROM asks").fetchall()
        assert rows == [("approve_tool_use", "timed_out")]
