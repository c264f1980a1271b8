"""A recording becomes a text: by an endpoint or a program, and what the person reads if not."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from pydantic import SecretStr

from chatbridge.core.errors import TranscriptionFailed
from chatbridge.voice import command as commands
from chatbridge.voice import endpoint as endpoints
from chatbridge.voice.command import Command
from chatbridge.voice.endpoint import Endpoint
from chatbridge.voice.settings import Voice

RECORDING = b"OggS" + bytes(range(256)) * 40


@pytest.fixture
def recording(tmp_path: Path) -> str:
    path = tmp_path / "voice.ogg"
    path.write_bytes(RECORDING)
    return str(path)


async def said_by(transcriber: Endpoint | Command, recording: str) -> str:
    return await transcriber.transcribe(recording, type="audio/ogg", name="voice.ogg")


# ── an endpoint ───────────────────────────────────────────────────────────────────────────────────


class Server:
    """Answers each request with the same bytes, or never."""

    def __init__(self, answer: bytes | None) -> None:
        self.answer = answer
        self.request = b""
        self.url = ""
        self.serving: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.serving.add(asyncio.ensure_future(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.request = await reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", self.request, re.IGNORECASE)
        assert found
        self.request += await reader.readexactly(int(found[1]))
        if self.answer is None:
            await reader.read()  # until the other side gives up
        else:
            writer.write(self.answer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@asynccontextmanager
async def server(answer: bytes | None) -> AsyncIterator[Server]:
    found = Server(answer)
    listening = await asyncio.start_server(found.accept, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        found.url = f"http://127.0.0.1:{port}/v1/audio/transcriptions"
        yield found
        await asyncio.gather(*found.serving)


def response(status: str, body: bytes) -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


async def test_an_endpoint_gets_recording_model_language_and_key_and_its_text_is_used(
    recording: str,
) -> None:
    async with server(response("200 OK", b'{"text": " Take PostgreSQL. "}')) as there:
        table = Voice(url=there.url, model="base", key=SecretStr("sk-hunter2"), language="en")
        assert await said_by(Endpoint(table), recording) == " Take PostgreSQL. "
    for part in (
        b"POST /v1/audio/transcriptions ",
        b"Authorization: Bearer sk-hunter2\r\n",
        b'name="model"\r\n\r\nbase\r\n',
        b'name="language"\r\n\r\nen\r\n',
        b'name="file"; filename="voice.ogg"\r\nContent-Type: audio/ogg\r\n\r\n' + RECORDING,
    ):
        assert part in there.request


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (response("401 Unauthorized", b"{}"), endpoints.REFUSED_KEY),
        (response("500 Internal Server Error", b"boom"), "an error (500)"),
        (response("302 Found", b""), "an error (302)"),
        (response("200 OK", b"<html>"), endpoints.NO_TEXT),
        (response("200 OK", b'["text"]'), endpoints.NO_TEXT),
        (response("200 OK", b'{"text": 7}'), endpoints.NO_TEXT),
        (response("200 OK", b"x" * (endpoints.MAX_RESPONSE + 1)), endpoints.NO_TEXT),
        (b"nonsense\r\n\r\n", endpoints.UNREACHABLE),
        (b"", endpoints.UNREACHABLE),
    ],
)
async def test_an_endpoint_that_gives_no_text_is_a_sentence_for_the_person(
    recording: str, answer: bytes, why: str
) -> None:
    async with server(answer) as there:
        with pytest.raises(TranscriptionFailed) as failed:
            await said_by(Endpoint(Voice(url=there.url)), recording)
    assert why in str(failed.value)


async def test_an_endpoint_that_never_answers_is_given_up(recording: str) -> None:
    async with server(None) as there:
        table = Voice(url=there.url, timeout=1.0)
        with pytest.raises(TranscriptionFailed, match="took too long"):
            await said_by(Endpoint(table), recording)


async def test_an_endpoint_that_is_not_there_is_said_and_its_key_is_in_no_log(
    recording: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with server(b"") as there:
        url = there.url
    with pytest.raises(TranscriptionFailed, match="cannot be reached"):
        await said_by(Endpoint(Voice(url=url, key=SecretStr("sk-hunter2"))), recording)
    assert "sk-hunter2" not in caplog.text


# ── a program ─────────────────────────────────────────────────────────────────────────────────────


def program(code: str, *more: str, timeout: float = 20.0) -> Command:
    return Command((sys.executable, "-c", code, *more), timeout=timeout)


async def test_what_a_program_prints_is_the_text_and_it_gets_the_recording(recording: str) -> None:
    code = "import sys; print(len(open(sys.argv[1], 'rb').read()), sys.argv[2:])"
    assert await said_by(program(code), recording) == f"{len(RECORDING)} []\n"
    named = program(code, "{file}", "--quiet")
    assert await said_by(named, recording) == f"{len(RECORDING)} ['--quiet']\n"


async def test_a_program_gets_none_of_the_hubs_secrets(
    recording: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__TOKEN", "hunter2")
    monkeypatch.setenv("WHISPER_MODEL", "base")
    code = "import os; print(sorted(k for k in os.environ if k[:4] in ('CHAT', 'WHIS')))"
    assert await said_by(program(code), recording) == "['WHISPER_MODEL']\n"


@pytest.mark.parametrize(
    ("transcriber", "why"),
    [
        (Command(("/nonexistent/whisper",), timeout=9.0), commands.MISSING),
        (program("raise SystemExit(3)"), "failed (exit 3)"),
        (program("print('x' * 1_000_000)"), commands.TOO_MUCH),
        (program("import time; time.sleep(600)", timeout=0.2), commands.TOO_SLOW),
    ],
)
async def test_a_program_that_gives_no_text_is_a_sentence_for_the_person(
    recording: str, transcriber: Command, why: str
) -> None:
    with pytest.raises(TranscriptionFailed) as failed:
        await said_by(transcriber, recording)
    assert why in str(failed.value)


async def test_a_program_leaves_no_process_behind(recording: str, tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    reading = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    code = (
        f"import subprocess; out = open({str(held)!r}, 'w');"
        "subprocess.Popen(['sleep', '600'], stdout=out, stderr=out); print('done')"
    )
    assert await said_by(program(code), recording) == "done\n"
    # Only once nobody has the other end open, there is an end to read.
    assert await asyncio.wait_for(asyncio.to_thread(_read_to_end, reading), 30.0) == b""


async def test_what_a_program_leaves_running_on_its_own_holds_nobody_up(
    recording: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "END_SECONDS", 0.1)
    left = tmp_path / "left"
    code = (
        "import subprocess; it = subprocess.Popen(['sleep', '600'], start_new_session=True);"
        f"open({str(left)!r}, 'w').write(str(it.pid))"
    )
    try:
        async with asyncio.timeout(30):
            with pytest.raises(TranscriptionFailed, match="too long"):
                await said_by(program(code, timeout=3.0), recording)
    finally:
        os.kill(int(left.read_text()), signal.SIGKILL)


def _read_to_end(fd: int) -> bytes:
    os.set_blocking(fd, True)
    with open(fd, "rb") as end:
        return end.read()
