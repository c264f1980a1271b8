"""The browsers that are logged in: each has a cookie with a random id, which can be revoked.

Owns their list, which is one note of the store, so that a log-out outlives the hub. Only digests of
the ids are kept, made with the inbox's token: another token ends all sessions.
"""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import dataclass

from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.model import ChannelState, Person
from chatbridge.core.ports import Clock

SESSION_SECONDS = 90 * 24 * 3600
MOST_SESSIONS = 100
"""Of more, those that were opened with the token end first, then the oldest."""
CHANNEL, KEY = "web", "sessions"

IN_A_BROWSER = Person(name="", channel="web")
BY_TOKEN = Person(name="", channel="web", place="token")
"""In a browser that was logged in with a code made by the token: a script can do that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    digest: str
    ends: float
    by_token: bool

    @property
    def person(self) -> Person:
        return BY_TOKEN if self.by_token else IN_A_BROWSER


class Sessions:
    def __init__(self, token: str, inbox: AskActions, *, clock: Clock) -> None:
        self._key = hmac.digest(token.encode(), b"chatbridge web inbox session 1", "sha256")
        self._inbox = inbox
        self._clock = clock
        self._open: dict[str, Session] = {}
        self.mark = hmac.digest(self._key, b"mark", "sha256").hex()[:16]
        """Another token has another one."""

    async def load(self) -> None:
        """Load what the last hub stored. Entries of another form are ignored."""
        note = await self._inbox.note(CHANNEL, KEY)
        try:
            found = json.loads(note.value) if note else []
        except ValueError:
            found = []
        for each in found if isinstance(found, list) else []:
            match each:
                case {"digest": str(digest), "ends": int(ends), "byToken": bool(by_token)}:
                    session = Session(digest=digest, ends=ends, by_token=by_token)
                    self._open[digest] = session

    async def open(self, *, by_token: bool) -> str:
        """A new session's cookie. :raises StoreError: there is none then."""
        cookie = secrets.token_urlsafe(24)
        digest, now = self._digest(cookie), self._clock.time()
        opened = Session(digest=digest, ends=int(now) + SESSION_SECONDS, by_token=by_token)
        live = [each for each in (*self._open.values(), opened) if each.ends > now]
        live.sort(key=lambda each: (not each.by_token, each.ends))
        self._open = {each.digest: each for each in live[-MOST_SESSIONS:]}
        try:
            await self._save()
        except BaseException:
            self._open.pop(digest, None)
            raise
        return cookie

    def of(self, cookie: str) -> Session | None:
        digest = self._digest(cookie)
        return self._open[digest] if self.is_open(digest) else None

    def is_open(self, digest: str) -> bool:
        return digest in self._open and self._clock.time() < self._open[digest].ends

    async def revoke(self, session: Session | None) -> None:
        """None: all. :raises StoreError: revoked, but perhaps valid again with the next hub."""
        if session is None:
            self._open.clear()
        else:
            self._open.pop(session.digest, None)
        await self._save()

    async def _save(self) -> None:
        listed = [
            {"digest": each.digest, "ends": each.ends, "byToken": each.by_token}
            for each in self._open.values()
        ]
        value, at = json.dumps(listed), self._clock.time()
        await self._inbox.remember(ChannelState(channel=CHANNEL, key=KEY, value=value, at=at))

    def _digest(self, cookie: str) -> str:
        return hmac.digest(self._key, cookie.encode(), "sha256").hex()
