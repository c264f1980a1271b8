"""The parts of `make bench`, in the order in which they run, and how much each does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.bench.attachments import attachments
from tests.bench.chats import DiscordChat, NtfyChat, SlackChat, TelegramChat
from tests.bench.commands import calls
from tests.bench.growth import growth
from tests.bench.idle import idle
from tests.bench.imports import imports
from tests.bench.latency import bursts, latency
from tests.bench.machine import Json
from tests.bench.matrix import matrix
from tests.bench.memory import memory
from tests.bench.messages import messages
from tests.bench.one_ask import one_ask
from tests.bench.references import references
from tests.bench.remote import remote
from tests.bench.runner import runner
from tests.bench.startup import startup
from tests.bench.terminal import terminal
from tests.bench.turns import round_trips
from tests.bench.worst import worst


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    name: str
    what: str
    run: Callable[[Callable[[int], int]], Awaitable[Json]]
    """Is given a function from the full number of rounds to this run's."""
    at_most: float = 180.0
    """Seconds, several times of what it takes on an idle machine."""


PARTS = (
    Part(
        name="references",
        what="what lies under every figure",
        run=lambda n: references(n(500)),
    ),
    Part(
        name="startup",
        what="link, first start, standalone, every command",
        run=lambda n: startup(n(20), n(10), n(5)),
        at_most=300.0,
    ),
    Part(
        name="one_ask",
        what="one ask on each channel, warm and cold",
        run=lambda n: one_ask(n(10), n(5)),
        at_most=800.0,
    ),
    Part(name="web", what="round trips over the web inbox", run=lambda n: latency(n(500))),
    Part(
        name="attachments",
        what="questions with pictures and files",
        run=lambda n: attachments(n(60), n(100)),
    ),
    Part(
        name="messages",
        what="messages to agents, and the hook that looks for them",
        run=lambda n: messages(n(200), n(40)),
    ),
    Part(name="http", what="round trips of an agent over HTTP", run=lambda n: remote(n(500))),
    Part(name="terminal", what="round trips between terminals", run=lambda n: terminal(n(40))),
    Part(
        name="telegram",
        what="round trips over Telegram",
        run=lambda n: round_trips(TelegramChat, n(100)),
        at_most=300.0,
    ),
    Part(name="matrix", what="round trips over Matrix", run=lambda n: matrix(n(45)), at_most=500.0),
    Part(
        name="slack",
        what="round trips over Slack",
        run=lambda n: round_trips(SlackChat, n(60)),
        at_most=300.0,
    ),
    Part(
        name="discord",
        what="round trips over Discord",
        run=lambda n: round_trips(DiscordChat, n(60)),
        at_most=300.0,
    ),
    Part(
        name="ntfy",
        what="round trips over ntfy",
        run=lambda n: round_trips(NtfyChat, n(40)),
    ),
    Part(
        name="growth",
        what="1,000 and 10,000 open asks, 100,000 ended ones",
        run=lambda n: growth(n(300), 10_000 // n(10_000)),
        at_most=600.0,
    ),
    Part(
        name="worst",
        what="pages and waits with the worst questions that are legal",
        run=lambda n: worst(n(20)),
    ),
    Part(
        name="burst",
        what="1,000 answers at once",
        run=lambda n: bursts(n(1_000), n(5)),
    ),
    Part(name="runner", what="the runner of commands", run=lambda n: runner(n(500))),
    Part(
        name="commands",
        what="commands of agents",
        run=lambda n: calls(n(500), n(1_000)),
    ),
    Part(
        name="imports",
        what="what a hub imports for each channel",
        run=lambda n: imports(n(5)),
        at_most=300.0,
    ),
    Part(
        name="memory",
        what="links, hubs, and what 10,000 asks leave behind",
        run=lambda n: memory(n(20), n(10_000)),
        at_most=500.0,
    ),
    Part(
        name="idle",
        what="CPU time while nothing happens",
        run=lambda n: idle(n(30), n(100)),
        at_most=500.0,
    ),
)


def full(rounds: int) -> int:
    return rounds


def quick(rounds: int) -> int:
    """A tenth of the work, to try it out."""
    return max(rounds // 10, 2)
