"""What agents read about the journal's two tools: what is needed, and what is written."""

from __future__ import annotations

from chatbridge.tools import question_ask, question_summary


def test_the_descriptions_state_the_requirement_and_the_format() -> None:
    asking, telling = question_ask.DESCRIPTION, question_summary.DESCRIPTION
    assert "elicitation" in asking
    assert '"answer"' in asking
    for key in ("timestamp", "question", "answer"):
        assert f"{key}:" in telling
    assert "YAML" in telling
