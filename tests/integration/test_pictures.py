"""Previews, made by real worker processes of real pictures, and of what only looks like one."""

from __future__ import annotations

import asyncio
import io
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop
from PIL import Image, PngImagePlugin

from chatbridge.attachments import pictures
from chatbridge.attachments.files import AttachmentFiles
from chatbridge.attachments.pictures import MAX_BYTES, MAX_SIDE, RETRY_AFTER_SECONDS
from chatbridge.attachments.settings import AttachmentLimits
from chatbridge.core.model import Attachment, AttachmentKind
from chatbridge.core.ports import Preview
from tests.contract.asks import an_ask
from tests.fakes.clock import StillClock
from tests.fakes.operating import until
from tests.fakes.sample_files import GIF, png

pytestmark = pytest.mark.process

ORIENTATION, GPS = 0x0112, 0x8825
ROTATED = 6  # The camera was held upright: the picture's top is on the right
LIMITS = AttachmentLimits()
SECRET = b"taken at home"


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def files(tmp_path: Path, clock: StillClock) -> AsyncIterator[AttachmentFiles]:
    opened = AttachmentFiles(tmp_path, LIMITS, clock)
    yield opened
    await opened.close()
    assert workers() == []


def workers() -> list[int]:
    """The processes that decode pictures for this one."""
    found = []
    for proc in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just gone
            parent = (proc / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid() and b"picture_worker" in (proc / "cmdline").read_bytes():
                found.append(int(proc.name))
    return found


def saved(image: Image.Image, format: str, **how: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **how)
    return file.getvalue()


def noise(width: int, height: int) -> Image.Image:
    grey = random.Random(1).randbytes(width * height)
    return Image.frombytes("L", (width, height), grey).convert("RGB")


async def added(files: AttachmentFiles, content: bytes) -> Attachment:
    return await files.add(io.BytesIO(content), name="a")


async def shown(files: AttachmentFiles, content: bytes) -> Image.Image:
    """The preview, as whoever gets it decodes it."""
    preview = await files.preview(await added(files, content))
    assert preview is not None
    return opened(preview)


def opened(preview: Preview) -> Image.Image:
    content = Path(preview.path).read_bytes()
    image = Image.open(io.BytesIO(content))
    image.load()
    assert preview.size == len(content) <= MAX_BYTES
    assert preview.type == f"image/{str(image.format).lower()}"
    assert (preview.width, preview.height) == image.size
    assert max(image.size) <= MAX_SIDE
    return image


# ── what a preview is ─────────────────────────────────────────────────────────────────────────────


async def test_a_photo_is_shrunk_turned_upright_and_says_nothing_of_where_it_was_taken(
    files: AttachmentFiles,
) -> None:
    photo = Image.new("RGB", (3000, 2000), "blue")
    photo.paste("red", (0, 0, 3000, 500))  # at the top, so on the right once it is turned
    exif = Image.Exif()
    exif[ORIENTATION] = ROTATED
    exif.get_ifd(GPS)[2] = (52.0, 31.0, 12.0)
    exif[0x010E] = SECRET.decode()
    content = saved(photo, "JPEG", exif=exif, comment=SECRET, quality=90)
    assert SECRET in content
    image = await shown(files, content)
    assert image.size == (1045, 1568)
    red, _, blue = image.getpixel((1000, 800))  # type: ignore[misc]
    assert red > 200 > 50 > blue
    assert not image.getexif()
    assert set(image.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}


async def test_texts_and_profiles_in_a_drawing_do_not_go_along_and_what_is_clear_stays_clear(
    files: AttachmentFiles,
) -> None:
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Author", SECRET.decode())
    drawing = Image.new("RGBA", (200, 100), (0, 0, 0, 0))
    content = saved(drawing, "PNG", pnginfo=texts, icc_profile=SECRET * 9, dpi=(300, 300))
    image = await shown(files, content)
    assert (image.format, image.mode, image.size) == ("PNG", "RGBA", (200, 100))
    assert image.getpixel((5, 5)) == (0, 0, 0, 0)
    assert image.info == {}


@pytest.mark.parametrize(
    ("format", "how"),
    [("PNG", {"compress_level": 1}), ("JPEG", {}), ("WEBP", {"method": 0}), ("GIF", {})],
)
async def test_a_large_noisy_picture_of_each_format_fits(
    files: AttachmentFiles, format: str, how: dict[str, int]
) -> None:
    assert (await shown(files, saved(noise(1600, 1200), format, **how))).size == (1568, 1176)


async def test_a_drawing_that_is_too_much_once_it_is_smaller_fits_too(
    files: AttachmentFiles,
) -> None:
    dots = random.Random(1).randbytes(1700 * 480 * 3)
    few_colours = Image.frombytes("RGB", (1700, 480), dots).point(lambda value: value & 0xC0)
    content = saved(few_colours, "PNG")
    assert len(content) < MAX_BYTES
    assert (await shown(files, content)).format == "JPEG"


async def test_a_drawing_stays_sharp(files: AttachmentFiles) -> None:
    drawing = Image.new("RGB", (800, 600), "white")
    drawing.paste("black", (100, 100, 101, 500))
    image = await shown(files, saved(drawing, "PNG"))
    assert image.format == "PNG"
    assert image.getpixel((100, 300)) == (0, 0, 0)


async def test_an_animation_is_shown_by_its_first_frame(files: AttachmentFiles) -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "green", "blue")]
    image = await shown(files, saved(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    assert image.convert("RGB").getpixel((5, 5)) == (255, 0, 0)
    assert getattr(image, "n_frames", 1) == 1


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "I;16", "RGBA"])
async def test_every_way_to_store_pixels_can_be_shown(files: AttachmentFiles, mode: str) -> None:
    assert (await shown(files, saved(Image.new(mode, (30, 20)), "PNG"))).size == (30, 20)


async def test_sixteen_bits_of_grey_are_no_white_sheet(files: AttachmentFiles) -> None:
    image = await shown(files, saved(Image.new("I;16", (30, 20), 30_000), "PNG"))
    assert image.convert("L").getpixel((5, 5)) == 30_000 // 256


async def test_the_metadata_of_other_formats_turn_a_picture_and_broken_ones_cost_nothing(
    files: AttachmentFiles,
) -> None:
    exif, picture = Image.Exif(), Image.new("RGB", (40, 30), "red")
    exif[ORIENTATION] = ROTATED
    for other in ("WEBP", "PNG"):
        assert (await shown(files, saved(picture, other, exif=exif))).size == (30, 40)
    broken = saved(picture, "JPEG", exif=b"Exif\0\0" + b"\xff" * 50)
    assert (await shown(files, broken)).size == (40, 30)


async def test_a_phones_photo_of_several_pictures_is_shown_by_its_first(
    files: AttachmentFiles,
) -> None:
    pair = [Image.new("RGB", (40, 30), colour) for colour in ("red", "blue")]
    image = await shown(files, saved(pair[0], "MPO", save_all=True, append_images=pair[1:]))
    red, _, blue = image.getpixel((5, 5))  # type: ignore[misc]
    assert red > 200 > 50 > blue


async def test_what_hides_behind_a_picture_does_not_go_along(
    files: AttachmentFiles, tmp_path: Path
) -> None:
    for content in (GIF + b"PK\x03\x04" + SECRET, saved(noise(9, 9), "JPEG") + SECRET):
        found = await added(files, content)
        assert await files.preview(found) is not None
        assert SECRET not in (tmp_path / "attachments" / f"{found.digest}.preview").read_bytes()


async def test_a_persons_picture_has_a_preview_beside_it(
    files: AttachmentFiles, tmp_path: Path
) -> None:
    async def photo() -> AsyncIterator[bytes]:
        yield saved(noise(90, 60), "JPEG")

    ask = an_ask()
    found = await files.receive(photo(), name="a.jpg", to=ask)
    preview = await files.preview(found)
    assert preview is not None
    path = tmp_path / "received" / ask.id / os.path.basename(preview.path)
    assert preview.path == str(path)
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_preview_is_made_once_and_a_later_hub_finds_it(
    files: AttachmentFiles, tmp_path: Path, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = await added(files, saved(noise(50, 40), "PNG"))
    first = await files.preview(picture)
    monkeypatch.setattr(pictures, "WORKER", ("/bin/false",))
    assert first is not None
    assert await files.preview(picture) == first
    assert await AttachmentFiles(tmp_path, LIMITS, clock).preview(picture) == first


async def test_a_preview_that_comes_before_anything_else_is_counted_once(
    files: AttachmentFiles, tmp_path: Path, clock: StillClock
) -> None:
    picture = await added(files, saved(noise(60, 40), "PNG"))
    quota = picture.size * 3
    again = AttachmentFiles(tmp_path, AttachmentLimits(largest=quota, quota=quota), clock)
    preview = await again.preview(picture)
    assert preview is not None
    await added(again, b"x" * (quota - picture.size - preview.size))
    await again.close()


# ── what has none ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "content",
    [
        png(60_000, 60_000, b"\0"),
        png(50_001, 1_000),
        GIF[:6] + (10_000).to_bytes(2, "little") * 2 + GIF[10:],
        saved(noise(400, 300), "PNG")[:20_000],
        saved(noise(400, 300), "JPEG")[:9_000],
        png(30, 20)[:40] + b"<script>" * 90,
        GIF[:10] + b"/*" + b"x" * 90,
    ],
    ids=["bomb", "too many pixels", "10,000-pixel GIF", "cut PNG", "cut JPEG", "no data", "script"],
)
async def test_a_picture_that_is_too_much_or_none_travels_as_a_file_and_the_log_says_why(
    files: AttachmentFiles, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    found = await added(files, content)
    assert found.kind is AttachmentKind.PICTURE
    assert await files.preview(found) is None
    assert f"no preview of {found.digest}" in caplog.text
    assert files.path(found) is not None
    assert await files.preview(await added(files, saved(noise(9, 9), "PNG"))) is not None


async def test_what_is_no_picture_starts_no_process(files: AttachmentFiles) -> None:
    assert await files.preview(await added(files, b"<svg/>")) is None
    assert await files.preview(await added(files, b"%PDF-1.7")) is None
    assert workers() == []


async def test_a_swept_picture_has_none(files: AttachmentFiles) -> None:
    found = await added(files, saved(noise(9, 9), "PNG"))
    os.unlink(files.path(found) or "")
    assert await files.preview(found) is None


async def test_without_pillow_there_is_none_and_nothing_is_started(
    files: AttachmentFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await added(files, saved(noise(9, 9), "PNG"))
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert await files.preview(found) is None
    assert workers() == []
    monkeypatch.undo()
    assert await files.preview(found) is not None


# ── the worker ────────────────────────────────────────────────────────────────────────────────────


async def test_the_worker_has_limits_and_no_secrets(
    files: AttachmentFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATBRIDGE_TELEGRAM__TOKEN", "1:secret")
    await shown(files, saved(noise(9, 9), "PNG"))
    (pid,) = workers()
    proc = Path(f"/proc/{pid}")
    limits = {line[:26].strip(): line[26:].split() for line in _lines(proc / "limits")}
    assert limits["Max address space"][:2] == ["1073741824", "1073741824"]
    assert limits["Max file size"][:2] == ["8000000", "8000000"]
    assert limits["Max core file size"][:2] == ["0", "0"]
    assert 10 <= int(limits["Max cpu time"][0]) <= 20
    assert b"secret" not in (proc / "environ").read_bytes()


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()[1:]


async def test_a_worker_that_is_killed_is_replaced(files: AttachmentFiles) -> None:
    await shown(files, saved(noise(9, 9), "PNG"))
    (first,) = workers()
    os.kill(first, signal.SIGSTOP)
    found = await added(files, saved(noise(8, 8), "PNG"))
    task = asyncio.ensure_future(files.preview(found))
    os.kill(first, signal.SIGKILL)
    assert await asyncio.wait_for(task, 20) is not None
    assert workers() != [first]


async def test_a_worker_that_does_not_answer_in_time_is_ended(
    tmp_path: Path,
    clock: StillClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = tmp_path / "a"
    path.write_bytes(saved(noise(9, 9), "PNG"))
    monkeypatch.setattr(pictures, "WORKER", (*SILENT, "picture_worker"))
    made = pictures.Pictures(clock=clock, timeout=0.05)
    assert await made.preview(str(path), made=lambda size: None) is None
    assert "not decoded within 0.05 s" in caplog.text
    assert workers() == []


SILENT = (sys.executable, "-c", "import sys; sys.stdin.read()")
CRASHES = (sys.executable, "-c", "import os; os.abort()")
TALKS = (sys.executable, "-c", "print('x' * 100_000); input()")


@pytest.mark.parametrize("worker", [CRASHES, TALKS, ("/nowhere/python",)])
async def test_a_worker_that_fails_costs_the_preview_and_nothing_else(
    files: AttachmentFiles,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    worker: tuple[str, ...],
) -> None:
    monkeypatch.setattr(pictures, "WORKER", worker)
    assert await files.preview(await added(files, saved(noise(9, 9), "PNG"))) is None
    assert "no preview of" in caplog.text


COUNTS = """
import sys
for line in sys.stdin:
    open(sys.argv[1], "a").write("x")
    print('{"problem": "not today"}', flush=True)
"""


async def test_many_who_want_the_same_preview_share_one_run_and_a_failure_is_remembered(
    files: AttachmentFiles, tmp_path: Path, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    monkeypatch.setattr(pictures, "WORKER", (sys.executable, "-c", COUNTS, str(runs)))
    found = await added(files, saved(noise(9, 9), "PNG"))
    assert await asyncio.gather(*(files.preview(found) for _ in range(5))) == [None] * 5
    assert await files.preview(found) is None
    assert runs.read_text() == "x"
    clock.advance(RETRY_AFTER_SECONDS + 1)
    assert await files.preview(found) is None
    assert runs.read_text() == "xx"


async def test_one_who_no_longer_waits_does_not_stop_the_others(files: AttachmentFiles) -> None:
    found = await added(files, saved(noise(900, 900), "PNG"))
    gone, stays = (asyncio.ensure_future(files.preview(found)) for _ in range(2))
    await until(workers)
    gone.cancel()
    assert await asyncio.wait_for(stays, 20) is not None


def test_the_hubs_own_event_loop_can_have_a_worker(tmp_path: Path, clock: StillClock) -> None:
    async def twice() -> None:
        files = AttachmentFiles(tmp_path, LIMITS, clock)
        try:
            for size in (9, 8):
                await shown(files, saved(noise(size, size), "PNG"))
        finally:
            await files.close()

    uvloop.run(twice())
    assert workers() == []


def test_a_worker_without_orders_ends_by_itself() -> None:
    words = "from chatbridge.attachments import picture_worker as it; it.IDLE_SECONDS = 0.01; "
    with subprocess.Popen(
        [sys.executable, "-c", words + "it.main()"], stdin=subprocess.PIPE
    ) as process:
        assert process.wait(timeout=20) == 0


def test_a_worker_whose_hub_is_gone_ends() -> None:
    done = subprocess.run([*pictures.WORKER], input=b"", timeout=20)
    assert done.returncode == 0
