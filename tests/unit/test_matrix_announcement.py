"""How what an agent tells reads in a room (T18)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from chatbridge.channels.matrix.announcement import draw_notice
from chatbridge.core.notice import GLYPHS, Level, Notice
from tests.matrix_asks import check, html_text, plain
from tests.telegram_asks import notice, notices

WHOLE = "… The whole message is in the web inbox."


def body(shown: Notice) -> str:
    drawing = draw_notice(shown)
    check(drawing)
    return plain(drawing.body)


def test_each_level_says_what_it_is_and_who_sends_it() -> None:
    shown = notice("All 412 pass.\nCoverage: 96 %.", title="Night run")
    rest = "\nNight run\nAll 412 pass.\nCoverage: 96 %."
    assert body(shown) == f"ℹ️ shop-api · Claude Code{rest}"
    warning = replace(shown, level=Level.WARNING)
    assert body(warning) == f"⚠️ Warning · shop-api · Claude Code{rest}"
    error = replace(shown, level=Level.ERROR)
    assert body(error) == f"❌ Error · shop-api · Claude Code{rest}"
    assert plain(draw_notice(error).html) == (
        "<p>❌ <strong>Error</strong> · shop-api · Claude Code<br><strong>Night run</strong></p>"
        "<p>All 412 pass.<br>Coverage: 96 %.</p>"
    )
    assert body(notice("Done.")) == "ℹ️ shop-api · Claude Code\nDone."


@pytest.mark.parametrize("fill", ["x", "&", "😀", "ש", "line\n", "\u202e"])
def test_a_long_message_is_cut_to_what_an_event_takes(fill: str) -> None:
    said = body(notice(fill * (10_000 // len(fill)), title=fill * 100))
    assert said.endswith(WHOLE) == (fill != "x")
    assert len(said) > 400


@given(notices)
def test_every_notice_fits_an_event_and_is_only_text(shown: Notice) -> None:
    drawing = draw_notice(shown)
    first = drawing.body.split("\n")[0]
    assert first.startswith(GLYPHS[shown.level])
    assert len(first) <= 60
    if shown.message.strip():
        check(drawing)
    read = plain(html_text(drawing.html))
    assert read.count("<") == plain(drawing.body).count("<")
