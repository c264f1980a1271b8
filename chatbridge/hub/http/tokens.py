"""The tokens of agents that come over HTTP: whose they are, and when they were last used.

Owns two files in the state directory. `http-tokens.json` has names and digests, never a token; only
the command writes it, with or without a hub. `http-tokens-used.json` has times; only the hub writes
it. A file that cannot be read means nobody. Where several hubs share their tokens these are in
`shared_tokens`.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import logging
import os
import re
import secrets
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Protocol

from chatbridge import bounded_read, runtime_paths
from chatbridge.atomic_write import write_atomically
from chatbridge.core.errors import SettingsError
from chatbridge.digests import sha256_hex

log = logging.getLogger(__name__)

PREFIX = "cb_"
RANDOM_BYTES = 32
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
ACCEPTED = "1 to 40 letters, digits, dots, dashes and underscores, with a letter or digit first"
MAX_FILE = 1_000_000
NOTED_EVERY = 60.0


@dataclass(frozen=True, slots=True)
class Token:
    name: str
    created: float
    digest: str


def tokens_path(state: str) -> str:
    return os.path.join(state, "http-tokens.json")


def used_path(state: str) -> str:
    return os.path.join(state, "http-tokens-used.json")


# ── the command's side ────────────────────────────────────────────────────────────────────────────


def add(state: str, name: str, *, now: float) -> str:
    """A new token, which is nowhere but in what this returns.
    :raises SettingsError: the name cannot be used, or the file."""
    check_name(name)
    made = new_token()
    with _changing(state) as tokens:
        for known in (token.name for token in tokens):
            if known.lower() == name.lower():
                raise SettingsError(there_is(known))
        tokens.append(Token(name=name, created=now, digest=digest_of(made)))
    return made


def remove(state: str, name: str) -> None:
    check_name(name)
    with _changing(state) as tokens:
        left = [token for token in tokens if token.name != name]
        if len(left) == len(tokens):
            raise SettingsError(there_is_no(name, (token.name for token in tokens)))
        tokens[:] = left


def listed(state: str) -> list[tuple[Token, float | None]]:
    """Each token, and when it was last used. :raises SettingsError: the file cannot be used."""
    used = _used(state)
    return [(token, used.get(token.digest[:16])) for token in _read(state)]


def new_token() -> str:
    return PREFIX + secrets.token_urlsafe(RANDOM_BYTES)


def there_is(known: str) -> str:
    return (
        f"there is a token {known!r} already. Take another name, or first run: "
        f"chatbridge token remove {known}"
    )


def there_is_no(name: str, known: Iterable[str]) -> str:
    return f"there is no token {name!r}. There are: {', '.join(known) or 'none'}"


def check_name(name: str) -> None:
    """:raises SettingsError: no token can be called like this."""
    # Without the value: somebody may have pasted the token itself.
    if not NAME.fullmatch(name):
        raise SettingsError(f"a token cannot be named like this. Accepted: {ACCEPTED}")


def digest_of(token: str) -> str:
    return sha256_hex(token.encode("utf-8", "replace"))


@contextmanager
def _changing(state: str) -> Iterator[list[Token]]:
    """The tokens; what is in the list at the end is in the file."""
    runtime_paths.make_private(state)
    lock = os.open(tokens_path(state) + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        tokens = _read(state)
        yield tokens
        content = json.dumps({"tokens": [asdict(token) for token in tokens]}, indent=1) + "\n"
        try:
            write_atomically(tokens_path(state), content.encode())
        except OSError as error:
            raise SettingsError(
                f"{tokens_path(state)} cannot be written ({error.strerror}). Nothing was changed"
            ) from None
    finally:
        os.close(lock)


def _read(state: str) -> list[Token]:
    path = tokens_path(state)
    # A named pipe, which would never end, is nothing to read.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with open(os.open(path, flags), "rb") as file:
            about = os.fstat(file.fileno())
            content = file.read(MAX_FILE + 1)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SettingsError(_unusable(path, error.strerror or "it cannot be read")) from None
    if about.st_uid != os.getuid() or about.st_mode & 0o022:
        raise SettingsError(_unusable(path, "others can write to it"))
    try:
        return [_token(row) for row in json.loads(content)["tokens"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise SettingsError(_unusable(path, "it is damaged")) from None


def _token(row: dict[str, object]) -> Token:
    match row:
        case {"name": str(name), "created": float() | int() as created, "digest": str(digest)}:
            fits = NAME.fullmatch(name) and re.fullmatch("[0-9a-f]{64}", digest)
            if fits and not isinstance(created, bool):
                return Token(name=name, created=float(created), digest=digest)
    raise ValueError("this is no token")


def _unusable(path: str, problem: str) -> str:
    return (
        f"no token is accepted, because {path} cannot be used: {problem}. Repair it, or remove it "
        "and make new tokens: chatbridge token add NAME"
    )


def _used(state: str) -> dict[str, float]:
    found = bounded_read.read_json(used_path(state))
    return {key: float(at) for key, at in found.items() if isinstance(at, float | int)}


# ── the hub's side ────────────────────────────────────────────────────────────────────────────────


class TokenList(Protocol):
    """The tokens that are accepted now."""

    def all(self) -> Sequence[Token]: ...

    async def note_used(self, token: Token, *, now: float) -> None:
        """For `chatbridge token list`, to the minute."""

    def owner(self, given: str) -> Token | None:
        """Whose token this is. Every one is compared, and each in constant time."""
        digest = digest_of(given)
        found = [token for token in self.all() if hmac.compare_digest(token.digest, digest)]
        return found[-1] if found else None


class Tokens(TokenList):
    """The tokens in the file. A change of the file counts from the next look on."""

    def __init__(self, state: str) -> None:
        self._state = state
        self._seen: tuple[int, int, int] | None = None
        self._tokens: list[Token] = []
        self._noted: dict[str, float] = {}
        self._saving = threading.Lock()

    def all(self) -> list[Token]:
        try:
            about = os.stat(tokens_path(self._state), follow_symlinks=False)
            seen = (about.st_ino, about.st_ctime_ns, about.st_size)
        except OSError:
            self._seen, self._tokens = None, []
            return []
        if seen != self._seen:
            self._seen, self._tokens = seen, []
            try:
                self._tokens = _read(self._state)
            except SettingsError as error:
                log.warning("%s", error)
        return self._tokens

    async def note_used(self, token: Token, *, now: float) -> None:
        import asyncio  # which `chatbridge token` does without

        key = token.digest[:16]
        if abs(now - self._noted.get(key, 0.0)) < NOTED_EVERY:
            return
        self._noted[key] = now
        await asyncio.to_thread(self._save_used)

    def _save_used(self) -> None:
        with self._saving:  # else an older one could come last
            try:
                known = {one.digest[:16] for one in _read(self._state)}
                found = {**_used(self._state), **self._noted}
                content = json.dumps({key: at for key, at in found.items() if key in known}) + "\n"
                write_atomically(used_path(self._state), content.encode(), durable=False)
            except (SettingsError, OSError) as error:
                log.warning("when tokens were used is not noted: %s", error)
