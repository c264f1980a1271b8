"""The browsers that ring, and the keys of this hub that go with them.

Owns their list, which is one note of the store, and the hub's key pair, made on first use. A
subscription belongs to a log-in and ends with it: whoever was logged out hears nothing more.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from chatbridge.channels.web.sessions import CHANNEL, Session, Sessions
from chatbridge.core.asks.ask_actions import AskActions
from chatbridge.core.errors import InvalidAnswer
from chatbridge.core.model import ChannelState
from chatbridge.core.nights import summary
from chatbridge.core.ports import Clock
from chatbridge.core.stored_json import reader
from chatbridge.redaction import hide

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

LIST, KEY = "push", "push-key"
MOST = 20
"""Of more, the oldest ends."""
LONGEST_ENDPOINT = 2000
POINT, SECRET = 65, 16
"""Bytes of a browser's public key, and of the secret that it shares with the hub."""
BROWSERS = ("Edg", "OPR", "SamsungBrowser", "Firefox", "FxiOS", "CriOS", "Chrome", "Safari")
"""In this order: each names those after it, too."""
BROWSER_NAMES = {"Edg": "Edge", "OPR": "Opera", "SamsungBrowser": "Samsung Internet"}
BROWSER_NAMES |= {"FxiOS": "Firefox", "CriOS": "Chrome"}
SYSTEMS = {"iPhone": "iPhone", "iPad": "iPad", "Android": "Android", "Windows": "Windows"}
SYSTEMS |= {"Macintosh": "Mac", "CrOS": "ChromeOS", "Linux": "Linux"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    id: str
    endpoint: str
    """Where its push service takes messages: who knows it can ring."""
    p256dh: str
    auth: str
    session: str
    """The digest of the log-in that it belongs to."""
    origin: str
    """Where this browser has the inbox open."""
    name: str
    since: float

    @property
    def surface(self) -> str:
        return f"{CHANNEL}:{self.id}"

    @property
    def service(self) -> str:
        return urlsplit(self.endpoint).hostname or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    mark: str
    """Of the inbox's token: another one has ended all log-ins."""
    subscriptions: tuple[Subscription, ...] = ()


class Subscriptions:
    def __init__(
        self,
        inbox: AskActions,
        sessions: Sessions,
        *,
        clock: Clock,
        tell_owner: Callable[..., None],
    ) -> None:
        self._inbox = inbox
        self._sessions = sessions
        self._clock = clock
        self._known: dict[str, Subscription] = {}
        self._keys: Keys | None = None
        self._making_keys = asyncio.Lock()
        self._changing = asyncio.Lock()
        self.tell_owner = tell_owner
        self.changed: Callable[[], None] = lambda: None

    async def load(self) -> None:
        """Load what the last hub stored. What this version cannot read is left out."""
        note = await self._inbox.note(CHANNEL, LIST)
        stored = read_stored(note.value) if note else None
        if stored is not None and stored.mark == self._sessions.mark:
            for each in stored.subscriptions:
                _hide(each)
                self._known[each.id] = each

    def listed(self) -> Sequence[Subscription]:
        """The newest first."""
        open_ones = [each for each in self._known.values() if self._is_open(each)]
        return sorted(open_ones, key=lambda each: each.since, reverse=True)

    def get(self, id: str) -> Subscription | None:
        found = self._known.get(id)
        return found if found and self._is_open(found) else None

    def of(self, session: Session) -> Sequence[Subscription]:
        return [each for each in self.listed() if each.session == session.digest]

    def _is_open(self, subscription: Subscription) -> bool:
        return self._sessions.is_open(subscription.session)

    async def add(self, new: Subscription, *, replaces: str | None = None) -> Subscription:
        """Also one that is there: it then belongs to this log-in. `replaces`: an endpoint that the
        browser has given up. :raises StoreError: nothing has changed."""
        async with self._changing:
            before = dict(self._known)
            for each in before.values():
                if new.endpoint == each.endpoint:
                    new = replace(new, id=each.id, since=each.since)
                elif replaces == each.endpoint and each.session == new.session:
                    self._known.pop(each.id)
            _hide(new)
            self._known[new.id] = new
            kept = self.listed()[:MOST]
            self._known = {each.id: each for each in kept} | {new.id: new}
            try:
                await self._save()
            except BaseException:
                self._known = before
                raise
            self.changed()
        return new

    def rings_already(self, endpoint: str, *, session: Session) -> bool:
        """Whether a browser of this log-in is reached there."""
        return any(each.endpoint == endpoint for each in self.of(session))

    async def drop(self, *ids: str) -> None:
        """End these; those that are not there are ignored. :raises StoreError: they have ended, but
        may be there again with the next hub."""
        async with self._changing:
            ended = [gone for each in ids if (gone := self._known.pop(each, None))]
            if not ended:
                return
            try:
                await self._save()
                for each in ended:
                    await self._inbox.forget(summary.NOTES, each.surface)
            finally:
                self.changed()  # last: this may end who calls

    async def drop_closed(self) -> None:
        """End those whose log-in has ended."""
        await self.drop(*(each.id for each in [*self._known.values()] if not self._is_open(each)))

    async def _save(self) -> None:
        stored = Stored(mark=self._sessions.mark, subscriptions=tuple(self._known.values()))
        value, at = json.dumps(asdict(stored)), self._clock.time()
        await self._inbox.remember(ChannelState(channel=CHANNEL, key=LIST, value=value, at=at))

    async def keys(self) -> Keys:
        """:raises StoreError:"""
        async with self._making_keys:
            if self._keys is None:
                note = await self._inbox.note(CHANNEL, KEY)
                raw = note.value if note else encode(await asyncio.to_thread(_new_private_key))
                hide(raw)
                if note is None:
                    at = self._clock.time()
                    made = ChannelState(channel=CHANNEL, key=KEY, value=raw, at=at)
                    await self._inbox.remember(made)
                self._keys = await asyncio.to_thread(Keys, decode(raw))
        return self._keys


class Keys:
    """The hub's key pair, by which push services know who sends, and what is derived from it."""

    def __init__(self, private: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        self.private: EllipticCurvePrivateKey
        self.private = ec.derive_private_key(int.from_bytes(private, "big"), ec.SECP256R1())
        point = self.private.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )
        self.public = encode(point)
        """As browsers want it: `applicationServerKey`."""
        self._secret = hmac.digest(private, b"chatbridge push answers 1", "sha256")

    def answer_key(self, subscription: str, ask: str, step: int) -> str:
        """Lets one browser answer this step of this ask, which counts once: then it is over."""
        return self._mac("answer", subscription, ask, str(step))[:43]

    def topic(self, tag: str) -> str:
        """For a push service, which keeps only the newest message of a topic."""
        return self._mac("topic", tag)[:32]

    def _mac(self, *parts: str) -> str:
        return encode(hmac.digest(self._secret, json.dumps(parts).encode(), "sha256"))


def _new_private_key() -> bytes:
    from cryptography.hazmat.primitives.asymmetric import ec

    made = ec.generate_private_key(ec.SECP256R1())
    return made.private_numbers().private_value.to_bytes(32, "big")


def new_subscription(
    *, endpoint: str, p256dh: str, auth: str, session: Session, origin: str, agent: str, at: float
) -> Subscription:
    """Takes a while: call it off the loop. :raises InvalidAnswer: a key is none."""
    if not (_has_bytes(p256dh, POINT) and _is_point(decode(p256dh))):
        raise InvalidAnswer("keys.p256dh", "accepted: a point of P-256 in base64url")
    if not _has_bytes(auth, SECRET):
        raise InvalidAnswer("keys.auth", f"accepted: {SECRET} bytes in base64url")
    return Subscription(
        id=secrets.token_hex(8),
        endpoint=endpoint,
        p256dh=p256dh,
        auth=auth,
        session=session.digest,
        origin=origin,
        name=name_of(agent),
        since=at,
    )


def name_of(agent: str) -> str:
    """What people call a browser that says this of itself: Chrome on Android."""
    browser = next((name for name in BROWSERS if f"{name}/" in agent), "")
    system = next((said for word, said in SYSTEMS.items() if word in agent), "")
    what = BROWSER_NAMES.get(browser, browser) or "A browser"
    return f"{what} on {system}" if system else what


def encode(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _has_bytes(value: str, length: int) -> bool:
    unpadded = -(-length * 4 // 3)
    return bool(re.fullmatch(f"[A-Za-z0-9_-]{{{unpadded}}}", value))


def _is_point(raw: bytes) -> bool:
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), raw)
    except ValueError:
        return False
    return True


read_stored = reader(Stored)


def _hide(subscription: Subscription) -> None:
    """Keep out of the log what lets somebody else ring, or read along."""
    hide(subscription.endpoint)
    hide(urlsplit(subscription.endpoint).path)
    hide(subscription.auth)
