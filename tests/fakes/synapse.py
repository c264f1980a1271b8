"""A real Matrix homeserver for the tests: one Synapse process on loopback, and its administrator.

Everything here blocks. The server knows no other server, counts nothing as unread, and limits
nobody's rate unless a test says so. A start takes about two seconds, nearly all of it Python's
imports.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import itertools
import json
import os
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.fakes.network import free_port

FIND = Path(__file__).parents[2] / ".ci" / "synapse"
SERVER_NAME = "localhost"
SECRET = "the tests may register"
SIGNING_KEY = "ed25519 a_test AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n"
PROCESS = Path(__file__).with_name("synapse_process.py")
PATIENCE = 60.0
MAX_UPLOAD = 30_000_000
UNLIMITED = {"per_second": 1_000_000, "burst_count": 1_000_000}


@dataclass(frozen=True, slots=True)
class Account:
    user_id: str
    password: str


@dataclass(frozen=True, slots=True)
class Login:
    user_id: str
    device_id: str
    access_token: str


class Refused(Exception):
    """The homeserver said no."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(f"{status} {body}")
        self.status = status
        self.errcode = body.get("errcode")
        self.body = body


class Synapse:
    def __init__(self, folder: Path, *, lean: bool = False, port: int | None = None) -> None:
        """`lean`: without work that nobody sees from outside, for the homeserver that many tests
        share. `port`: one that runs there already."""
        self.folder = folder
        self._lean = lean
        self.port = port or free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._admin: Login | None = None
        self._numbers = itertools.count(1)
        self._database = folder / "homeserver.db"

    @classmethod
    @contextmanager
    def running(cls, folder: Path, *, lean: bool = False) -> Iterator[Synapse]:
        """A homeserver of one's own."""
        server = cls(folder, lean=lean)
        try:
            server.start()
            yield server
        finally:
            server.kill()

    @classmethod
    def shared(cls, folder: Path, *, until: int) -> Synapse:
        """The one of all processes that name this folder: the first of them starts it, and it runs
        as long as the process with the pid `until`."""
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "port", "a+") as note:
            fcntl.flock(note, fcntl.LOCK_EX)
            note.seek(0)
            if port := note.read():
                return cls(folder, lean=True, port=int(port))
            server = cls(folder, lean=True)
            server.start(until=until)
            assert server._process is not None
            server._process.returncode = 0  # nobody waits for it
            note.write(str(server.port))
            return server

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    # Its life: always the same port, database and people.

    def start(self, *, until: int | None = None) -> None:
        """It ends with this process, or with the one that has the pid `until`."""
        assert self._process is None, "it runs already"
        python = subprocess.run([FIND, "find"], capture_output=True, text=True).stdout.strip()
        assert python, "Synapse is not installed or out of date. Run: .ci/synapse set-up"
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "signing.key").write_text(SIGNING_KEY)
        # YAML includes JSON.
        (self.folder / "homeserver.yaml").write_text(json.dumps(self._configuration()))
        (self.folder / "log.yaml").write_text(json.dumps(self._logging()))
        with open(self.folder / "output", "ab") as output:
            self._process = subprocess.Popen(
                [python, "-I", PROCESS, "-c", "homeserver.yaml"],
                cwd=self.folder,
                stdin=subprocess.DEVNULL if until else subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={
                    **{k: v for k, v in os.environ.items() if not k.startswith("PYTHON")},
                    **({"LEAN_SYNAPSE": "1"} if self._lean else {}),
                    **({"SYNAPSE_UNTIL": str(until)} if until else {}),
                },
            )
        deadline = time.monotonic() + PATIENCE
        while not self._is_up():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"Synapse did not start:\n{self.said()}")
            time.sleep(0.05)

    def kill(self) -> None:
        """As a power cut does."""
        if self._process is not None:
            with self._process as process:
                process.kill()
            self._process = None

    def said(self) -> str:
        """What it wrote: its warnings, and what came before it could write those."""
        files = [self.folder / "output", self.folder / "log"]
        return "\n".join(file.read_text() for file in files if file.exists())

    # Its people.

    def register(self, name: str, *, admin: bool = False) -> Account:
        """A new person with this name. The user id has two numbers, too, so that all tests of a
        server, in whatever process, may have their own Ada: @ada-4711-1:localhost."""
        path = "/_synapse/admin/v1/register"
        user = f"{name.lower()}-{os.getpid()}-{next(self._numbers)}"
        nonce = self.request("GET", path)["nonce"]
        password = f"{name} has a password"
        sealed = "\0".join([nonce, user, password, "admin" if admin else "notadmin"])
        made = self.request(
            "POST",
            path,
            {
                "nonce": nonce,
                "username": user,
                "displayname": name,
                "password": password,
                "admin": admin,
                "mac": hmac.new(SECRET.encode(), sealed.encode(), hashlib.sha1).hexdigest(),
                "inhibit_login": True,
            },
        )
        return Account(user_id=made["user_id"], password=password)

    def log_in(self, account: Account, device: str | None = None) -> Login:
        """On a new device, or anew on an old one, whose earlier token ends with that."""
        answer = self.request(
            "POST",
            "/_matrix/client/v3/login",
            {
                "type": "m.login.password",
                "identifier": {"type": "m.id.user", "user": account.user_id},
                "password": account.password,
                **({"device_id": device} if device else {}),
            },
        )
        return Login(answer["user_id"], answer["device_id"], answer["access_token"])

    def log_out(self, access_token: str) -> None:
        """The device is gone: from now on the token is unknown, with `soft_logout` false."""
        self.request("POST", "/_matrix/client/v3/logout", {}, token=access_token)

    def soft_log_out(self, access_token: str) -> None:
        """The token expires and the device stays: unknown from now on, `soft_logout` true.

        Synapse offers no such thing to an administrator. So its database is told; and a ban that
        is lifted makes it look at the person's tokens anew.
        """
        expire = "UPDATE access_tokens SET valid_until_ms = 1 WHERE token = ? RETURNING user_id"
        with closing(sqlite3.connect(self._database, timeout=PATIENCE)) as database, database:
            expired = database.execute(expire, (access_token,)).fetchone()
        assert expired, "no such token"
        user_id = quote(expired[0])
        self.administer("DELETE", f"/_synapse/admin/v1/users/{user_id}/shadow_ban")

    def limit_rate_of(self, user_id: str, per_second: int, burst: int) -> None:
        """This person's messages only. Zero for both means no limit."""
        self.administer(
            "POST",
            f"/_synapse/admin/v1/users/{quote(user_id)}/override_ratelimit",
            {"messages_per_second": per_second, "burst_count": burst},
        )

    def administer(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """A request as the server's administrator, who is made when first needed."""
        if self._admin is None:
            self._admin = self.log_in(self.register("administrator", admin=True))
        return self.request(method, path, body, token=self._admin.access_token)

    def request(
        self, method: str, path: str, body: object = None, *, token: str | None = None
    ) -> dict[str, Any]:
        request = urllib.request.Request(
            self.address + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}"} if token else {},
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                answer: dict[str, Any] = json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                raise Refused(error.code, json.load(error)) from None
        return answer

    def _is_up(self) -> bool:
        try:
            with urllib.request.urlopen(self.address + "/health", timeout=PATIENCE) as response:
                return bool(response.status == 200)
        except OSError:
            return False

    def _configuration(self) -> dict[str, object]:
        return {
            "server_name": SERVER_NAME,
            "pid_file": str(self.folder / "pid"),
            "listeners": [
                {
                    "type": "http",
                    "port": self.port,
                    "bind_addresses": ["127.0.0.1"],
                    "resources": [{"names": ["client"], "compress": False}],
                }
            ],
            "database": {"name": "sqlite3", "args": {"database": str(self._database)}},
            "log_config": str(self.folder / "log.yaml"),
            "signing_key_path": str(self.folder / "signing.key"),
            "macaroon_secret_key": "the tests' macaroons",
            "form_secret": "the tests' forms",
            "registration_shared_secret": SECRET,
            "enable_registration": False,
            "bcrypt_rounds": 4,
            "report_stats": False,
            "trusted_key_servers": [],
            "federation_domain_whitelist": [],
            "send_federation": False,
            "media_store_path": str(self.folder / "media"),
            "max_upload_size": str(MAX_UPLOAD),
            "url_preview_enabled": False,
            "presence": {"enabled": False},
            "push": {"enabled": False},
            "user_directory": {"enabled": False},
            "update_user_directory": False,
            "stats": {"enabled": False},
            "gc_thresholds": [100_000, 50, 50],  # a tenth of its work, for little garbage
            "caches": {"expire_caches": False},
            "rc_message": UNLIMITED,
            "rc_registration": UNLIMITED,
            "rc_login": {"address": UNLIMITED, "account": UNLIMITED, "failed_attempts": UNLIMITED},
            "rc_joins": {"local": UNLIMITED, "remote": UNLIMITED},
            "rc_joins_per_room": UNLIMITED,
            "rc_invites": {"per_room": UNLIMITED, "per_user": UNLIMITED, "per_issuer": UNLIMITED},
            "rc_room_creation": UNLIMITED,
            "rc_profile": UNLIMITED,
            "rc_key_requests": UNLIMITED,
        }

    def _logging(self) -> dict[str, object]:
        return {
            "version": 1,
            "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
            "handlers": {
                "file": {
                    "class": "logging.FileHandler",
                    "filename": str(self.folder / "log"),
                    "formatter": "line",
                }
            },
            "root": {"level": "WARNING", "handlers": ["file"]},
            "disable_existing_loggers": False,
        }
