"""The process that decodes pictures: one line with an order, one line with the answer.

Whoever sent a picture chose its bytes, so that decoders run here, with little time and memory, and
a crash costs one preview. Run as a file. Imports nothing of ours, and Pillow only here.
"""

from __future__ import annotations

import io
import json
import os
import resource
import select
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image

IDLE_SECONDS = 60.0
CPU_SECONDS = 10
MEMORY_BYTES = 1024**3
"""Of addresses. A picture of 50 million pixels takes 200 MB, and as much again while it changes."""
LARGEST_FILE = 8_000_000
DESCRIPTORS = 64
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
LOSSLESS = ("PNG", "GIF")
QUALITIES = (85, 70, 50)


class Refused(Exception):
    """Why there is no preview of a picture."""


def main() -> None:
    """Answer orders until there is none for a minute, or nobody is there to give one."""
    limit(resource.RLIMIT_AS, MEMORY_BYTES)
    limit(resource.RLIMIT_FSIZE, LARGEST_FILE)
    limit(resource.RLIMIT_NOFILE, DESCRIPTORS)
    limit(resource.RLIMIT_CORE, 0)
    orders = sys.stdin.buffer
    while select.select([orders], [], [], IDLE_SECONDS)[0] and (line := orders.readline()):
        limit(resource.RLIMIT_CPU, int(time.process_time()) + CPU_SECONDS, for_good=False)
        try:  # decoders raise what they like
            make_preview(**json.loads(line))
            problem = None
        except Exception as error:  # noqa: BLE001
            problem = f"{type(error).__name__}: {error}"[:200]
        sys.stdout.write(json.dumps({"problem": problem}) + "\n")
        sys.stdout.flush()


def limit(what: int, value: int, *, for_good: bool = True) -> None:
    """Not for good, if the next order may move it."""
    hard = resource.getrlimit(what)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:
        resource.setrlimit(what, (value, value if for_good else hard))
    except (OSError, ValueError):
        pass  # a system that has no such limit; the hub's time-out remains


def make_preview(*, source: str, target: str, side: int, pixels: int, most: int) -> None:
    """Write a picture without metadata: at most `side` pixels wide and high, and `most` bytes."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # checked below, as an error and not as a warning
    with Image.open(source, formats=FORMATS) as opened:
        width, height = opened.size
        if width * height > pixels:
            raise Refused(f"it has {width * height:,} pixels")
        image = shrink(opened, side)
        drawn = opened.format in LOSSLESS or image.mode == "RGBA"
        # What is dense as it came is denser when it is smaller: no time is spent on trying.
        expected = os.path.getsize(source) * image.width * image.height / (width * height)
        content = encode(image, most=most, lossless=drawn and expected <= most)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(target, flags, 0o600), "wb") as file:
        file.write(content)


def shrink(opened: Image.Image, side: int) -> Image.Image:
    """The first frame, upright, with nothing but its pixels."""
    from PIL import Image, ImageOps

    opened.draft("RGB", (side, side))  # a JPEG can be decoded at an eighth of its size
    has_alpha = opened.has_transparency_data
    if opened.mode.startswith("I"):  # 16 bits of grey, which `convert` would cut off
        opened = opened.convert("I").point(lambda grey: grey * (1 / 256)).convert("L")
    image = opened.convert("RGBA" if has_alpha else "RGB")
    image.thumbnail((side, side), Image.Resampling.LANCZOS, reducing_gap=2.0)
    try:
        image = ImageOps.exif_transpose(image)
    except Exception:  # noqa: BLE001, S110
        pass  # what is wrong with the metadata costs no preview
    clean = Image.new(image.mode, image.size)
    clean.paste(image)
    return clean


def encode(image: Image.Image, *, most: int, lossless: bool) -> bytes:
    """What is drawn stays sharp, if there is room for that."""
    from PIL import Image

    if lossless:
        content = _saved(image, format="PNG", compress_level=3)
        if len(content) <= most:
            return content
    if image.mode == "RGBA":
        white = Image.new("RGB", image.size, "white")
        white.paste(image, mask=image.getchannel("A"))
        image = white
    while True:
        for quality in QUALITIES:
            content = _saved(image, format="JPEG", quality=quality)
            if len(content) <= most:
                return content
        image.thumbnail((max(1, image.width // 2), max(1, image.height // 2)))


def _saved(image: Image.Image, **how: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, **how)
    return file.getvalue()


if __name__ == "__main__":
    main()
