"""`chatbridge agents`, which lists those that are connected, and `chatbridge tell`, which writes to
one. The hub decides who may. None is started: no agent could be connected to a new one."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from chatbridge.cli.hub.hub_client import ask_hub
from chatbridge.cli.questions.files import attachments, readable, refusal
from chatbridge.cli.ui import tables
from chatbridge.cli.ui.running import WrongUsage, say
from chatbridge.cli.ui.tables import Column, Table
from chatbridge.cli.ui.wording import cell, seconds_of, time_of
from chatbridge.core.errors import HubRefused

Json = dict[str, Any]

MAX_CHARACTERS = 10_000
NOBODY = "No agent is connected."


def agents(given: argparse.Namespace) -> int:
    found = ask_hub("agents")
    if given.json:
        print(json.dumps(found, indent=2))
    elif given.names:
        sys.stdout.write("".join(f"{agent['name']}\n" for agent in found["agents"]))
    else:
        _print(found)
    return 0


def tell(given: argparse.Namespace) -> int:
    words = _words(given)
    if given.take_back is not None:
        if given.agent or given.attach:
            raise WrongUsage("--take-back takes an id and nothing else")
        say(ask_hub("take-back", id=given.take_back)["message"]["said"])
        return 0
    if not given.agent:
        raise WrongUsage(
            "name the agent, and what to tell it. Those that are connected: chatbridge agents"
        )
    text = _text(words)
    if not text and not given.attach:
        raise WrongUsage(f"what should {given.agent} be told?")
    attached = readable(given.attach)
    files = attachments(attached, ask_hub("limits")) if attached else {}
    try:
        told = ask_hub("tell", agent=given.agent, text=text, **files)
    except HubRefused as error:
        raise HubRefused(refusal(str(error), given.attach), kind=error.kind) from None
    # Its own name: the message has that of its project, which another agent there may bear.
    say(f"{told['agent']} gets it with its next step.")
    say(f"Take it back with: chatbridge tell --take-back {told['message']['short']}")
    return 0


def _words(given: argparse.Namespace) -> list[str]:
    """The text, also the part of it that follows an option."""
    unknown = next((word for word in given.rest if word.startswith("-") and word != "-"), None)
    if unknown is not None:
        raise WrongUsage(f"there is no argument {unknown}. Put the text into quotation marks")
    return [*given.text, *given.rest]


def _text(words: list[str]) -> str:
    if words == ["-"]:
        if sys.stdin.isatty():
            say("Write the message, and end it with Ctrl-D.")
        words = [sys.stdin.read(MAX_CHARACTERS + 1)]
    text = " ".join(words).strip()
    if len(text) > MAX_CHARACTERS:
        raise WrongUsage(f"the text is too long (at most {MAX_CHARACTERS:,} characters)")
    return text


def _print(found: Json) -> None:
    listed, messages = found["agents"], found["messages"]
    if listed:
        tables.write(agents_table(listed))
    else:
        print(NOBODY)
    if messages:
        print()
        tables.write(messages_table(messages))
    if tables.on_terminal() and (listed or messages):
        print()
        for agent in listed[:1]:
            print(f"Write to one: chatbridge tell {agent['name']} TEXT")
        for message in messages[:1]:
            print(f"Take one back: chatbridge tell --take-back {message['short']}")


def agents_table(listed: list[Json]) -> Table:
    columns = (
        Column(title="AGENT", most=40),
        Column(title="CLIENT", gives_way=True, most=20),
        Column(title="SINCE"),
        Column(title="LAST SEEN"),
        Column(title="QUESTIONS", right=True),
        Column(title="MESSAGES", right=True),
    )
    rows = [
        (
            cell(agent["name"]),
            cell(agent["client"]),
            time_of(seconds_of(agent["since"])),
            time_of(seconds_of(agent["seen"])),
            str(agent["openQuestions"]),
            str(agent["waitingMessages"]),
        )
        for agent in listed
    ]
    return Table(columns=columns, rows=rows)


def messages_table(messages: list[Json]) -> Table:
    columns = (
        Column(title="ID"),
        Column(title="FOR", most=18),
        Column(title="MESSAGE", gives_way=True),
        Column(title="SENT"),
        Column(title="WAITS UNTIL"),
    )
    rows = [
        (
            message["short"],
            cell(message["project"]),
            cell(message["text"]),
            time_of(seconds_of(message["at"])),
            time_of(seconds_of(message["expires"])),
        )
        for message in messages
    ]
    return Table(columns=columns, rows=rows)
