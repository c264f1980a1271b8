"""The owner at the inbox's page, logged in, without a browser: what its forms post."""

from __future__ import annotations

import http.cookiejar
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from chatbridge import lock_file

Json = dict[str, Any]
PATIENCE = 30.0
EDGE = "----edge"


class Page:
    """`state` is the state directory of a hub, which may restart meanwhile."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self._cookies)
        )

    def sees(self, text: str, *, project: str = "shop", other_than: str = "") -> Json:
        """The open ask of this project that begins with this question, once it is there."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for ask in self.open_asks():
                here = ask["agent"]["project"] == project and ask["id"] != other_than
                if here and ask["questions"][0]["question"] == text:
                    return ask
            time.sleep(0.02)
        raise AssertionError(f"no open ask {text!r}")

    def open_asks(self) -> list[Json]:
        found: list[Json] = json.loads(self._token("/api/asks?status=open"))
        return found

    def notices(self) -> list[Json]:
        """The newest first."""
        found: list[Json] = json.loads(self._token("/api/notices"))
        return found

    def ask(self, ask_id: str) -> Json:
        found: Json = json.loads(self._token(f"/api/asks/{ask_id}"))
        return found

    def taps(self, ask: Json, action: str, **fields: object) -> int:
        """The status of the reply."""
        self._log_in()
        return self._post(f"/asks/{ask['id']}/form", _form({"do": action, **fields}))

    def attaches(self, ask: Json, content: bytes, name: str) -> int:
        """A file with the answer to the first question, as the page's script sends it."""
        self._log_in()
        headers = {"X-Chatbridge": "fragment", "X-File-Name": urllib.parse.quote(name)}
        return self._post(f"/asks/{ask['id']}/files?question=0", content, **headers)

    def allows(self, ask: Json) -> int:
        return self.taps(ask, "choose", step=0, option=0)

    def allows_for_session(self, ask: Json) -> int:
        self.taps(ask, "ask_more", step=0)
        self.taps(ask, "pick", step=1, option=2)
        return self.taps(ask, "choose", step=2, option=1)

    def denies(self, ask: Json, reason: str = "") -> int:
        if reason:
            return self.taps(ask, "other", step=0, text=reason)
        return self.taps(ask, "choose", step=0, option=2)

    def tells(self, agent: str, text: str) -> int:
        """A message to this agent, once it is listed."""
        until = time.monotonic() + PATIENCE
        wanted = re.compile(f'id="agent-([^"]+)" data-agent="{re.escape(agent)}"')
        while not (found := wanted.search(self.agents())):
            assert time.monotonic() < until, f"no agent {agent!r} is listed"
            time.sleep(0.02)
        part = f'--{EDGE}\r\nContent-Disposition: form-data; name="text"\r\n\r\n{text}\r\n'
        kind = {"Content-Type": f"multipart/form-data; boundary={EDGE}"}
        return self._post(f"/agents/{found[1]}", f"{part}--{EDGE}--\r\n".encode(), **kind)

    def agents(self) -> str:
        """The page of the agents, and of what became of messages."""
        self._log_in()
        with self._opener.open(f"{self._address()}/agents", timeout=PATIENCE) as response:
            found: str = response.read().decode()
        return found

    def with_token(self, path: str, body: Json) -> int:
        """What a script with the bearer token is answered."""
        try:
            self._token(path, json.dumps(body).encode())
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        return 200

    def _token(self, path: str, body: bytes | None = None) -> bytes:
        address = self._address()  # a hub that has one has made its token, too
        token = (self._state / "web-token").read_text(encoding="ascii").strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(address + path, data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            found: bytes = response.read()
        return found

    def _log_in(self) -> None:
        """Once: a cookie belongs to one hub's address."""
        if not list(self._cookies):
            code = json.loads(self._token("/api/login-codes", b""))["code"]
            self._post("/login", _form({"code": code}))

    def _post(self, path: str, body: bytes, **headers: str) -> int:
        address = self._address()
        request = urllib.request.Request(
            address + path, data=body, headers={"Origin": address, **headers}
        )
        try:
            with self._opener.open(request, timeout=PATIENCE) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    def _address(self) -> str:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            info = lock_file.find_holder(str(self._state))
            if info is not None and info.web:
                return info.web
            time.sleep(0.02)
        raise AssertionError("no inbox came up")


def _form(fields: dict[str, object]) -> bytes:
    return urllib.parse.urlencode(fields).encode()
