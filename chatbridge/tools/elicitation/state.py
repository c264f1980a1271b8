"""What a client carries from one call to the next, in the era in which a form ends the call.

It comes back from outside, so it is signed, with a key that never leaves the state directory.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

KEY_SIZE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class FormState:
    about: str
    """A digest of the project and the question that the form is about."""
    ask: str | None
    """The ask that is open in the chats as well."""
    at: float
    """When the form was handed out."""


class States:
    def __init__(self, key: Callable[[], bytes]) -> None:
        """`key` is read once, when it is first needed."""
        self._key = cache(key)

    def signed(self, state: FormState) -> str:
        payload = _encoded(json.dumps(asdict(state)).encode())
        return f"{payload}.{self._signature(payload)}"

    def opened(self, given: str) -> FormState | None:
        """The state, if it is one of ours."""
        payload, _, signature = given.encode("utf-8", "replace").decode().partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(payload).encode()):
            return None
        return FormState(**json.loads(base64.urlsafe_b64decode(payload)))

    def _signature(self, payload: str) -> str:
        return _encoded(hmac.digest(self._key(), payload.encode(), "sha256"))


def about(project: str, question: str) -> str:
    return hashlib.sha256(json.dumps([project, question]).encode()).hexdigest()


def key_in(path: Path) -> bytes:
    """The key, made on first use."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return _made(path)
    with open(file, "rb") as content:
        key = content.read(KEY_SIZE + 1)
    return key if len(key) == KEY_SIZE else _made(path)


def _made(path: Path) -> bytes:
    key = secrets.token_bytes(KEY_SIZE)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "wb") as out:
        out.write(key)
    return key


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()
