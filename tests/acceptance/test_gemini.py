"""A client that calls itself as Gemini CLI does, which drops every tool named `ask_user`."""

from __future__ import annotations

import re

import pytest
from mcp import MCPError

from chatbridge.tool_names import TOOLS
from tests.acceptance.bridge import connected, new_home, text_of, told

GEMINI = "gemini-cli-mcp-client"
ERAS = ("legacy", "2026-07-28")
FORM = {"questions": [{"id": "colour", "question": "Which colour?"}], "wait": False}


@pytest.mark.parametrize("mode", ERAS)
async def test_it_is_offered_the_same_tool_under_another_name(mode: str) -> None:
    with new_home() as home:
        project = home.project("shop")
        async with connected(home, project, mode=mode, name=GEMINI) as gemini:
            tools = (await gemini.client.list_tools()).tools
            usual = [name for name in TOOLS if name != "question_ask"]
            assert [it.name for it in tools] == ["ask_human", *usual[1:]]
            texts = [gemini.client.instructions or "", *(it.model_dump_json() for it in tools)]
            assert not [text for text in texts if re.search(r"\bask_user\b", text)]
            first = told(await gemini.client.call_tool("ask_human", FORM))
            again = told(await gemini.client.call_tool("ask_user", FORM))
            assert first["pending"]
            assert again == first, "the same words under either name are one question"
            ask = await gemini.sees("Which colour?")
            home.person.answer(ask, {"values": ["blue"]})
            answer = told(await gemini.wait_for(first["askId"]))
            assert answer["answers"] == [{"questionId": "colour", "values": ["blue"]}]
            refused = await gemini.client.call_tool("question_ask", {"question": "Which?"})
            assert "Use ask_human instead" in text_of(refused)
        async with connected(home, project, mode=mode) as other:
            assert "ask_human" not in [it.name for it in (await other.client.list_tools()).tools]
            with pytest.raises(MCPError, match="Unknown tool: 'ask_human'"):
                await other.client.call_tool("ask_human", FORM)
