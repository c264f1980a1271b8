"""`chatbridge hook` before a scripted hub: what it asks, what it says, and that it says nothing
whenever anything is wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from chatbridge.cli.agents import hook as hook_call
from chatbridge.cli.agents.collect import REPLY_SECONDS
from chatbridge.cli.agents.hook import OUTCOME, decision_in, limit_in
from chatbridge.cli.connect.own_hooks import has_own_hook
from chatbridge.digests import sha256_hex
from chatbridge.tools import clients
from chatbridge.tools.approvals import tool
from tests.fakes.hooked import EVENT, LIST, PATIENCE, Hook, hooked, permission
from tests.fakes.program import CHATBRIDGE, bare
from tests.fakes.scripted_hub import Connection, ScriptedHub, scripted_hub

Json = dict[str, Any]
ALLOW = '{"behavior": "allow", "updatedInput": {"command": "ls -l"}}'
DENY = '{"behavior": "deny", "message": "The user denied this: no"}'
BUSY: Json = {"background_tasks": [{"id": "b1"}]}  # Claude Code goes on by itself later


def result(text: str, **more: object) -> Json:
    return {"content": [{"type": "text", "text": text}], **more}


def denied(outcome: str) -> Json:
    return result(DENY, _meta={OUTCOME: outcome})


def called(hub: ScriptedHub) -> tuple[Connection, Json, Json]:
    """The hook's connection, its preface and its call."""
    connection, preface = hub.accept()
    hello = connection.receive()
    connection.respond(hello, {"protocolVersion": "2025-11-25", "capabilities": {}})
    assert connection.receive()["method"] == "notifications/initialized"
    call = connection.receive()
    assert call["method"] == "tools/call"
    assert hello["params"]["clientInfo"]["name"] == clients.HOOK
    return connection, preface, call


@pytest.fixture
def environment(state: str) -> dict[str, str]:
    return {"CHATBRIDGE_STATE_DIR": state, "CHATBRIDGE_RUNTIME_DIR": state}


# ── what is asked and said ────────────────────────────────────────────────────────────────────────


def test_a_permission_is_asked_for_in_the_agents_folder_and_allowed(
    hub: ScriptedHub, environment: dict[str, str], tmp_path: Path
) -> None:
    with Hook({**permission(tmp_path), "tool_use_id": "toolu_1"}, environment) as hook:
        connection, preface, call = called(hub)
        assert preface["cwd"] == str(tmp_path)
        asked = {"tool_name": "Bash", "input": LIST, "tool_use_id": "toolu_1"}
        assert call["params"] == {"name": "approve_tool_use", "arguments": asked}
        connection.respond(call, result(ALLOW))
        decision = {"behavior": "allow", "updatedInput": {"command": "ls -l"}}
        assert hook.says() == {"hookEventName": "PermissionRequest", "decision": decision}
        assert connection.receive() == {"chatbridge": "delivered", "request": call["id"]}


def test_the_hub_is_told_when_the_hook_will_be_ended(
    hub: ScriptedHub, environment: dict[str, str], tmp_path: Path
) -> None:
    assert (limit_in([]), limit_in(["--limit=90"])) == (None, 90)
    with Hook(permission(tmp_path), environment, "--limit", "28800") as hook:
        connection, preface, call = called(hub)
        assert preface["limit"] == 28800
        connection.respond(call, result(ALLOW))
        assert hook.says()


def test_a_persons_denial_is_said_with_its_reason(
    hub: ScriptedHub, environment: dict[str, str], tmp_path: Path
) -> None:
    with Hook(permission(tmp_path), environment) as hook:
        connection, _, call = called(hub)
        connection.respond(call, denied("denied"))
        decision = {"behavior": "deny", "message": "The user denied this: no"}
        assert hook.says() == {"hookEventName": "PermissionRequest", "decision": decision}


def question(name: str = "AskUserQuestion") -> Json:
    given = {"questions": [{"question": "Which colour?"}]}
    event = {**EVENT, "cwd": "/", "hook_event_name": "PreToolUse"}
    return {**event, "tool_name": name, "tool_input": given}


def test_a_question_comes_back_answered(hub: ScriptedHub, environment: dict[str, str]) -> None:
    with Hook(question(), environment) as hook:
        connection, _, call = called(hub)
        assert call["params"]["arguments"]["tool_name"] == "AskUserQuestion"
        text = '{"behavior": "allow", "updatedInput": {"answers": {"Which colour?": "red"}}}'
        connection.respond(call, result(text))
        assert hook.says() == {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "permissionDecisionReason": "Answered with chatbridge",
            "updatedInput": {"answers": {"Which colour?": "red"}},
        }


def test_a_cancelled_question_is_denied_with_its_reason(
    hub: ScriptedHub, environment: dict[str, str]
) -> None:
    with Hook(question(), environment) as hook:
        connection, _, call = called(hub)
        connection.respond(call, denied("cancelled"))
        assert hook.says() == {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "The user denied this: no",
        }


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (
            {
                "hook_event_name": "Notification",
                "message": "Idle",
                "notification_type": "idle_prompt",
            },
            {"message": "Idle", "title": "Waiting for you", "level": "info"},
        ),
        (
            {"hook_event_name": "Notification", "message": "Hm", "title": "News"},
            {"message": "Hm", "title": "News", "level": "info"},
        ),
        (
            {"hook_event_name": "Notification", "message": "x" * 9_000},
            {"message": "x" * 4_000, "level": "info"},
        ),
    ],
)
def test_a_notice_is_passed_on_and_nothing_is_said(
    hub: ScriptedHub, environment: dict[str, str], event: Json, told: Json
) -> None:
    with Hook({**EVENT, "cwd": "/", **event}, environment) as hook:
        connection, _, call = called(hub)
        assert call["params"] == {"name": "notify_user", "arguments": told}
        connection.respond(call, result("told"))
        assert hook.says() is None


# ── what the owner has written ────────────────────────────────────────────────────────────────────


def after_tool(cwd: object, **more: object) -> Json:
    return {**EVENT, "cwd": str(cwd), "hook_event_name": "PostToolUse", "tool_name": "Bash", **more}


def collecting(hub: ScriptedHub) -> tuple[Connection, Json]:
    """The hook's connection, and what it asks for."""
    connection, preface = hub.accept()
    assert preface["chatbridge"] == "terminal"
    return connection, connection.receive()


@pytest.mark.parametrize(
    ("event", "client", "own"),
    [
        ({}, "claude-code", "PostToolUse"),
        ({"turn_id": "1"}, "codex", "PostToolUse"),
        ({"hook_event_name": "AfterTool"}, "gemini-cli", "AfterTool"),
    ],
)
def test_what_waits_is_said_after_a_tool_and_then_confirmed(
    hub: ScriptedHub,
    environment: dict[str, str],
    tmp_path: Path,
    event: Json,
    client: str,
    own: str,
) -> None:
    (tmp_path / ".chatbridge.toml").write_text("")
    with Hook(after_tool(tmp_path, **event), environment) as hook:
        connection, asked = collecting(hub)
        assert asked == {
            "do": "collect",
            "link": sha256_hex(b"hook 5f2a")[:32],
            "cwd": str(tmp_path),
            "root": str(tmp_path),
            "file": "",
            "label": None,
            "client": client,
            "stops": False,
        }
        connection.send({"result": {"texts": ["Use tabs", "And hurry"], "call": ["l", "r"]}})
        assert connection.receive() == {"do": "collected", "call": ["l", "r"]}
        connection.send({"result": {}})
        text = "Use tabs\n\nAnd hurry"
        assert hook.says() == {"hookEventName": own, "additionalContext": text}


@pytest.mark.parametrize("event", [{"turn_id": "1"}, {"hook_event_name": "AfterAgent"}, BUSY])
def test_who_is_about_to_stop_goes_on_with_what_waits(
    hub: ScriptedHub, environment: dict[str, str], tmp_path: Path, event: Json
) -> None:
    stop = {**EVENT, "cwd": str(tmp_path), "hook_event_name": "Stop", **event}
    with Hook(stop, environment) as hook:
        connection, asked = collecting(hub)
        assert asked["stops"] is True
        connection.send({"result": {"texts": ["Use tabs"], "call": ["l", "r"]}})
        assert connection.receive()["do"] == "collected"
        connection.send({"result": {}})
        assert hook.prints() == {"decision": "block", "reason": "Use tabs"}


@pytest.mark.parametrize(
    ("event", "folder"),
    [
        ({}, "shop"),
        ({"hook_event_name": "AfterTool"}, "shop"),
        ({"turn_id": "1"}, "other"),
        ({"client": "opencode"}, "other"),
    ],
    ids=["Claude Code", "Gemini CLI", "Codex in Claude Code", "opencode in Claude Code"],
)
def test_the_folder_is_the_one_that_the_agent_was_started_in(
    hub: ScriptedHub, environment: dict[str, str], tmp_path: Path, event: Json, folder: str
) -> None:
    started, now = tmp_path / "shop", tmp_path / "other"
    started.mkdir()
    now.mkdir()
    environment["CLAUDE_PROJECT_DIR"] = str(started)
    with Hook(after_tool(now, **event), environment) as hook:
        connection, asked = collecting(hub)
        assert asked["cwd"] == str(tmp_path / folder)
        connection.send({"result": {"texts": []}})
        assert hook.says() is None


@pytest.mark.parametrize(
    "reply",
    [
        {"result": {"texts": [], "call": ["l", "r"]}},
        {"result": {"texts": "Use tabs"}},
        {"result": {}},
        {"result": []},
        {"error": "this hub does not know 'collect'", "kind": "ChatbridgeError"},
        {"chatbridge": "stopping"},
        {},
    ],
    ids=str,
)
def test_nothing_is_said_unless_the_hub_has_something(
    hub: ScriptedHub, environment: dict[str, str], tmp_path: Path, reply: Json
) -> None:
    with Hook(after_tool(tmp_path), environment) as hook:
        connection, _ = collecting(hub)
        connection.send(reply)
        assert hook.prints() is None
        assert connection.is_closed()


def test_a_hub_that_hangs_does_not_hold_the_agent(
    hub: ScriptedHub, environment: dict[str, str], tmp_path: Path
) -> None:
    began = time.monotonic()
    with Hook(after_tool(tmp_path), environment) as hook:
        connection, _ = hub.accept(greet=False)
        assert hook.prints() is None
        assert connection.is_closed()
    assert time.monotonic() - began < REPLY_SECONDS + 10


def test_what_is_said_stays_said_if_the_hub_goes_before_it_is_confirmed(
    hub: ScriptedHub, environment: dict[str, str], tmp_path: Path
) -> None:
    with Hook(after_tool(tmp_path), environment) as hook:
        connection, _ = collecting(hub)
        connection.send({"result": {"texts": ["Use tabs"], "call": ["l", "r"]}})
        assert connection.receive()["do"] == "collected"
        connection.close()
        assert hook.says()


def test_what_cannot_be_said_is_not_confirmed(
    hub: ScriptedHub, environment: dict[str, str], tmp_path: Path
) -> None:
    with Hook(after_tool(tmp_path), environment) as hook:
        assert hook.process.stdout is not None
        hook.process.stdout.close()
        connection, _ = collecting(hub)
        connection.send({"result": {"texts": ["Use tabs"], "call": ["l", "r"]}})
        with pytest.raises((EOFError, ConnectionError)):
            connection.receive()
        assert hook.process.wait(PATIENCE) == 0


def test_the_agents_own_agents_do_not_take_what_is_meant_for_it(
    hub: ScriptedHub, environment: dict[str, str], tmp_path: Path
) -> None:
    assert hooked(after_tool(tmp_path, agent_id="a1"), environment) is None
    with Hook(after_tool(tmp_path), environment) as hook:
        connection, asked = collecting(hub)  # the first to come
        assert asked["do"] == "collect"
        connection.close()
        assert hook.says() is None


# ── what next ─────────────────────────────────────────────────────────────────────────────────────


def stop(cwd: object, **more: object) -> Json:
    return {**EVENT, "cwd": str(cwd), "hook_event_name": "Stop", **more}


@pytest.mark.parametrize(
    ("event", "words", "again"),
    [
        ({}, "", False),
        ({"last_assistant_message": "All done.", "stop_hook_active": False}, "All done.", False),
        ({"last_assistant_message": "x" * 9_000, "stop_hook_active": True}, "x" * 4_000, True),
        ({"last_assistant_message": ["no"], "stop_hook_active": "yes"}, "", False),
    ],
)
def test_the_hub_is_told_the_last_words_and_says_what_is_next(
    hub: ScriptedHub,
    environment: dict[str, str],
    tmp_path: Path,
    event: Json,
    words: str,
    again: bool,
) -> None:
    with Hook(stop(tmp_path, **event), environment, "--limit", "3600") as hook:
        connection, preface, call = called(hub)
        assert (preface["cwd"], preface["limit"]) == (str(tmp_path), 3600)
        arguments = {"lastWords": words, "again": again}
        assert call["params"] == {"name": "what_next", "arguments": arguments}
        connection.respond(call, result('{"next": "Go on. Fix the tests"}'))
        assert hook.prints() == {"decision": "block", "reason": "Go on. Fix the tests"}
        assert connection.receive() == {"chatbridge": "delivered", "request": call["id"]}


@pytest.mark.parametrize(
    "answer",
    [
        result('{"next": null}'),
        result('{"next": "Fix it"}', isError=True),
        result("no JSON"),
        result("[]"),
        {"content": []},
        {},
    ],
    ids=str,
)
def test_the_agent_stops_unless_there_is_a_next_task(
    hub: ScriptedHub, environment: dict[str, str], tmp_path: Path, answer: Json
) -> None:
    with Hook(stop(tmp_path), environment) as hook:
        connection, _, call = called(hub)
        connection.respond(call, answer)
        assert hook.prints() is None


def test_what_is_typed_in_the_window_ends_the_wait(
    hub: ScriptedHub, environment: dict[str, str], tmp_path: Path
) -> None:
    record = tmp_path / "session.jsonl"
    record.write_text("")
    with Hook(stop(tmp_path, transcript_path=str(record)), environment) as hook:
        connection, _, call = called(hub)
        at = time.strftime("%Y-%m-%dT%H:%M:%S.999Z", time.gmtime(time.time() + 1))
        typed = {"type": "queue-operation", "operation": "enqueue", "timestamp": at}
        record.write_text(json.dumps({**typed, "content": "go on"}) + "\n")
        cancelled = connection.receive()
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == call["id"]
        assert hook.prints() is None


# ── the plug-in ───────────────────────────────────────────────────────────────────────────────────

OURS = "mcp__plugin_chatbridge_chatbridge__"


def test_our_own_tools_in_the_plugin_need_no_permission(tmp_path: Path) -> None:
    """Nor a hub: they are the asking."""
    environment = {"CHATBRIDGE_STATE_DIR": str(tmp_path / "state")}
    event = {**permission("/"), "tool_name": f"{OURS}ask_user"}
    with Hook(event, environment, "--plugin", "--limit", "600") as hook:
        decision = {"behavior": "allow"}
        assert hook.says() == {"hookEventName": "PermissionRequest", "decision": decision}
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("name", ["approve_tool_use", "git", "ask_user_"])
def test_other_tools_of_the_plugin_are_asked_for(
    hub: ScriptedHub, environment: dict[str, str], name: str
) -> None:
    with Hook({**permission("/"), "tool_name": f"{OURS}{name}"}, environment, "--plugin") as hook:
        connection, _, call = called(hub)
        assert call["params"]["name"] == "approve_tool_use"
        connection.respond(call, denied("denied"))
        assert hook.says()


def settings_with(event: str, command: str, folder: Path) -> None:
    group = {"hooks": [{"type": "command", "command": command}]}
    (folder / "settings.json").write_text(json.dumps({"hooks": {event: [group]}}))


def test_a_hook_of_the_plugin_does_nothing_where_the_settings_have_it(tmp_path: Path) -> None:
    settings_with("PermissionRequest", "/opt/chatbridge hook --limit 600", tmp_path)
    state = tmp_path / "state"
    environment = {"CHATBRIDGE_STATE_DIR": str(state), "CLAUDE_CONFIG_DIR": str(tmp_path)}
    with Hook(permission("/"), environment, "--plugin") as hook:
        assert hook.says() is None
    assert not state.exists()


@pytest.mark.parametrize(
    ("event", "command", "words"),
    [
        ("PermissionRequest", "chatbridge hook", []),
        ("Stop", "chatbridge hook", ["--plugin"]),
        ("PermissionRequest", "say done", ["--plugin"]),
    ],
    ids=["not the plug-in's", "another event", "another's hook"],
)
def test_any_other_asks(
    hub: ScriptedHub,
    environment: dict[str, str],
    tmp_path: Path,
    event: str,
    command: str,
    words: list[str],
) -> None:
    settings_with(event, command, tmp_path)
    there = {**environment, "CLAUDE_CONFIG_DIR": str(tmp_path)}
    with Hook(permission("/"), there, *words) as hook:
        connection, _, call = called(hub)
        connection.respond(call, result(ALLOW))
        assert hook.says()


@pytest.mark.parametrize("settings", ["", "{", "[]", '{"hooks": []}', "[" * 100_000])
def test_settings_that_cannot_be_read_have_no_hook(settings: str, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(settings)
    assert not has_own_hook("Stop", {"CLAUDE_CONFIG_DIR": str(tmp_path)})
    assert not has_own_hook(["Stop"], {"CLAUDE_CONFIG_DIR": str(tmp_path / "gone")})


# ── no decision ───────────────────────────────────────────────────────────────────────────────────

OTHER_EVENTS: list[Json] = [
    question("Bash"),
    {**question(), "hook_event_name": "PermissionRequest"},
    {**permission("/"), "tool_input": "ls"},
    {**permission("/"), "tool_name": None},
    {**permission("/"), "tool_name": ["mcp__plugin_chatbridge_chatbridge__ask_user"]},
    {**EVENT, "turn_id": "1", "hook_event_name": "Stop", "stop_hook_active": False},
    {**EVENT, "hook_event_name": "AfterAgent", "stop_hook_active": False},
    {**EVENT, "hook_event_name": "SubagentStop"},
    {**EVENT, "hook_event_name": "Notification"},
    {**EVENT, "cwd": "/", "hook_event_name": "PostToolUse", "tool_name": "Bash"},
    {**EVENT, "cwd": "/", "hook_event_name": "AfterTool"},
    {**EVENT, "cwd": "/", "hook_event_name": "Stop", "turn_id": "1"},
    {**EVENT, "cwd": "/", "hook_event_name": "AfterAgent"},
    {**permission("/"), "turn_id": "1"},
    {**EVENT, "hook_event_name": ["Stop"]},
    {},
]
GARBAGE = [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 5_000]


@pytest.mark.parametrize("event", [*OTHER_EVENTS, *GARBAGE], ids=lambda it: str(it)[:40])
def test_of_other_events_and_garbage_nobody_hears(event: Json | bytes, tmp_path: Path) -> None:
    """Nor is a hub started for them."""
    state = tmp_path / "state"
    assert hooked(event, {"CHATBRIDGE_STATE_DIR": str(state)}) is None
    assert not state.exists()


@pytest.mark.parametrize(
    "answer",
    [
        denied("timed_out"),
        denied("not_reached"),
        denied("client_limit"),
        denied("withdrawn"),
        denied("switched_off"),
        result(DENY),
        result(DENY, _meta={OUTCOME: ["denied"]}),
        result(ALLOW, isError=True),
        result('{"behavior": "allow"}'),
        result('{"behavior": "allow", "updatedInput": "ls"}'),
        result('{"behavior": "maybe", "updatedInput": {}}'),
        result('"allow"'),
        {"content": []},
        {"content": [result(ALLOW)["content"][0]] * 2},
        {"content": [{"type": "image", "data": ALLOW}]},
        {"content": ALLOW},
        {},
    ],
    ids=str,
)
def test_only_a_persons_decision_is_one(answer: Json) -> None:
    assert decision_in(answer) is None


@pytest.mark.parametrize("text", ["no JSON", "", ALLOW[:-1]])
def test_a_result_that_cannot_be_read_is_no_decision(
    hub: ScriptedHub, environment: dict[str, str], text: str
) -> None:
    with Hook(permission("/"), environment) as hook:
        connection, _, call = called(hub)
        connection.respond(call, result(text))
        assert hook.says() is None


def test_an_error_of_the_hub_is_no_decision(hub: ScriptedHub, environment: dict[str, str]) -> None:
    with Hook(permission("/"), environment) as hook:
        connection, _, call = called(hub)
        error = {"code": -32603, "message": "no"}
        connection.send({"jsonrpc": "2.0", "id": call["id"], "error": error})
        assert hook.says() is None


def test_a_hub_of_another_version_is_no_decision(
    hub: ScriptedHub, environment: dict[str, str]
) -> None:
    with Hook(permission("/"), environment) as hook:
        connection, _ = hub.accept(greet=False)
        connection.send({"chatbridge": "refused", "message": "this hub speaks protocol 2"})
        connection.close()
        assert hook.says() is None


@pytest.mark.parametrize(
    "settings",
    [{"CHATBRIDGE_STATE_DIR": "/dev/null/state"}, {"CHATBRIDGE_ENABLED": "false"}],
    ids=["bad state directory", "switched off"],
)
@pytest.mark.parametrize("event", [permission("/"), question(), {"hook_event_name": "Stop"}])
def test_no_hub_is_no_decision(event: Json, settings: dict[str, str], tmp_path: Path) -> None:
    usual = {"HOME": str(tmp_path), "CHATBRIDGE_STATE_DIR": str(tmp_path / "state")}
    assert hooked(event, {**usual, **settings}) is None
    assert not (tmp_path / "state").exists()


def test_a_folder_that_is_not_there_is_no_failure(
    hub: ScriptedHub, environment: dict[str, str], tmp_path: Path
) -> None:
    stop = {**EVENT, "cwd": str(tmp_path / "gone"), "hook_event_name": "Stop"}
    with Hook(stop, environment) as hook:
        connection, _, call = called(hub)
        connection.respond(call, result("{}"))
        assert hook.says() is None


@pytest.mark.usefixtures("hub")
def test_nobody_is_asked_about_a_folder_that_is_not_there(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """The card would name another one, in which the command would not run."""
    with Hook(permission(tmp_path / "gone"), environment) as hook:
        assert hook.says() is None


def test_wrong_words_do_not_block_the_agent() -> None:
    """Exit code 2 would."""
    done = subprocess.run(
        [*CHATBRIDGE, "hook", "allow"],
        env=bare({}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"does not know 'allow'" in done.stderr
    for words in (["--limit"], ["--limit", "soon"], ["--limit=0"], ["--limit", "60", "allow"]):
        with pytest.raises(ValueError, match=r"does not know|give a whole number of seconds"):
            limit_in(words)


@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-"])
@pytest.mark.parametrize("event", ["garbage", '{"hook_event_name": "Stop"}'])
def test_closed_outputs_are_no_failure(event: str, closed: str, tmp_path: Path) -> None:
    script = f"exec {sys.executable} -m chatbridge hook {closed}"
    usual = bare({"HOME": str(tmp_path)})
    done = subprocess.run(
        ["sh", "-c", script],
        env={**usual, "CHATBRIDGE_STATE_DIR": "/dev/null/state"},
        input=event.encode(),
        capture_output=True,
        timeout=30,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Traceback" not in done.stderr


# ── ends ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_hook_that_is_ended_leaves_no_link_behind(
    hub: ScriptedHub, environment: dict[str, str], how: signal.Signals
) -> None:
    with Hook(permission("/"), environment) as hook:
        connection, _, call = called(hub)
        hook.process.send_signal(how)
        if how is signal.SIGTERM:
            said = connection.receive()
            assert said["method"] == "notifications/cancelled"
            assert said["params"] == {"requestId": call["id"]}
        assert connection.is_closed()
        assert hook.process.wait(30) != 0
        assert hook.process.stdout
        assert hook.process.stdout.read() == b""


def test_a_hub_that_dies_is_asked_again_under_the_same_name(
    state: str, environment: dict[str, str]
) -> None:
    with scripted_hub(state) as first:
        hook = Hook(permission("/"), environment)
        _, preface, call = called(first)
        first.die()
    with scripted_hub(state) as second, hook:
        connection, again = second.accept()
        assert again == {**preface, "client": clients.HOOK}
        connection.respond(connection.receive(), {})
        assert connection.receive()["method"] == "notifications/initialized"
        assert connection.receive() == call
        connection.respond(call, result(ALLOW))
        assert hook.says()
        # Not that it has resumed: calls of other hooks of the session may still be to come.
        assert connection.receive() == {"chatbridge": "delivered", "request": call["id"]}


def test_hooks_of_a_session_share_a_links_name_and_those_of_another_do_not(
    hub: ScriptedHub, environment: dict[str, str]
) -> None:
    links, calls = [], []
    for session in ("one", "one", "two", "", ""):
        with Hook(permission("/", session=session), environment) as hook:
            connection, preface, call = called(hub)
            connection.respond(call, result(ALLOW))
            assert hook.says()
        links.append(preface["link"])
        calls.append(call["id"])
    assert links[0] == links[1]
    assert len(set(links)) == 4
    assert len(set(calls)) == 5


# ── what it is made of ────────────────────────────────────────────────────────────────────────────


def test_hook_and_hub_use_the_same_names() -> None:
    assert hook_call.CLIENT == clients.HOOK
    assert OUTCOME == tool.OUTCOME
