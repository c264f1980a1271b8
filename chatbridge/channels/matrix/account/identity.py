"""The bot's cross-signing identity, which tells people's clients that a device is the bot's own.

Element marks messages of a device that its owner has not signed, or hides them. nio has no
cross-signing. The identity's three keys are made once and kept in a file. An identity that somebody
else has made is never replaced: people may have verified it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from Crypto.PublicKey import ECC
from Crypto.Signature import eddsa
from nio.api import Api
from unpaddedbase64 import decode_base64, encode_base64

from chatbridge.atomic_write import write_atomically
from chatbridge.core.text import one_line, shortened
from chatbridge.digests import sha256_hex
from chatbridge.safe_json import value_at

USAGES = ("master", "self_signing", "user_signing")
LONGEST_REASON = 200

Body = dict[str, Any]
Request = Callable[[str, str, Body], Awaitable[tuple[int, Body]]]
"""Takes the method, the path and the body, with the bot's token; gives the status and the body."""


class Key:
    """An Ed25519 key pair of the identity."""

    def __init__(self, seed: bytes) -> None:
        self._private = ECC.construct(curve="Ed25519", seed=seed)
        self.public = encode_base64(self._private.public_key().export_key(format="raw"))

    def signed(self, content: Body) -> Body:
        """The content with this key's signature, and no other."""
        signature = encode_base64(eddsa.new(self._private, "rfc8032").sign(_canonical(content)))
        signatures = {content["user_id"]: {f"ed25519:{self.public}": signature}}
        return {**_bare(content), "signatures": signatures}


class Identity:
    """The identity of one account. The folder outlives the account's devices."""

    def __init__(self, folder: Path, user_id: str, request: Request) -> None:
        self.path = folder / f"identity.{sha256_hex(user_id.encode())[:16]}.json"
        self._user = user_id
        self._request = request

    async def sign(self, device_id: str, ed25519: str) -> str | None:
        """Have this device signed, whose keys nio has uploaded. Returns what stands in the way."""
        user = self._user
        status, found = await self._request("POST", "/keys/query", {"device_keys": {user: []}})
        if status != 200:
            return _refusal("does not show the bot's own keys", status, found)
        device = value_at(found, "device_keys", user, device_id)
        if not _is_signed(device, user, name=device_id, key=ed25519):
            return f"the homeserver does not have the keys of the bot's device {device_id}"
        published = {
            usage: _only(value_at(found, f"{usage}_keys", user, "keys")) for usage in USAGES
        }
        signer = published["self_signing"]
        if signer is not None and _is_signed(device, user, name=signer, key=signer):
            return None
        by_hand = (
            f"Log in to {user} with Element on a computer, let it set up the account's digital "
            f"identity if it asks for that, and type in any room: /verify {device_id} {ed25519}"
        )
        try:
            keys = self._keys(make=published["master"] is None)
        except OSError as error:
            return f"the bot's identity cannot be kept in {self.path} ({error.strerror})"
        if keys is None or published["master"] not in (None, keys["master"].public):
            return (
                f"the account {user} has a digital identity whose keys are not here, so chatbridge "
                f"cannot sign the bot's device. {by_hand}"
            )
        if published != {usage: key.public for usage, key in keys.items()}:
            body = self._to_publish(keys)
            status, answer = await self._request("POST", "/keys/device_signing/upload", body)
            if status != 200:
                return f"{_refusal('does not take an identity', status, answer)}. {by_hand}"
        body = {user: {device_id: keys["self_signing"].signed(device)}}
        status, answer = await self._request("POST", "/keys/signatures/upload", body)
        failure = value_at(answer, "failures", user, device_id)
        if status != 200 or failure is not None:
            return _refusal("does not take the device's signature", status, failure or answer)
        return None

    def _keys(self, *, make: bool) -> dict[str, Key] | None:
        """The keys in the file, of which a damaged one has none; or new ones, which are on the disk
        before anybody hears of them."""
        try:
            kept = json.loads(self.path.read_text(encoding="ascii"))
            return {usage: Key(decode_base64(kept[usage])) for usage in USAGES}
        except (FileNotFoundError, ValueError, LookupError, TypeError, AttributeError):
            if not make:
                return None
        seeds = {usage: os.urandom(32) for usage in USAGES}
        kept = {usage: encode_base64(seed) for usage, seed in seeds.items()}
        write_atomically(self.path, json.dumps(kept).encode())
        return {usage: Key(seed) for usage, seed in seeds.items()}

    def _to_publish(self, keys: Mapping[str, Key]) -> Body:
        body: Body = {}
        for usage, key in keys.items():
            public = {f"ed25519:{key.public}": key.public}
            content: Body = {"user_id": self._user, "usage": [usage], "keys": public}
            body[f"{usage}_key"] = content if usage == "master" else keys["master"].signed(content)
        return body


def _is_signed(content: Any, user: str, *, name: str, key: str) -> bool:
    """Whether the signature that goes by this name is there and is the key's."""
    if not isinstance(content, dict):
        return False
    signature = value_at(content, "signatures", user, f"ed25519:{name}")
    try:
        public = eddsa.import_public_key(decode_base64(key))
        eddsa.new(public, "rfc8032").verify(_canonical(content), decode_base64(signature))
    except (ValueError, TypeError, AttributeError):
        return False
    return True


def _canonical(content: Body) -> bytes:
    return Api.to_canonical_json(_bare(content)).encode()


def _bare(content: Body) -> Body:
    """What a signature is about."""
    return {key: content[key] for key in content if key not in ("signatures", "unsigned")}


def _only(keys: Any) -> str | None:
    return str(next(iter(keys.values()))) if isinstance(keys, dict) and keys else None


def _refusal(what: str, status: int, answer: Any) -> str:
    said = f"{value_at(answer, 'errcode') or ''} {value_at(answer, 'error') or ''}".strip()
    return f"the homeserver {what} ({shortened(one_line(f'{status} {said}'), LONGEST_REASON)})"
