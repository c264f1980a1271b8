"""No agent can write a line of `chatbridge audit` that says something of somebody else."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.cli.questions.audit import LIKE_QUOTES, as_text
from chatbridge.core.audit import Line

ANN = {"who": "Ann", "who_id": "telegram:4242", "channel": "telegram", "surface": "telegram:4242"}
NOBODY = dict.fromkeys(ANN, "")
JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
PIECES = ['"', "\\", *LIKE_QUOTES, " Ann (telegram:4242) ", "\n", "\u2003", ", answers: ", "-", "ש"]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=6).map("".join)


def drawn(*, agent: str = "codex", what: Any = None, **who: str) -> str:
    """Without the time."""
    line = Line(
        seq=1,
        at=1.7e9,
        kind="answered",
        thing="ask",
        id="abcdef12",
        project="/src/shop",
        project_name="shop",
        client="codex",
        agent_name=agent,
        what={"about": "Which port?", "answers": [{"picked": ["9090"]}]} if what is None else what,
        **{**NOBODY, **who},
    )
    return as_text(line)[len("2026-07-01 12:00:00  ") :]


def test_a_line_says_what_became_of_what_by_whom_and_then_what_agents_wrote() -> None:
    said = 'shop/codex  "Which port?", answers: "9090"'
    assert drawn(**ANN) == f"answered     abcdef  Ann (telegram:4242)  {said}"
    assert drawn(surface="web") == f"answered     abcdef  web  {said}"
    assert drawn() == f"answered     abcdef  -  {said}"
    assert drawn(agent="Claude Code", what={"exit": 1}).endswith("  -  shop/Claude Code  exit: 1")


@pytest.mark.parametrize("name", ["Ann (telegram:4242)", "-", 'Ann" (', "Ann, answers: No"])
def test_a_persons_name_is_quoted_where_it_could_be_more(name: str) -> None:
    who = {**ANN, "who": name, "surface": "telegram:-100"}
    assert JSON_STRING.sub("NAME", drawn(**who)).startswith(
        "answered     abcdef  NAME (telegram:-100)  shop/codex"
    )


@given(agent=texts, about=texts, label=texts)
def test_whatever_an_agent_writes_the_rest_of_the_line_is_the_same(
    agent: str, about: str, label: str
) -> None:
    line = drawn(
        agent=f"({agent}", what={"about": about, "answers": [{"picked": [label]}], "until": 1.0}
    )
    assert JSON_STRING.sub("…", line) == "answered     abcdef  -  …  …, answers: …, until: 1.0"
    assert not set(LIKE_QUOTES) & set(line)
