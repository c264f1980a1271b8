"""`chatbridge answer`, from the terminal or from a script, and `cancel`."""

from __future__ import annotations

import argparse
import os
import select
import sys
from contextlib import suppress
from typing import Any

from chatbridge import safe_json
from chatbridge.cli.hub.hub_client import HubClient, ask_hub, connected, is_set_up
from chatbridge.cli.ui.running import FAILED, INTERRUPTED, WrongUsage, complain, fitted, say
from chatbridge.cli.ui.wording import cell, seconds_of, time_of
from chatbridge.core.errors import ChatbridgeError, HubUnreachable, InvalidAnswer

Json = dict[str, Any]

NOT_SENT = "Nothing was sent. The question stays open."


def answer(given: argparse.Namespace) -> int:
    if given.json and given.values:
        raise WrongUsage("--json takes no values")
    if given.json:
        return _sent(ask_hub("answer", start=is_set_up(), id=given.id, answers=_from_input()))
    if given.values:
        return _sent(ask_hub("answer", start=is_set_up(), id=given.id, words=given.values))
    if not sys.stdin.isatty():
        complain(f"There is no terminal to ask in. Give the answer: chatbridge answer {given.id} …")
        return FAILED
    return _in_terminal(given.id)


def cancel(given: argparse.Namespace) -> int:
    reply = ask_hub("cancel", start=is_set_up(), id=given.id, reason=given.reason)
    heard = reply.get("heard", True)  # a hub from before an upgrade does not say
    say(f"Cancelled. {'The agent is told.' if heard else 'No agent was waiting.'}")
    return 0


def _from_input() -> Any:
    try:
        body = safe_json.loads(sys.stdin.read())
    except ValueError as error:
        raise InvalidAnswer("standard input", f"this is not JSON: {error}") from None
    if not isinstance(body, dict) or body.keys() != {"answers"}:
        raise InvalidAnswer("standard input", 'expected: {"answers": […]}')
    return body["answers"]


def _sent(result: Json) -> int:
    kept = result["ask"]["kept"]
    say("Kept. The agent gets it when it asks this again." if kept else "Sent.")
    return 0


def _in_terminal(wanted: str) -> int:
    """Question by question, until it is sent from here or has ended elsewhere."""
    from chatbridge.cli.questions.terminal_form import TerminalForm

    found = ask_hub("ask", start=is_set_up(), id=wanted)
    ask, replies = found["ask"], found.get("replies", ())
    elsewhere = ask["approval"] or "whatNext" in ask
    if elsewhere or ask["status"] not in ("open", "timed_out"):
        ask_hub("answer", id=ask["id"], answers=[])  # says why it cannot be answered here
    form = TerminalForm(ask, takes_ask_back=ask["status"] == "open", replies=replies)
    print(fitted(f"{_heading(ask)}\n\n{form.screen()}"))
    with connected() as line:
        line.begin("watch")
        while True:
            try:
                print("\n> ", end="", flush=True)
                typed = _next_line(line, ask)
            except KeyboardInterrupt:
                print()
                say(NOT_SENT)
                return INTERRUPTED
            if typed is None:
                drop_typed()
                return _not_sent(ask)
            reply = form.take(typed)
            if reply.later is not None:
                do, when = reply.later
                try:
                    said = ask_hub(do, id=ask["id"], when=when)["said"]
                except ChatbridgeError as error:
                    print(fitted(f"\n{error}"))
                    continue
                say(said)
                if do == "snooze":
                    drop_typed()
                    return 0
                continue
            if reply.answers is not None:
                drop_typed()
                return _sent(ask_hub("answer", id=ask["id"], answers=form.as_json(reply.answers)))
            if reply.asks_back is not None:
                drop_typed()
                ask_hub("cancel", id=ask["id"], reason=reply.asks_back)
                say(f"Asked back. The agent is told: {reply.asks_back}")
                return 0
            print(fitted(f"\n{reply.text}"))


def _heading(ask: Json) -> str:
    """shop-api · Claude Code · ends 22:45"""
    label = f" ({cell(ask['agent']['label'])})" if ask["agent"]["label"] else ""
    parts = [f"{cell(ask['agent']['project'])}{label}", cell(ask["agent"]["name"])]
    if ask["status"] != "open":
        parts.append("timed out; an answer is kept for the agent")
    elif ask["deadline"]:
        parts.append(f"ends {time_of(seconds_of(ask['deadline']))}")
    return " · ".join(parts)


def _next_line(line: HubClient, ask: Json) -> str | None:
    """What was typed; None if nothing more comes, or if the question has ended meanwhile."""
    while True:
        try:
            event = line.event(within=0.0)
        except HubUnreachable:  # the next one may be there when there is something to send
            break
        if event is None:
            if 0 in select.select([0, line.fileno()], [], [])[0]:
                break
        elif ask["status"] == "open" and all(other["id"] != ask["id"] for other in event["asks"]):
            return None
    return typed_line()


def typed_line() -> str | None:
    """None: nothing more comes from the terminal."""
    try:
        typed = os.read(0, 65536).decode(errors="replace")
    except OSError:  # it was closed
        return None
    return typed.strip() if typed else None


def drop_typed() -> None:
    """What was typed or pasted beyond the answer is not for the shell: it would run it."""
    import termios

    with suppress(termios.error):
        termios.tcflush(0, termios.TCIFLUSH)


def _not_sent(ask: Json) -> int:
    """It has ended elsewhere, which the hub says best; or the person has left."""
    now = ask_hub("ask", id=ask["id"])
    print()
    if now["ask"]["status"] != ask["status"]:
        complain(f"This question has ended: {now['ended']}.")
    else:
        say(NOT_SENT)
    return FAILED
