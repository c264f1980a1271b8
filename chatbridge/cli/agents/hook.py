"""`chatbridge hook`, which the hooks of Claude Code and other clients call: reads an event from
standard input, and writes what a person has decided, or written to the agent, to standard output.

Without that it prints nothing and succeeds, whatever went wrong: the client continues as if there
were no hook. It never exits with 2, which would block the agent. It runs after every tool of an
agent, so that nothing is imported before it is needed.
"""

from __future__ import annotations

import json
import os
import sys

from chatbridge.cli.agents.hook_events import CLAUDE_CODE, HookEvent, identify
from chatbridge.tool_names import TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = dict[str, Any]

HELP = """\
usage: chatbridge hook [--limit SECONDS] [--plugin]

Called by the hooks of Claude Code: reads the event from standard input and
writes the decision to standard output. Its questions and permissions go to your
phone, and what you decide there counts. If nobody decides, or chatbridge cannot
be reached, Claude Code asks in its own window. What you write to the agent
reaches it after its next tool, or when it stops; with when_done = "ask" under
[claude] in config.toml you are asked then what is next. Codex and Gemini CLI
have such hooks, too: what you write reaches them in the same way.

  --limit SECONDS  the hook's time-out, 600 unless it is said. A little before
                   it nobody is asked any more.
  --plugin         called by our plug-in for Claude Code: does nothing where the
                   settings have the same hook, so that nothing is asked twice.

"chatbridge connect claude-code" sets it up. By hand, put this into
~/.claude/settings.json (the time-outs are seconds):

  {
    "hooks": {
      "PreToolUse": [
        {"matcher": "AskUserQuestion",
         "hooks": [
           {"type": "command", "command": "chatbridge hook", "timeout": 600}]}
      ],
      "PermissionRequest": [
        {"matcher": "*",
         "hooks": [
           {"type": "command", "command": "chatbridge hook", "timeout": 600}]}
      ],
      "Notification": [
        {"matcher": "idle_prompt",
         "hooks": [
           {"type": "command", "command": "chatbridge hook", "timeout": 60}]}
      ],
      "PostToolUse": [
        {"matcher": "*",
         "hooks": [
           {"type": "command", "command": "chatbridge hook", "timeout": 60}]}
      ],
      "Stop": [
        {"hooks": [
           {"type": "command", "command": "chatbridge hook --limit 3600",
            "timeout": 3600}]}
      ]
    }
  }
"""
CLIENT = "chatbridge-hook"
QUESTION_TOOL = "AskUserQuestion"
PLUGIN = "--plugin"
OWN_TOOLS = [
    f"mcp__plugin_chatbridge_chatbridge__{tool}" for tool in TOOLS if tool != "approve_tool_use"
]
"""As our plug-in names them. It cannot bring a permission for them along, and they only ask."""
DECIDED_BY_A_PERSON = ("denied", "cancelled")
"""Denials that are a person's decision."""
OUTCOME = "chatbridge/outcome"
NOTICE_SECONDS = 20.0
MAX_MESSAGE, MAX_TITLE = 4_000, 100
MAX_EVENT_BYTES = 8 * 1024 * 1024
TITLES = {
    "permission_prompt": "Waiting for a permission",
    "idle_prompt": "Waiting for you",
    "elicitation_dialog": "Waiting for an answer",
    "auth_success": "Logged in",
}


def main(argv: list[str]) -> int:
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # a standard file that is closed: no pipe of ours may get its number
    os.close(spare)
    if "-h" in argv or "--help" in argv:
        from chatbridge.cli.ui.running import HELP_WIDTH, columns, filled

        print(filled(HELP, min(columns(), HELP_WIDTH)), end="")
        return 0
    in_plugin = PLUGIN in argv
    try:
        limit = limit_in([word for word in argv if word != PLUGIN])
        if sys.stdin is None or sys.stdin.isatty():
            raise ValueError("There is no event")
    except ValueError as error:
        _complain(f"{error}.\n\n{HELP}")
        return 1
    try:
        event = json.loads(sys.stdin.buffer.read(MAX_EVENT_BYTES))
        if not isinstance(event, dict):
            raise ValueError("the event is not a JSON object")
        if in_plugin:
            from chatbridge.cli.connect.own_hooks import has_own_hook

            if has_own_hook(event.get("hook_event_name")):
                return 0
        _handle(event, identify(event), limit)
    except Exception as error:  # noqa: BLE001 - the edge: the agent goes on, whatever it was
        _complain(f"chatbridge hook: no decision: {error}\n")
    return 0


def limit_in(argv: list[str]) -> int | None:
    """:raises ValueError: it is no limit, or something else is given."""
    match [part for word in argv for part in word.split("=", 1)]:
        case []:
            return None
        case ["--limit", seconds]:
            from chatbridge.link.preface import parse_limit

            return parse_limit(seconds)
    raise ValueError(f"chatbridge hook does not know {argv[0]!r}")


def _complain(text: str) -> None:
    """Write it to standard error, if that is open."""
    try:
        os.write(2, text.encode(errors="replace"))
    except OSError:
        pass


def _say(output: Json) -> None:
    left = memoryview(f"{json.dumps(output)}\n".encode())
    while left:
        left = left[os.write(1, left) :]


def _handle(event: Json, about: HookEvent, limit: int | None) -> None:
    """Do what this event is for, and tell the client what it has to know."""
    asks, own = event.get("tool_name") == QUESTION_TOOL, about.client == CLAUDE_CODE
    match about.name:
        case "PostToolUse" if "agent_id" not in event:  # or a part of the agent alone would read it
            _pass_on(event, about, stops=False)
        case "Stop" if own and not event.get("background_tasks"):
            _what_next(event, limit)
        case "Stop":  # or it goes on by itself, once they have ended
            _pass_on(event, about, stops=True)
        case "PreToolUse" if own and asks:
            if decision := _decision(event, limit):
                _say({"hookSpecificOutput": _before_use(decision)})
        case "PermissionRequest" if own and event.get("tool_name") in OWN_TOOLS:
            allow = {"hookEventName": about.name, "decision": {"behavior": "allow"}}
            _say({"hookSpecificOutput": allow})
        case "PermissionRequest" if own and not asks:  # its questions come before, as above
            if decision := _decision(event, limit):
                # With the input that the person was shown, whatever another hook makes of it.
                output = {"hookEventName": about.name, "decision": decision}
                _say({"hookSpecificOutput": output})
        case "Notification" if own and (notice := _notification(event)):
            _call_tool("notify_user", {**notice, "level": "info"}, event, within=NOTICE_SECONDS)


def _pass_on(event: Json, about: HookEvent, *, stops: bool) -> None:
    """Tell the agent what its owner has written to it."""
    from chatbridge.cli.agents.collect import collect

    def say(text: str) -> None:
        if stops:
            _say({"decision": "block", "reason": text})
        else:
            output = {"hookEventName": about.own_name, "additionalContext": text}
            _say({"hookSpecificOutput": output})

    collect(event, about.client, stops=stops, say=say)


def _what_next(event: Json, limit: int | None) -> None:
    """Tell the owner that the agent has finished, or ask them what is next."""
    from chatbridge.cli.agents.collect import enter_folder
    from chatbridge.cli.agents.transcript import Prompts, last_words

    if enter_folder(event, CLAUDE_CODE):
        event = {**event, "cwd": "."}
    words = event.get("last_assistant_message")
    if not isinstance(words, str) or not words.strip():
        words = last_words(event)
    arguments = {
        "lastWords": words[:MAX_MESSAGE],
        "again": event.get("stop_hook_active") is True,
    }
    went_on = Prompts(event).any_new
    result = _call_tool("what_next", arguments, event, limit=limit, unless=went_on)
    if not result.get("isError") and (task := json.loads(_text(result)).get("next")):
        _say({"decision": "block", "reason": str(task)})


def _decision(event: Json, limit: int | None) -> Json | None:
    """What a person has decided about the use of this tool; None if nobody has."""
    tool, given, use = (event.get(it) for it in ("tool_name", "tool_input", "tool_use_id"))
    if not isinstance(tool, str) or not isinstance(given, dict):
        return None
    arguments: Json = {"tool_name": tool, "input": given}
    if isinstance(use, str):
        arguments["tool_use_id"] = use
    if isinstance(folder := event.get("cwd"), str):
        os.chdir(folder)  # or nobody is asked: the card would name a folder that is not the agent's
        event = {**event, "cwd": "."}
    from chatbridge.cli.agents.transcript import Transcript

    elsewhere = Transcript(event).settled
    return decision_in(
        _call_tool("approve_tool_use", arguments, event, limit=limit, unless=elsewhere)
    )


def decision_in(result: Json) -> Json | None:
    """The decision in a result of `approve_tool_use`, if it is a person's."""
    meta = result.get("_meta")
    if result.get("isError"):
        return None
    decision = json.loads(_text(result))
    by_person = isinstance(meta, dict) and meta.get(OUTCOME) in DECIDED_BY_A_PERSON
    match decision:
        case {"behavior": "allow", "updatedInput": dict(given)}:
            return {"behavior": "allow", "updatedInput": given}
        case {"behavior": "deny", "message": str(message)} if by_person:
            return {"behavior": "deny", "message": message}
    return None


def _text(result: Json) -> str:
    """The text of a result that is one text; else an empty JSON object."""
    match result.get("content"):
        case [{"text": str(text)}]:
            return text
    return "{}"


def _before_use(decision: Json) -> Json:
    output = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision["behavior"],
        "permissionDecisionReason": decision.get("message", "Answered with chatbridge"),
    }
    given = decision.get("updatedInput")
    return output if given is None else {**output, "updatedInput": given}


def _notification(event: Json) -> Json | None:
    message, kind, own = (event.get(it) for it in ("message", "notification_type", "title"))
    if not isinstance(message, str) or not message.strip():
        return None
    title = TITLES.get(kind) if isinstance(kind, str) else None
    title = title or (own if isinstance(own, str) and own.strip() else None)
    cut = {"message": message[:MAX_MESSAGE], "title": (title or "")[:MAX_TITLE]}
    return {name: text for name, text in cut.items() if text}


def _call_tool(
    tool: str,
    arguments: Json,
    event: Json,
    *,
    within: float | None = None,
    limit: int | None = None,
    unless: Callable[[], bool] | None = None,
) -> Json:
    """The result of the call, for which the hub may take `within` seconds. `limit`: after how many
    seconds the client ends us. `unless`: whether somebody has decided elsewhere. :raises
    NoAnswer:"""
    import signal

    from chatbridge.cli.agents.collect import link_name
    from chatbridge.cli.hub.tool_client import own_link
    from chatbridge.link.relay import Relay

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    folder = event.get("cwd")

    def one_of_many(preface: dict[str, object]) -> Relay:
        return Relay(preface, shared=True)

    with own_link(
        CLIENT,
        folder=folder if isinstance(folder, str) else ".",
        name=link_name(event),
        relay=one_of_many,
        limit=limit,
    ) as calls:
        return calls.call(tool, arguments, within=within, unless=unless)
