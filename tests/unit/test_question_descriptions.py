"""What agents read about the journal's two tools: what is needed, and what is written."""

from __future__ import annotations

from chatbridge.tools import question_ask


def test_the_description_says_where_the_question_is_shown() -> None:
    shown = {
        elicit: question_ask.description(stateless=True, elicit=elicit).split(". Needs")[0]
        for elicit in ("chats", "client", "both")
    }
    assert "window if nobody can be reached" in shown["chats"]
    assert "phone" not in shown["client"]
    assert "returned when the window is closed" in shown["both"]
    for elicit in shown:
        at_once = question_ask.description(stateless=False, elicit=elicit)
        assert "window and on their phone or in their browser; the first answer counts." in at_once


def test_the_descriptions_state_the_requirement_and_the_format() -> None:
    asking = question_ask.description(stateless=False, elicit="chats")
    telling = question_ask.QuestionSummary.description
    assert "elicitation" in asking
    assert '"answer"' in asking
    for key in ("timestamp", "question", "answer"):
        assert f"{key}:" in telling
    assert "YAML" in telling
