"""QR codes, drawn with half blocks."""

from __future__ import annotations

from chatbridge.cli.ui.running import allows_colours

MARGIN_MODULES = 2
HALF_BLOCKS = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}


def qr_lines(text: str, *, inverted: bool = False) -> list[str]:
    """As rows of characters of one width. Light modules are drawn, for a dark terminal; `inverted`
    draws the dark ones."""
    import segno

    code = segno.make(text, error="l", micro=False, boost_error=False)
    light = [
        [bool(module) == inverted for module in row]
        for row in code.matrix_iter(border=MARGIN_MODULES)
    ]
    if len(light) % 2:
        light.append([not inverted] * len(light[0]))
    return [
        "".join(HALF_BLOCKS[pair] for pair in zip(upper, lower, strict=True))
        for upper, lower in zip(light[::2], light[1::2], strict=True)
    ]


def coloured(line: str) -> str:
    """White on black, so that it is right on a light terminal, too."""
    return f"\x1b[97;40m{line}\x1b[0m" if allows_colours() else line
