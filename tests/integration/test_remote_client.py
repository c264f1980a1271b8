"""What `--hub` does with addresses that it should not trust, and with connections that break: real
sockets, and servers that say what a test wants."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.__main__ import main
from chatbridge.cli.hub import remote_client
from chatbridge.cli.hub.remote_client import HubAddress, RemoteToolClient, parse_address
from chatbridge.cli.hub.tool_client import NoAnswer
from chatbridge.cli.ui.running import WrongUsage
from tests.fakes.impostor import impostor, self_signed

TOKEN = "cb_0123456789abcdef"
TICKET = {"pending": True, "askId": "a1"}
Json = dict[str, Any]


class Scripted:
    """A server that gives these responses, one after the other, and notes what it was asked."""

    def __init__(self, *responses: tuple[int, Json, str]) -> None:
        self.calls: list[Json] = []
        self.tokens: list[str | None] = []
        left, told = list(responses), self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                told.calls.append(json.loads(body)["params"])
                told.tokens.append(self.headers["Authorization"])
                status, headers, text = left.pop(0)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = False  # they end before the server is closed

    @property
    def port(self) -> int:
        return self.server.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def scripted(*responses: tuple[int, Json, str]) -> Iterator[Scripted]:
    made = Scripted(*responses)
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        thread.join()
        made.server.server_close()


def result(content: Json) -> str:
    block = {"type": "text", "text": json.dumps(content)}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": [block]}})


AS_JSON, AS_EVENTS = {"Content-Type": "application/json"}, {"Content-Type": "text/event-stream"}
CUT = (200, AS_EVENTS, ": ping\r\n\r\n")
"""A stream that ends before its result."""


class Clock:
    """In which only pauses take time."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATBRIDGE_TOKEN", TOKEN)
    monkeypatch.setattr(remote_client, "time", Clock())


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """`ask` runs in this process here, and takes Ctrl-C for itself."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, action in before.items():
        signal.signal(number, action)


def calls_to(server: Scripted) -> RemoteToolClient:
    return RemoteToolClient(parse_address(server.url), TOKEN, "chatbridge-cli")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://hub.example.org", HubAddress("hub.example.org", None, "/mcp", True)),
        ("https://hub.example.org/", HubAddress("hub.example.org", None, "/mcp", True)),
        ("https://hub.example.org:8443/a/mcp", HubAddress("hub.example.org", 8443, "/a/mcp", True)),
        ("http://localhost:8788/mcp", HubAddress("localhost", 8788, "/mcp", False)),
        ("http://127.3.2.1", HubAddress("127.3.2.1", None, "/mcp", False)),
        ("http://[::1]:8788", HubAddress("::1", 8788, "/mcp", False)),
    ],
)
def test_a_token_goes_to_an_encrypted_address_or_stays_here(url: str, address: HubAddress) -> None:
    assert parse_address(url) == address


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://hub.example.org/mcp", "HTTP is not encrypted"),
        ("http://localhost.example.org", "HTTP is not encrypted"),
        ("http://100.101.102.103:8788", "HTTP is not encrypted"),
        ("hub.example.org", "give an address"),
        ("ftp://hub.example.org", "give an address"),
        ("https://", "give an address"),
        ("https:// ", "give an address"),
        ("https://hub..example.org", "give an address"),
        (f"https://{'hub' * 22}.example.org", "give an address"),
        ("https://hub.example.org:port", "no address"),
        ("https://me:secret@hub.example.org", "takes an address alone"),
        ("https://me:secret@hub.example.org:port", "takes an address alone"),
        ("https://hub.example.org/mcp?token=secret", "takes an address alone"),
    ],
)
def test_a_token_goes_nowhere_else_and_no_secret_is_repeated(url: str, said: str) -> None:
    with pytest.raises(WrongUsage) as refused:
        parse_address(url)
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)


def test_an_encrypted_network_can_be_vouched_for() -> None:
    assert parse_address("http://100.101.102.103:8788", plain_http=True).port == 8788


@given(st.text())
def test_any_text_is_an_address_or_wrong_usage(text: str) -> None:
    for url in (text, f"https://{text}", f"http://localhost/{text}"):
        try:
            found = parse_address(url)
        except WrongUsage:
            continue
        assert found.encrypted or url.startswith("http://localhost/")
        assert found.path.startswith("/")
        assert all("!" <= character <= "~" for character in found.host + found.path)


def test_a_redirect_is_not_followed_and_the_token_stays_here(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with scripted() as other, scripted((307, {"Location": other.url}, "")) as first:
        assert main(["ask", "--hub", first.url, "Deploy?"]) == 4
    assert other.calls == []
    said = capsys.readouterr()
    assert "redirects to another address" in said.err
    assert TOKEN not in said.err + said.out


async def test_a_certificate_that_nobody_vouches_for_gets_no_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with impostor(self_signed(tmp_path)) as (port, heard):
        words = ["notify", "--hub", f"https://localhost:{port}", "Built"]
        assert await asyncio.to_thread(main, words) == 4
    assert not any(heard)
    assert "is not trusted" in capsys.readouterr().err


def test_where_nobody_listens_it_is_4(capsys: pytest.CaptureFixture[str]) -> None:
    with scripted() as gone:
        pass
    for command in ("ask", "notify"):
        assert main([command, "--hub", gone.url, "Deploy?"]) == 4
        assert "cannot be reached" in capsys.readouterr().err


def test_without_a_token_it_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CHATBRIDGE_TOKEN")
    with pytest.raises(SystemExit) as ended:
        main(["ask", "--hub", "https://hub.example.org", "Deploy?"])
    assert ended.value.code == 2
    assert "CHATBRIDGE_TOKEN" in capsys.readouterr().err


@pytest.mark.parametrize(
    "broken",
    [CUT, (503, {}, ""), (502, AS_JSON, "{}"), (429, {"Retry-After": "5"}, "")],
    ids=["cut", "restarting", "proxy", "busy"],
)
def test_a_question_whose_connection_breaks_is_asked_again_in_the_same_words(
    broken: tuple[int, Json, str],
) -> None:
    answer = {"answered": True, "answers": [{"questionId": "answer", "values": ["Yes"]}]}
    with scripted(broken, (200, AS_JSON, result(TICKET))) as server:
        calls = calls_to(server)
        arguments = {"questions": [{"id": "answer", "question": "Deploy?"}], "wait": False}
        assert calls.content("ask_user", arguments) == TICKET
    assert [it["arguments"] for it in server.calls] == [arguments, arguments]
    assert set(server.tokens) == {f"Bearer {TOKEN}"}
    stream = f"event: message\r\ndata: {result(answer)}\r\n\r\n"
    with scripted(broken, (200, AS_EVENTS, f": ping\r\n\r\n{stream}")) as server:
        calls = calls_to(server)
        assert calls.content("wait_for_answer", {"askId": "a1"}) == answer
    assert {it["arguments"]["askId"] for it in server.calls} == {"a1"}


def test_one_that_always_breaks_off_is_given_up() -> None:
    with scripted(*[CUT] * 50) as server, pytest.raises(NoAnswer, match="cannot be reached"):
        calls_to(server).content("ask_user", {})
    assert 1 <= len(server.calls) < 50


def test_a_notice_that_may_have_arrived_is_not_sent_twice() -> None:
    with scripted(CUT) as server, pytest.raises(NoAnswer, match="may have got it, or not"):
        calls_to(server).content("notify_user", {"message": "Built"}, within=30.0)
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("response", "said"),
    [
        ((200, {"Content-Type": "text/html"}, "<h1>Welcome</h1>"), "no hub"),
        ((404, AS_JSON, "{}"), "no hub answers"),
        ((200, AS_JSON, "[" * 100_000), "cannot be read"),
        ((200, AS_JSON, '{"id": 1, "error": {"message": "no such tool"}}'), "no such tool"),
        ((200, AS_JSON, '{"id": 1, "result": {"content": [5]}}'), "cannot be read"),
        ((200, AS_JSON, '{"id": 1, "result": {"content": [{"text": "{"}]}}'), "cannot be read"),
        ((200, AS_JSON, result({"temperature": 21})), "cannot be read"),
    ],
    ids=["page", "elsewhere", "nested", "refused", "number", "no-json", "other-server"],
)
def test_what_is_no_hub_is_said_to_be_none(response: tuple[int, Json, str], said: str) -> None:
    with scripted(response) as server, pytest.raises(NoAnswer, match=said) as refused:
        calls_to(server).content("ask_user", {})
    assert not refused.value.refused


@pytest.mark.parametrize(
    "said",
    [
        {"answered": True},
        {"answered": False},
        {"answered": True, "answers": []},
        {"answered": True, "answers": [{"values": 5}]},
        {"answered": True, "answers": [{"values": [5]}]},
        {"answered": True, "answers": [{"values": [], "customText": 5}]},
        {"answered": True, "answers": [{"values": [], "attachments": [{"name": "a.png"}]}]},
        {"answered": False, "cancelled": True, "reason": 5},
        {"pending": True, "askId": 5},
        {**TICKET, "note": ["a"]},
        {"sent": 5, "waiting": []},
        {"sent": ["telegram"], "waiting": [5]},
    ],
    ids=json.dumps,
)
def test_an_outcome_that_no_hub_would_say_cannot_be_read(
    said: Json, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["notify"] if "sent" in said else ["ask"]
    with scripted((200, AS_JSON, result(said))) as server:
        assert main([*words, "--hub", server.url, "Deploy?"]) == 4
    assert "cannot be read" in capsys.readouterr().err


def test_a_time_of_too_many_digits_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ask", "--hub", "https://hub.example.org", "--timeout", "9" * 400, "Deploy?"]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "give seconds" in capsys.readouterr().err
