"""How what an agent tells reads in a room (T18)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from chatbridge.channels.matrix.render.notices import draw_notice
from chatbridge.core.model import GLYPHS, Level, Notice
from tests.ended_operations import BADLY, HOSTILE, WELL, ended_notice, ended_notices
from tests.matrix_asks import check, html_text, plain
from tests.telegram_asks import notice
from tests.telegram_strategies import notices

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


def test_an_end_says_what_ended_and_how() -> None:
    assert body(ended_notice(WELL)) == "✅ cargo build finished · shop-api\n4 min 12 s"
    assert body(ended_notice(BADLY)) == (
        "❌ pytest failed · shop-api\nexit 1 after 4 min 12 s\n"
        "E   assert 1 == 2\n1 failed, 411 passed\nThe whole output is in the web inbox."
    )
    assert plain(draw_notice(ended_notice(BADLY)).html) == (
        "<p>❌ <strong>pytest</strong> failed · shop-api<br>exit 1 after 4 min 12 s</p>"
        "<pre><code>E   assert 1 == 2\n1 failed, 411 passed</code></pre>"
        "<p>The whole output is in the web inbox.</p>"
    )


def test_what_a_command_printed_cannot_leave_its_box() -> None:
    drawing = draw_notice(ended_notice(HOSTILE))
    assert plain(html_text(drawing.html).split("E   ")[0]).count("</pre>") == 2
    assert drawing.html.count("<pre>") == 1
    assert "\x1b" not in drawing.body
    assert "⟨U+202E⟩" in drawing.body


@given(ended_notices)
def test_every_end_fits_an_event_and_is_only_text(shown: Notice) -> None:
    drawing = draw_notice(shown)
    check(drawing)
    first = drawing.body.split("\n")[0]
    assert first[0] in "✅❌"
    assert len(first) <= 120
    read = plain(html_text(drawing.html))
    assert read.count("<") == plain(drawing.body).count("<")


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
