"""Transcription by a program that writes the text to its standard output."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from chatbridge.core.errors import TranscriptionFailed
from chatbridge.core.text import one_line, shortened
from chatbridge.voice.settings import FILE

log = logging.getLogger(__name__)

MAX_OUTPUT = 100_000  # Bytes of standard output, and of standard error
END_SECONDS = 5.0
MISSING = "The transcription program cannot be started. Check voice.command."
TOO_SLOW = "The transcription took too long."
TOO_MUCH = "The transcription program wrote something other than text."


class Command:
    def __init__(self, command: Sequence[str], *, timeout: float) -> None:
        """Without `{file}` in it, the recording comes last."""
        self._command = command if any(FILE in word for word in command) else (*command, FILE)
        self._timeout = timeout

    async def transcribe(self, path: str, *, type: str, name: str) -> str:
        """:raises TranscriptionFailed:"""
        words = [word.replace(FILE, path) for word in self._command]
        # Secrets of the hub are nobody else's.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("CHATBRIDGE_")}
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                env=environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            log.warning("voice: %s: %s", words[0], error)
            raise TranscriptionFailed(MISSING) from None
        try:
            async with asyncio.timeout(self._timeout):
                assert process.stdout is not None
                assert process.stderr is not None
                text, complaint = await asyncio.gather(
                    _bounded(process.stdout), _bounded(process.stderr)
                )
                status = await process.wait()
        except TimeoutError:
            raise TranscriptionFailed(TOO_SLOW) from None
        finally:
            await _end(process)
        if status:
            said = shortened(one_line(complaint.decode(errors="replace")[-400:]), 200)
            log.warning("voice: %s ended with %d: %s", words[0], status, said)
            raise TranscriptionFailed(
                f"The transcription program failed (exit {status}). See the hub's log."
            )
        if len(text) > MAX_OUTPUT:
            raise TranscriptionFailed(TOO_MUCH)
        return text.decode(errors="replace")


async def _bounded(stream: asyncio.StreamReader) -> bytes:
    """Read to the end, and return the beginning."""
    found = b""
    while part := await stream.read(65_536):
        found += part[: MAX_OUTPUT + 1 - len(found)]
    return found


async def _end(process: Process) -> None:
    """Also what it has started itself."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    # Its end is seen only once all of its output is read. What has left its group may hold that.
    try:
        async with asyncio.timeout(END_SECONDS):
            await process.communicate()
    except TimeoutError:
        held: Any = process
        held._transport.close()  # asyncio has no other way to let go of its output
        await process.wait()
