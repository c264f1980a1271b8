"""What a notification says, and how it is encrypted, signed and sent.

Owns the shape of a payload, which Safari understands by itself (Declarative Web Push) and other
browsers hand to the inbox's worker, and what the answers of push services mean. A push service gets
the address, the size and the time of a message, and cannot read it.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from secrets import token_bytes
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from chatbridge.channels.chat.writer import MessageRejected
from chatbridge.channels.web.push.settings import Push
from chatbridge.channels.web.push.subscriptions import (
    Keys,
    Subscription,
    Subscriptions,
    decode,
)
from chatbridge.core.errors import ChatbridgeError, ChatRefused, RetryLater
from chatbridge.core.policy import DAY, HOUR
from chatbridge.core.ports import Clock
from chatbridge.core.text import encodable, one_line, shortened

if TYPE_CHECKING:
    import httpx
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

DECLARATIVE = 8030
MOST_BYTES = 3993
"""Of a payload: a push service takes 4,096, of which encryption needs 103."""
SIZES = (1024, 2048, MOST_BYTES)
"""To one of these a payload is filled up, so that its size says little."""
TOKEN_SECONDS = 12 * HOUR
MAX_TTL = DAY
ANSWERED_WITHIN = 10.0
RECORD_BYTES, LAST_RECORD = 4096, b"\x02"
NOBODY = "mailto:chatbridge@example.com"
"""Push services want an address. Without the owner's they get this, and not that of the inbox."""
OVER = frozenset({404, 410})


class SubscriptionGone(ChatbridgeError):
    """The browser does not want notifications any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    tag: str
    """One of the same tag takes its place."""
    content: dict[str, Any]
    until: float
    """Nobody needs it after this time."""
    rings: bool = True


def notification(
    *, tag: str, title: str, body: str, page: str, badge: int, rings: bool = True, **more: Any
) -> dict[str, Any]:
    shown = {
        "title": title,
        "body": body,
        "navigate": page,
        "tag": tag,
        "silent": not rings,
        "renotify": rings,
        "lang": "en",
        "app_badge": str(badge),  # where Safari looks for it; the standard has it outside
        **more,
    }
    return {"web_push": DECLARATIVE, "notification": shown, "app_badge": badge}


def closing(**shown: Any) -> dict[str, Any]:
    """What takes the place of a notification without a sound, and goes by itself where a worker
    sees to that. No browser lets pushes pass that show nothing: Safari takes the permission away,
    Firefox gives its address up, and Chrome shows something of its own."""
    return {**notification(rings=False, **shown), "ended": True}


def payload(content: dict[str, Any]) -> bytes:
    """As JSON that fits, whatever agents have written: texts are cut if they must be."""
    text = _json(content)
    for limit in (200, 60, 20):
        if len(text) <= MOST_BYTES:
            break
        text = _json(_cut(content, limit))
    size = next((size for size in SIZES if len(text) <= size), len(text))
    return text.ljust(size)


def _json(content: object) -> bytes:
    return encodable(json.dumps(content, ensure_ascii=False, separators=(",", ":"))).encode()


def _cut(content: dict[str, Any], limit: int) -> dict[str, Any]:
    """With shorter texts; addresses and keys stay."""
    shown = dict(content["notification"])
    shown["title"], shown["body"] = (shortened(shown[each], limit) for each in ("title", "body"))
    shown["actions"] = [
        {**each, "title": shortened(each["title"], limit)} for each in shown.get("actions", ())
    ]
    return {**content, "notification": shown}


class Sender:
    """Sends messages to browsers. Loads what it needs for that with the first one."""

    def __init__(self, table: Push, subscriptions: Subscriptions, *, clock: Clock) -> None:
        self._table = table
        self._subscriptions = subscriptions
        self._clock = clock
        self._client: httpx.AsyncClient | None = None
        self._making = asyncio.Lock()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def send(self, to: Subscription, message: Message) -> None:
        """:raises SubscriptionGone: :raises RetryLater: :raises ChatRefused: :raises
        MessageRejected: it will not be taken, however often it is sent."""
        import httpx

        if not self._table.allows(to.endpoint):
            raise ChatRefused(
                f"{to.service} is not in push.services. Put it there, or turn notifications off "
                f"for {to.name}"
            )
        keys, now = await self._subscriptions.keys(), self._clock.time()
        contact = self._table.contact or NOBODY

        def sealed() -> tuple[bytes, str]:
            body = encrypted(payload(message.content), to)
            return body, signed(keys, to, contact=contact, now=now)

        body, authorization = await asyncio.to_thread(sealed)
        headers = {
            "authorization": authorization,
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
            "ttl": str(int(min(max(message.until - now, 0.0), MAX_TTL))),
            "topic": keys.topic(message.tag),
            "urgency": "high" if message.rings else "normal",
        }
        try:
            client = await self._connected()
            # No redirect is followed: only the services of the settings get anything.
            async with client.stream("POST", to.endpoint, content=body, headers=headers) as answer:
                said = await _start_of(answer)  # read, so that the connection can be used again
                if not answer.is_success:
                    raise _error(answer, said, to, now=now)
        except httpx.HTTPError as error:
            why = shortened(one_line(str(error) or type(error).__name__), 200)
            raise RetryLater(f"{to.service} cannot be reached: {why}") from error

    async def _connected(self) -> httpx.AsyncClient:
        async with self._making:
            if self._client is None:
                self._client = await asyncio.to_thread(_new_client)
        return self._client


def encrypted(
    content: bytes,
    to: Subscription,
    *,
    private: EllipticCurvePrivateKey | None = None,
    salt: bytes | None = None,
) -> bytes:
    """For this browser alone: one record of RFC 8188 with the keys of RFC 8291. `private` and
    `salt` are random, unless a test gives them."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    def derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
        return HKDF(SHA256(), length, salt, info).derive(secret)

    curve, theirs = ec.SECP256R1(), decode(to.p256dh)
    private, salt = private or ec.generate_private_key(curve), salt or token_bytes(16)
    ours = private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    shared = private.exchange(
        ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(curve, theirs)
    )
    both = b"WebPush: info\0" + theirs + ours
    secret = derived(shared, decode(to.auth), both, 32)
    key = derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    header = salt + RECORD_BYTES.to_bytes(4, "big") + bytes([len(ours)]) + ours
    return header + AESGCM(key).encrypt(nonce, content + LAST_RECORD, None)


def signed(keys: Keys, to: Subscription, *, contact: str, now: float) -> str:
    """That this hub sends it, for its push service (RFC 8292)."""
    import jwt

    parts = urlsplit(to.endpoint)
    claims = {
        "aud": f"{parts.scheme}://{parts.netloc}",
        "exp": int(now + TOKEN_SECONDS),
        "sub": contact,
    }
    return f"vapid t={jwt.encode(claims, keys.private, algorithm='ES256')}, k={keys.public}"


def _new_client() -> httpx.AsyncClient:
    import httpx

    return httpx.AsyncClient(timeout=ANSWERED_WITHIN, follow_redirects=False)


async def _start_of(answer: httpx.Response) -> str:
    async for part in answer.aiter_bytes(1000):
        return shortened(one_line(part.decode(errors="replace")), 200)
    return ""


def _error(answer: httpx.Response, said: str, to: Subscription, *, now: float) -> Exception:
    status = answer.status_code
    why = f"{to.service}: {said or answer.reason_phrase} ({status})"
    if status in OVER:
        return SubscriptionGone(why)
    if status == 429 or status >= 500:
        return RetryLater(why, after=_pause(answer.headers.get("retry-after", ""), now))
    if status in (400, 413):
        return MessageRejected(why)
    return ChatRefused(f"{why}. Turn notifications off and on again for {to.name}")


def _pause(given: str, now: float) -> float | None:
    """Seconds, of a number or a date. None: the service does not say."""
    try:
        at = now + float(given) if given.isdecimal() else parsedate_to_datetime(given).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return min(max(at - now, 1.0), DAY)
