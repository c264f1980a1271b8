"""What chatbridge says about itself looks like nothing that an agent can have shown."""

from __future__ import annotations

import pytest

from chatbridge.channels.chat import notices
from chatbridge.channels.matrix.render import notices as matrix_notices
from chatbridge.core.cards.card import APPROVAL_GLYPH
from chatbridge.core.cards.card import GLYPHS as CARDS
from chatbridge.core.cards.operation_summary import summarize_operation
from chatbridge.core.cards.phrases import REMARK_GLYPH, REMARK_HEADING
from chatbridge.core.model import GLYPHS as NOTICES
from chatbridge.core.model import Agent, CallName, Level, Notice, OperationEnd, Project
from tests.matrix_drawings import draw_remark
from tests.telegram_drawings import draw_list, draw_notice
from tests.telegram_html import write

CALL = CallName(link="l", request="1")


def test_no_card_notice_or_operation_has_the_glyph_of_a_remark() -> None:
    ends = [
        summarize_operation(
            OperationEnd(id="o", title="make", succeeded=succeeded, how="", took=1.0)
        ).glyph
        for succeeded in (True, False)
    ]
    assert REMARK_GLYPH not in {*CARDS.values(), *NOTICES.values(), *ends, APPROVAL_GLYPH, "⏳"}


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("name", ["chatbridge", REMARK_HEADING, f"{REMARK_GLYPH} {REMARK_HEADING}"])
def test_a_notice_of_an_agent_that_is_called_chatbridge_does_not_begin_like_a_remark(
    level: Level, name: str
) -> None:
    """Whatever its folder and its client are called, and however several are listed."""
    text = "Somebody new may answer: 4711."
    notice = Notice(
        id="n",
        call=CALL,
        project=Project(key="/chatbridge", name=name),
        agent=Agent(client=name, name=name),
        message=text,
        level=level,
        at=0.0,
    )
    other = Notice(
        id="m", call=CALL, project=notice.project, agent=Agent(client="x", name="x"),
        message=text, level=level, at=0.0,
    )  # fmt: skip
    listed = draw_list([notice, other])
    assert listed is not None
    for drawn in (draw_notice(notice).html, listed.html):
        assert drawn.startswith(NOTICES[level])
        assert not drawn.startswith(write(notices.remark(text), now=0.0)[0])
    in_matrix, remark = matrix_notices.draw_notice(notice), draw_remark(text)
    assert in_matrix.body.startswith(NOTICES[level])
    assert not in_matrix.body.startswith(remark.body[0])
    assert not in_matrix.html.startswith(remark.html[:4])
