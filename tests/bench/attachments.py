"""Questions with pictures and files: when they are on the page, what they weigh in the hub, and
whether anybody else has to wait meanwhile."""

from __future__ import annotations

import asyncio
import io
import json
import os
import time
from pathlib import Path

from PIL import Image

from tests.bench.latency import WARM, round_trips
from tests.bench.machine import Client, Json, machine, peak, percentiles, reset_peak
from tests.bench.person import Person, person

PICTURE = (830, 830)  # Noise: 2 MB as PNG
HEAVY = (4_000, 4_000)
SMALL, LARGE = 1_000, 19_000_000  # Bytes
RISES = 5
"""Files of each size, one after another."""


async def attachments(rounds: int, beside: int) -> Json:
    async with machine() as here:
        project = here.state.parent / "project"
        project.mkdir()
        (project / ".chatbridge.toml").touch()
        async with here.link(folder=project) as link:
            await link.list_tools()
            async with person(here) as somebody:
                await round_trips(link, somebody, WARM)
                plain, _ = await round_trips(link, somebody, rounds)
                shown = await _with_pictures(link, somebody, project, rounds)
                rises = {
                    size: await _rise(link, somebody, project, size, here.hub())
                    for size in (SMALL, LARGE)
                }
                decoding = await _while_decoding(link, somebody, project, beside)
    return {
        "plain_ms": percentiles(plain),
        "picture_mb": round(len(_noise(PICTURE)) / 1e6, 2),
        "card_ms": percentiles([card for card, _ in shown]),
        "preview_ms": percentiles([preview for _, preview in shown]),
        "small_file_mb": rises[SMALL],
        "large_file_mb": rises[LARGE],
        **decoding,
    }


async def _with_pictures(
    link: Client, somebody: Person, project: Path, rounds: int
) -> list[tuple[float, float]]:
    """Seconds until the card was on the page, and until its picture was."""
    picture, times = _noise(PICTURE), []
    async with somebody.browser() as page:
        for number in range(rounds):
            path = project / f"{number}.png"
            path.write_bytes(picture + os.urandom(8))  # each is another file
            began = time.perf_counter()
            _ask(link, number, path)
            ask_id, seen = await somebody.sees()
            digest = await _digest(somebody, ask_id)
            await page.get(f"/asks/{ask_id}/files/{digest}/preview")
            times.append((seen - began, time.perf_counter() - began))
            await _answer(link, somebody, ask_id)
    return times


async def _rise(link: Client, somebody: Person, project: Path, size: int, hub: int) -> float:
    """By how many megabytes the hub grows at most while files of this size go through it."""
    reset_peak(hub)
    before = peak(hub)
    async with somebody.browser() as page:
        for number in range(RISES):
            path = project / f"{size}-{number}.bin"
            path.write_bytes(os.urandom(size))
            _ask(link, number, path)
            ask_id, _ = await somebody.sees()
            await page.get(f"/asks/{ask_id}/files/{await _digest(somebody, ask_id)}")
            await _answer(link, somebody, ask_id)
    return round(peak(hub) - before, 1)


async def _while_decoding(link: Client, somebody: Person, project: Path, rounds: int) -> Json:
    """Round trips of others, while one picture after another is decoded."""
    quiet, _ = await round_trips(link, somebody, rounds)
    path = project / "heavy.png"
    path.write_bytes(_noise(HEAVY, bits=1))
    _ask(link, 1, path)
    ask_id, _ = await somebody.sees()
    digest = await _digest(somebody, ask_id)
    async with somebody.browser() as page:
        began = time.perf_counter()
        decoding = asyncio.ensure_future(page.get(f"/asks/{ask_id}/files/{digest}/preview"))
        busy: list[float] = []
        while not decoding.done():
            asked = time.perf_counter()
            await _digest(somebody, ask_id)
            busy.append(time.perf_counter() - asked)
        await decoding
        took = time.perf_counter() - began
    await _answer(link, somebody, ask_id)
    return {
        "decoding_s": round(took, 2),
        "beside_ms": percentiles(quiet),
        "slowest_request_ms": round(max(busy) * 1000, 1),
    }


def _ask(link: Client, number: int, path: Path) -> None:
    question = {"id": "q", "question": f"Is number {number} right?", "type": "confirm"}
    arguments = {"questions": [question], "attachments": [{"path": path.name}]}
    link.request(number + 10, "tools/call", {"name": "ask_user", "arguments": arguments})


async def _answer(link: Client, somebody: Person, ask_id: str) -> None:
    answering = asyncio.ensure_future(somebody.answer_all([ask_id]))
    result = await link.receive()
    assert result["result"]["structuredContent"]["answered"], result
    await answering


async def _digest(somebody: Person, ask_id: str) -> str:
    async with somebody.connection() as script:
        ask = json.loads(await script.get(f"/api/asks/{ask_id}"))
    digest: str = ask["attachments"][0]["digest"]
    return digest


def _noise(size: tuple[int, int], *, bits: int = 8) -> bytes:
    """`bits`: of each color, by which it is large or small as a file."""
    width, height = size
    picture = Image.frombytes("RGB", size, os.urandom(3 * width * height))
    picture = picture.point([value >> 8 - bits for value in range(256)] * 3)
    content = io.BytesIO()
    picture.save(content, "PNG", compress_level=1)
    return content.getvalue()
