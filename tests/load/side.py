"""One hub over one store, with its agents and its people: `Side` in a test, `main` in a process of
its own, which does what it reads and writes what came of it, a JSON object a line.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import uvloop

from chatbridge import lock_file
from chatbridge.hub.http.shared_tokens import LOOK_SECONDS
from chatbridge.hub.http.tokens import digest_of
from chatbridge.system import descriptors
from tests.bench.kept import BadStatus
from tests.bench.machine import CHATBRIDGE, ROOT, Json, cpu_seconds
from tests.bench.watchdog import say
from tests.fakes.network import free_port
from tests.load.agents import Agent, HttpAgent, LinkAgent
from tests.load.people import Answer, Browsers, Chat, chats
from tests.load.profiled_hub import SLOT
from tests.load.registry import CUT, Question, Registry, figures, spread
from tests.load.team import Member, configuration, team
from tests.load.watched import PostgresWatch, SqliteWatch, StoreWatch, cpu_of, hub_now

START_SECONDS = 60.0
AT_ONCE = 20
"""So many agents shake hands at the same time."""
PING_EVERY, LOOK_EVERY = 0.2, 10.0
TELL_EVERY = 6
"""Looks from one line of progress to the next."""
TAP_AGAIN_SECONDS, MOST_TAPS = 10.0, 6
PROFILED = [sys.executable, "-m", "tests.load.profiled_hub"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    store: str
    agents: int
    people: int
    seed: int
    dsn: str = ""
    """Of PostgreSQL."""
    server: int = 0
    """Its process."""
    profiled: bool = False
    """Without limits of services and without pace, to see what the hub can do."""
    log: str = ""
    """Where the hub's log is kept. Empty: it goes."""


@dataclass
class Side:
    plan: Plan
    folder: Path
    chats: list[Chat]
    members: list[Member]
    registry: Registry
    tell: Callable[[str], None] = lambda _: None
    """Says how far it is."""
    hub: int = 0
    agents: list[Agent] = field(default_factory=list)
    idle: list[Agent] = field(default_factory=list)
    store: StoreWatch = field(init=False)
    _socket: str = ""
    _pinger: LinkAgent = field(init=False)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _unasked: int = 0
    """Questions for which no agent was free."""
    _cut: Counter[str] = field(default_factory=Counter)
    """What people had to do again, in words."""
    _answer_within: tuple[float, float] = (0.0, 0.0)
    _http: int = field(default_factory=free_port)

    @property
    def state(self) -> Path:
        return self.folder / "s"

    @property
    def _output(self) -> Path:
        return Path(self.plan.log or self.folder / "output")

    @classmethod
    @asynccontextmanager
    async def running(
        cls, plan: Plan, tell: Callable[[str], None] = lambda _: None
    ) -> AsyncIterator[Side]:
        """Everything connected, and nothing asked yet."""
        members = team(plan.people)
        folder = Path(tempfile.mkdtemp(prefix="cb-"))
        async with AsyncExitStack() as stack:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            there = await stack.enter_async_context(chats(members, limits=not plan.profiled))
            registry = Registry(random.Random(plan.seed))
            side = cls(plan, folder, there, members, registry, tell)
            side._configure()
            await stack.enter_async_context(side._hub())
            await side._connect()
            watching = [asyncio.create_task(it.watch(side._seen)) for it in side._watchers()]
            try:
                yield side
            finally:
                for task in [*watching, *side._tasks]:
                    task.cancel()
                await asyncio.gather(*watching, *side._tasks, return_exceptions=True)
                await asyncio.gather(*(it.end() for it in (side._pinger, *side.agents)))

    # ── set-up ────────────────────────────────────────────────────────────────────────────────────

    def _configure(self) -> None:
        routes = {it.project: "web" for it in self.members}
        people: list[tuple[Member, object]] = []
        for chat in self.chats:
            routes |= {it.project: place for it, place in chat.places.items()}
            people += chat.identities.items()
        settings: Json = {"max_open_asks": 1000}
        if self.plan.dsn:
            settings["store"] = self.plan.dsn
        tables = {chat.name: chat.table for chat in self.chats}
        tables |= {"http": {"address": f"127.0.0.1:{self._http}", "limit": "5min"}}
        file = self.folder / "config.toml"
        file.write_text(configuration(tables, routes, people, **settings))
        file.chmod(0o600)

    @asynccontextmanager
    async def _hub(self) -> AsyncIterator[None]:
        self.state.mkdir(mode=0o700)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "PYTHONPATH": str(ROOT),
            "CHATBRIDGE_STATE_DIR": str(self.state),
            "CHATBRIDGE_RUNTIME_DIR": str(self.state),
        }
        words = [*PROFILED, str(self._profile)] if self.plan.profiled else [*CHATBRIDGE, "hub"]
        with self._output.open("wb") as output:
            # It ends with this process, however that ends.
            process = await asyncio.create_subprocess_exec(
                *("setpriv", "--pdeathsig", "TERM", *words),
                *("--config", str(self.folder / "config.toml")),
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self.hub = process.pid
        try:
            await self._until_up(process)
            yield
        finally:
            process.terminate()
            await asyncio.wait_for(process.wait(), START_SECONDS)

    @property
    def _profile(self) -> Path:
        return self.folder / "profile.json"

    async def _until_up(self, process: asyncio.subprocess.Process) -> None:
        """Links, agents over HTTP, pages and chats can come."""
        until = time.monotonic() + START_SECONDS
        while not (
            (info := lock_file.find_holder(str(self.state)))
            and info.socket
            and info.web
            and all(chat.is_heard() for chat in self.chats)
        ):
            said = self._output.read_text(errors="replace")[-4000:]
            assert process.returncode is None, said
            assert time.monotonic() < until, f"the hub does not come up: {said}"
            await asyncio.sleep(0.05)
        self._socket = info.socket

    def _page(self) -> tuple[str, int]:
        """Where the inbox is. :raises ConnectionRefusedError: nowhere now."""
        info = lock_file.find_holder(str(self.state))
        if info is None or not info.web:
            raise ConnectionRefusedError("no hub leads")
        host, _, port = info.web.removeprefix("http://").rpartition(":")
        return host, int(port)

    async def _make_agents(self) -> None:
        """Every second one is a link; the others have tokens, before the hub has seen them."""
        tokens = []
        for number in range(self.plan.agents):
            project = self.members[number // 2 % len(self.members)].project
            if number % 2:
                agent = HttpAgent(project, address=("127.0.0.1", self._http), number=number)
                tokens.append((agent.name, digest_of(agent.token)))
                self.agents.append(agent)
            else:
                self.agents.append(self._link(project))
        if isinstance(self.store, PostgresWatch):
            await self.store.add_tokens(tokens)
            await asyncio.sleep(2 * LOOK_SECONDS)
        else:
            rows = [{"name": name, "created": 1.0, "digest": digest} for name, digest in tokens]
            file = self.state / "http-tokens.json"
            file.write_text(json.dumps({"tokens": rows}))
            file.chmod(0o600)
        self.idle = [*self.agents]

    def _link(self, project: str) -> LinkAgent:
        folder = self.folder / "projects" / project
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        return LinkAgent(project, socket=self._socket, folder=folder)

    async def _connect(self) -> None:
        turn = asyncio.Semaphore(AT_ONCE)

        async def begin(agent: Agent) -> None:
            async with turn:
                await agent.begin()

        self._pinger = self._link("pings")
        plan = self.plan
        sqlite = SqliteWatch(self.state)
        self.store = PostgresWatch(plan.dsn, plan.server) if plan.dsn else sqlite
        await self._make_agents()
        await asyncio.gather(*(begin(it) for it in (self._pinger, *self.agents)))

    def _watchers(self) -> list[Chat | Browsers]:
        token = (self.state / "web-token").read_text().strip()
        projects = [it.project for it in self.members if it.channel == "web"]
        return [*self.chats, Browsers(self._page, token, projects)]

    # ── a stage ───────────────────────────────────────────────────────────────────────────────────

    async def stage(
        self, rate: float, seconds: float, *, answer: tuple[float, float], patience: float
    ) -> Json:
        """So many questions a minute, for so long, each answered by somebody after a time between
        these two; then what is open is waited for, up to `patience` seconds."""
        self._answer_within = answer
        wrong, refused, sent = Counter(self.registry.wrong), self._refused(), self._sent()
        cut = self._cuts()
        self._unasked = 0
        first = len(self.registry.questions)
        before, cpu = await self.store.look(), self._cpu()
        began, wall = time.monotonic(), time.time()
        looks: list[Json] = []
        lag: list[float] = []
        own: list[float] = []
        beside = [
            asyncio.create_task(self._look(looks)),
            asyncio.create_task(self._ping(lag)),
            asyncio.create_task(_oversleep(own)),
        ]
        for number in range(round(rate * seconds / 60)):
            await asyncio.sleep(max(0.0, began + number * 60 / rate - time.monotonic()))
            self._spawn(self._ask())
        await asyncio.sleep(0)  # until the last one is asked
        asked = [*self.registry.questions.values()][first:]
        until = time.monotonic() + patience
        while self._open(asked) and time.monotonic() < until:  # noqa: ASYNC110 - it is bounded
            await asyncio.sleep(0.05)
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        spent = {name: round(it - cpu[name], 3) for name, it in self._cpu().items()}
        after = await self.store.look()
        looks.append(hub_now(self.hub))
        return {
            "store": self.plan.store,
            "rate": rate,
            "seconds": round(time.monotonic() - began, 1),
            "answers": figures(asked),
            "wrong": dict(self.registry.wrong - wrong),
            "said": self.registry.said,
            "again": dict(self._cuts() - cut),
            "unasked": self._unasked,
            "sent": {name: dict(it - sent[name]) for name, it in self._sent().items()},
            "refused": {name: it - refused[name] for name, it in self._refused().items()},
            "cpu": spent,
            "hub": {name: max(it[name] for it in looks) for name in looks[0]},
            "database": {name: after[name] - before[name] for name in after},
            "connections": after.get("connections"),
            "lag": spread(lag),
            "own_lag": spread(own),
            "unseen": [f"{it.project} {it.kind}" for it in asked if not it.seen][:20],
            "log": self._log(),
            "profile": self._where(wall),
        }

    def _open(self, asked: list[Question]) -> bool:
        return any(not it.heard for it in asked)

    def _refused(self) -> dict[str, int]:
        return {chat.name: chat.refused for chat in self.chats}

    def _cuts(self) -> Counter[str]:
        """How often agents and people had to begin again, and why."""
        return sum((it.cut for it in self.agents), Counter(self._cut))

    def _sent(self) -> dict[str, Counter[str]]:
        return {chat.name: chat.sent() for chat in self.chats}

    def _cpu(self) -> dict[str, float]:
        return {
            "hub": cpu_of(self.hub),
            "store": self.store.cpu(),
            "driver": cpu_seconds(os.getpid()),
        }

    async def _look(self, looks: list[Json]) -> None:
        for number in count():
            looks.append(hub_now(self.hub))
            if number and not number % TELL_EVERY:
                done = sum(it.heard > 0 for it in self.registry.questions.values())
                self.tell(f"{self.plan.store}: {len(self.registry.questions)} asked, {done} heard")
            await asyncio.sleep(LOOK_EVERY)

    async def _ping(self, lag: list[float]) -> None:
        """What everybody waits for whom the hub has nothing to do."""
        while True:
            began = time.perf_counter()
            await self._pinger.ping()
            lag.append(time.perf_counter() - began)
            await asyncio.sleep(PING_EVERY)

    def _log(self) -> Json:
        """How many lines the hub has written of each kind that nobody wants to see."""
        lines = self._output.read_text(errors="replace").splitlines()
        return {kind: sum(f" {kind} " in it for it in lines) for kind in ("WARNING", "ERROR")}

    def _where(self, since: float) -> Json:
        """Samples of the hub's event loop during this stage, by what it was in."""
        if not self._profile.exists():
            return {}
        slots = json.loads(self._profile.read_text())
        found: Counter[str] = Counter()
        for slot, counts in slots.items():
            if int(slot) * SLOT >= since:
                found.update(counts)
        return dict(found.most_common())

    # ── agents and people ─────────────────────────────────────────────────────────────────────────

    def _spawn(self, work: object) -> None:
        task = asyncio.ensure_future(work)  # type: ignore[call-overload]
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.registry.note(CUT, repr(error))

    async def _ask(self) -> None:
        if not self.idle:
            self._unasked += 1
            return
        agent = self.idle.pop(self.registry.chance.randrange(len(self.idle)))
        question = self.registry.ask(agent.project, agent.kind, time.time())
        said = await agent.ask(question.arguments)
        self.registry.result(question, said, time.time())
        self.idle.append(agent)

    def _seen(self, text: str, channel: str, at: float, answer: Answer) -> None:
        question = self.registry.seen(text, channel, at)
        if question is not None:
            self._spawn(self._answer(question, answer))

    async def _answer(self, question: Question, answer: Answer) -> None:
        """And again, as people do, if nothing comes of it."""
        await asyncio.sleep(self.registry.chance.uniform(*self._answer_within))
        question.answered = time.time()
        for _ in range(MOST_TAPS):
            try:
                await answer(question.label)
            except (OSError, EOFError, BadStatus, LookupError) as error:
                self._cut[f"at an answer: {error!r}"] += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(TAP_AGAIN_SECONDS):
                    await question.over.wait()
                return
            self._cut["an answer that nobody took"] += 1


async def _oversleep(late: list[float]) -> None:
    """By how much this process itself comes late."""
    while True:
        began = time.perf_counter()
        await asyncio.sleep(PING_EVERY)
        late.append(max(0.0, time.perf_counter() - began - PING_EVERY))


async def serve(plan: Plan) -> None:
    """Say when everything is connected, then do each stage that is read."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    began = time.monotonic()
    async with Side.running(plan, say) as side:
        _say({"connected": round(time.monotonic() - began, 1), "hub": hub_now(side.hub)})
        while line := await reader.readline():
            given = json.loads(line)
            _say(
                await side.stage(
                    given["rate"],
                    given["seconds"],
                    answer=tuple(given["answer"]),
                    patience=given["patience"],
                )
            )


def _say(what: Json) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    descriptors.raise_limit()
    with suppress(asyncio.CancelledError):
        uvloop.run(serve(Plan(**json.loads(sys.argv[1]))))
