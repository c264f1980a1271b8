"""A QR code for a terminal: two modules in one character, with the margin that cameras need."""

from __future__ import annotations

import os

MARGIN = 2
LIGHT_AND_DARK = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}
WHITE_ON_BLACK, PLAIN = "\x1b[97;40m", "\x1b[0m"


def qr_lines(text: str, *, inverted: bool = False) -> list[str]:
    """As rows of characters of one width. Light modules are drawn, for a dark terminal; `inverted`
    draws the dark ones."""
    import segno

    code = segno.make(text, error="l", micro=False, boost_error=False)
    light = [
        [bool(module) == inverted for module in row] for row in code.matrix_iter(border=MARGIN)
    ]
    if len(light) % 2:
        light.append([not inverted] * len(light[0]))
    return [
        "".join(LIGHT_AND_DARK[pair] for pair in zip(upper, lower, strict=True))
        for upper, lower in zip(light[::2], light[1::2], strict=True)
    ]


def coloured(line: str) -> str:
    """So that it is right on a light terminal, too."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return line
    return f"{WHITE_ON_BLACK}{line}{PLAIN}"
