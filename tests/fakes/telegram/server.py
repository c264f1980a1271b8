"""A Telegram Bot API on loopback, with people behind it: what tests use.

    with BotApi.running() as telegram:
        ada = telegram.person("Ada")
        phone = telegram.private(ada).phone(ada)
        …  # the program under test gets telegram.token and telegram.address
        card = phone.sees("Which database")
        phone.tap(card, "SQLite").answered()

The server runs in a thread of its own, so that synchronous tests with real processes and
asynchronous tests can both use it.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Self

import uvloop

from tests.fakes.telegram.api import Api
from tests.fakes.telegram.chats import CHANCE, ChatRecord, Document, Json, User
from tests.fakes.telegram.faults import GARBAGE, PATIENCE, Fault, Hold, Params, failure
from tests.fakes.telegram.people import Chat
from tests.fakes.telegram.replies import Cut, Later, Outcome, Refusal, Reply
from tests.fakes.telegram.service import Features, Request, Service, Times
from tests.fakes.telegram.updates import OTHER_POLLER, Update
from tests.fakes.telegram.wire import Connection

When = Callable[[Params], bool] | None


class BotApi:
    """`clock` is the service's own: dates, expiries and rate limits follow it; a poll's time-out
    is real time."""

    def __init__(self, *, clock: Times | None, features: Features) -> None:
        self.service = Service(clock=clock, features=features)
        self._api = Api(self.service, in_loop=self._in_loop)
        self._loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="bot-api", daemon=True)
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._socket = _bound(0)
        self._port: int = self._socket.getsockname()[1]

    @classmethod
    @contextmanager
    def running(
        cls,
        *,
        clock: Times | None = None,
        topics_enabled: bool = False,
        times: bool = True,
        reads_all: bool = False,
        rate_limits: bool = False,
    ) -> Iterator[Self]:
        """`topics_enabled` is what getMe says of private chats, `reads_all` what it says of
        groups; without `times` the server is an older one that does not know `<tg-time>`."""
        features = Features(topics_enabled=topics_enabled, times=times, reads_all=reads_all)
        telegram = cls(clock=clock, features=features)
        telegram.limit_rates(on=rate_limits)
        telegram._thread.start()
        try:
            telegram.come_back()
            yield telegram
        finally:
            telegram._stop()

    @property
    def address(self) -> str:
        """For the program under test. python-telegram-bot wants `address + "/bot"`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def token(self) -> str:
        return self.service.token

    @property
    def bot(self) -> User:
        return self.service.bot

    # People and chats

    def person(self, name: str, *, id: int | None = None, username: str | None = None) -> User:
        person = User(id=id or CHANCE.randrange(10**8, 10**10), name=name, username=username)
        with self.service.changed:
            self.service.people[person.id] = person
        return person

    def private(self, person: User, *, topics: bool = False) -> Chat:
        """The bot's chat with somebody who has pressed Start."""
        return self._chat(
            ChatRecord(id=person.id, type="private", people={person.id: person}, forum=topics)
        )

    def group(
        self,
        title: str,
        *people: User,
        forum: bool = False,
        supergroup: bool = False,
        privacy: bool = True,
    ) -> Chat:
        """A group with the bot in it. With `privacy` it sees only what is meant for it."""
        large = forum or supergroup
        number = CHANCE.randrange(10**9, 10**10)
        return self._chat(
            ChatRecord(
                id=-1_000_000_000_000 - number if large else -number,
                type="supergroup" if large else "group",
                title=title,
                people={person.id: person for person in people},
                forum=forum,
                privacy=privacy,
            )
        )

    def _chat(self, record: ChatRecord) -> Chat:
        with self.service.changed:
            self.service.chats[record.id] = record
        return Chat(self.service, record)

    # What the bot did

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request so far, in order."""
        with self.service.changed:
            return tuple(self.service.requests)

    def calls(self, method: str) -> tuple[Request, ...]:
        """The requests for one method."""
        return tuple(it for it in self.requests if it.method == method)

    @property
    def fetched(self) -> int:
        """How many downloads of files were asked for; `faults` know them as the method "file"."""
        return len(self.calls("file"))

    @property
    def rate_limited(self) -> int:
        """How many requests were too many."""
        return self.service.rates.refused

    @property
    def commands(self) -> tuple[tuple[str, str], ...]:
        """The bot's menu, for everybody."""
        with self.service.changed:
            menu = self.service.commands.get(str({"type": "default"}), [])
            return tuple((it["command"], it["description"]) for it in menu)

    def until(self, condition: Callable[[Self], Any]) -> None:
        """Wait until something is so."""
        self.service.until(lambda: condition(self), self._story)

    def _story(self) -> str:
        last = [f"  {it.method} {it.status} {it.description}" for it in self.requests[-20:]]
        return "it never came to that. The last requests:\n" + "\n".join(last)

    # Updates

    @property
    def pending(self) -> tuple[Update, ...]:
        """Updates that the bot has not confirmed."""
        with self.service.changed:
            return self.service.updates.pending

    @property
    def polling(self) -> bool:
        """Whether a getUpdates call is waiting."""
        return self.service.updates.polling

    def until_polled(self) -> None:
        """Wait for a getUpdates call that begins after this one."""
        with self.service.changed:
            before = self.service.updates.polls
            self.until(lambda _: self.service.updates.polls > before)

    def until_confirmed(self) -> None:
        """Wait until the bot has confirmed all updates there are now."""
        with self.service.changed:
            waiting = {update.id for update in self.pending}
            self.until(lambda _: waiting <= self.service.updates.confirmed)

    def confirmed(self, update_id: int) -> bool:
        with self.service.changed:
            return update_id in self.service.updates.confirmed

    def raw_update(self, body: Json) -> int:
        """Queue anything, readable or not; its id."""
        with self.service.changed:
            return self.service.updates.add_raw(body)

    def restart_update_ids(self, at: int | None = None) -> None:
        """Let ids go on elsewhere, as after a week without updates."""
        with self.service.changed:
            self.service.updates.restart_ids(at)

    def expire_queries(self) -> None:
        """Let every tap there is be too old to be answered."""
        with self.service.changed:
            for query in self.service.queries.values():
                query.expired = True

    # What goes wrong

    def another_poller(self, *, on: bool) -> None:
        """Let another program poll with this token, or stop it."""
        with self.service.changed:
            self.service.updates.rival = on
            if on:
                self.service.updates.end_polls(Refusal(409, OTHER_POLLER))

    def set_webhook(self, url: str) -> None:
        """Let somebody set a webhook for this bot; "" takes it away."""
        with self.service.changed:
            self.service.updates.webhook = url
            if url:
                error = Refusal(409, "Conflict: terminated by setWebhook request")
                self.service.updates.end_polls(error)

    def limit_rates(self, *, on: bool) -> None:
        """Be as strict as the real service: 5 at once and 1 a second in a private chat, 20 a
        minute in a group, 30 a second in all."""
        with self.service.changed:
            self.service.rates.on = on

    def revoke_token(self) -> None:
        with self.service.changed:
            self.service.revoked = True
            self.service.updates.end_polls(Refusal(401, "Unauthorized"))

    def restore_token(self) -> None:
        with self.service.changed:
            self.service.revoked = False

    def fail(
        self,
        method: str,
        *,
        status: int,
        retry_after: int | None = None,
        description: str | None = None,
        times: int = 1,
        when: When = None,
    ) -> None:
        """Refuse the next calls of a method ("*": of any), without an effect."""
        reply = failure(status, retry_after=retry_after, description=description)
        self._add(Fault(method=method, times=times, when=when, outcome=reply))

    def cut(self, method: str, *, after_effect: bool, times: int = 1, when: When = None) -> None:
        """Close the connection instead of an answer."""
        self._add(
            Fault(method=method, times=times, when=when, outcome=Cut(), after_effect=after_effect)
        )

    def cut_off(self, method: str, *, after: int, times: int = 1, when: When = None) -> None:
        """Do it, and end the connection after so many bytes of the answer."""
        self._add(Fault(method=method, times=times, when=when, cut_after=after, after_effect=True))

    def serve_locally(self, folder: str) -> None:
        """Answer getFile with paths on the server's own disk, as with --local."""
        with self.service.changed:
            self.service.local_folder = folder

    def garble(self, method: str, *, times: int = 1, when: When = None) -> None:
        """Do it, and answer with what is no JSON."""
        self._add(Fault(method=method, times=times, when=when, outcome=GARBAGE, after_effect=True))

    def rewrite(
        self,
        method: str,
        change: Callable[[bytes], bytes],
        *,
        times: int = 1_000_000,
        when: When = None,
    ) -> None:
        """Do it, and answer with what this makes of the answer."""
        self._add(Fault(method=method, times=times, when=when, rewrite=change, after_effect=True))

    def without_long_polling(self) -> None:
        """Answer getUpdates at once from now on, whatever it asks for."""
        with self.service.changed:
            self.service.updates.holds_back = False

    def answer_with(
        self, method: str, body: bytes, *, status: int = 200, times: int = 1, when: When = None
    ) -> None:
        """Answer the next calls with this, whatever it is, without an effect."""
        reply = Reply(status=status, body=body)
        self._add(Fault(method=method, times=times, when=when, outcome=reply))

    def hold(
        self, method: str, *, after_effect: bool = False, times: int = 1, when: When = None
    ) -> Hold:
        """Let the next calls wait until the test releases them."""
        hold = Hold()
        self._add(
            Fault(method=method, times=times, when=when, hold=hold, after_effect=after_effect)
        )
        return hold

    def heal(self) -> None:
        """Forget the faults that have not happened yet."""
        with self.service.changed:
            self.service.faults.clear()

    def _add(self, fault: Fault) -> None:
        with self.service.changed:
            self.service.faults.add(fault)

    def go_down(self) -> None:
        """No network: connections break, and new ones are refused."""
        self._run(self._close())
        # Bound without listening: refuses like a free port, and nobody else can take it.
        self._socket = _bound(self._port)

    def come_back(self) -> None:
        self._run(self._listen())

    # The thread

    def _in_loop(self, call: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(call)

    def _run(self, coroutine: Any) -> None:
        future: Future[None] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        future.result(PATIENCE)

    def _call(
        self, token: str, method: str, params: Json, files: dict[str, Document]
    ) -> Outcome | Later:
        return self._api.call(token, method, params, files)

    async def _listen(self) -> None:
        self._server = await self._loop.create_server(
            lambda: Connection(self._call, self._connections, now=self.service.clock.time),
            sock=self._socket,
        )

    async def _close(self) -> None:
        if self._server is not None:
            # asyncio's own loop, which `make races` uses, drops whom it is letting in just now.
            while arriving := asyncio.all_tasks() - {asyncio.current_task()}:
                await asyncio.wait(arriving)
            self._server.close()
            for connection in tuple(self._connections):
                connection.abort()
            await self._server.wait_closed()
            self._server = None

    def _stop(self) -> None:
        self._run(self._close())
        self._socket.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()


def _bound(port: int) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    return made
