# mypy: ignore-errors
"""An agent of each framework, as its documentation has it, with chatbridge as its MCP server.

    python adapters.py FRAMEWORK PROMPT LIMIT ENTRY

ENTRY is a file that `chatbridge connect --print` has written, LIMIT the seconds that a call may
take. It runs with the framework's own Python and prints what the agent says at the end.
"""

import asyncio
import json
import os
import sys
from datetime import timedelta
from pathlib import Path

WORDS = "You work for an owner who is away."


async def openai_agents(prompt, limit, server):
    from agents import Agent, Runner
    from agents.mcp import MCPServerStdio

    params = {**server, "env": dict(os.environ)}
    async with MCPServerStdio(params, client_session_timeout_seconds=limit) as chatbridge:
        agent = Agent(name="a", instructions=WORDS, model="gpt-5", mcp_servers=[chatbridge])
        return (await Runner.run(agent, prompt)).final_output


async def pydantic_ai(prompt, limit, server):
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset

    transport = StdioTransport(**server, env=dict(os.environ))
    chatbridge = MCPToolset(transport, read_timeout=limit)
    agent = Agent("openai-chat:gpt-5", instructions=WORDS, toolsets=[chatbridge])
    async with agent:
        return (await agent.run(prompt)).output


async def langchain(prompt, limit, server):
    from langchain.agents import create_agent
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools

    session = {"read_timeout_seconds": timedelta(seconds=limit)}
    about = {**server, "transport": "stdio", "env": dict(os.environ), "session_kwargs": session}
    async with MultiServerMCPClient({"chatbridge": about}).session("chatbridge") as chatbridge:
        tools = await load_mcp_tools(chatbridge)
        agent = create_agent("openai:gpt-5", tools, system_prompt=WORDS)
        said = await agent.ainvoke({"messages": [{"role": "user", "content": prompt}]})
        return said["messages"][-1].content


async def google_adk(prompt, limit, server):
    from google.adk.agents import LlmAgent
    from google.adk.runners import InMemoryRunner
    from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
    from google.genai import types
    from mcp import StdioServerParameters

    params = StdioServerParameters(**server, env=dict(os.environ))
    connection = StdioConnectionParams(server_params=params, timeout=limit)
    toolset = McpToolset(connection_params=connection)
    agent = LlmAgent(model="gemini-2.5-flash", name="a", instruction=WORDS, tools=[toolset])
    runner = InMemoryRunner(agent, app_name="a")
    session = await runner.session_service.create_session(app_name="a", user_id="u")
    message = types.Content(role="user", parts=[types.Part(text=prompt)])
    said = ""
    try:
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=message
        ):
            for part in (event.content and event.content.parts) or ():
                said = part.text or said
    finally:
        await toolset.close()
    return said


async def agno(prompt, limit, server):
    from agno.agent import Agent
    from agno.models.openai import OpenAIChat
    from agno.tools.mcp import MCPTools
    from mcp import StdioServerParameters

    params = StdioServerParameters(**server, env=dict(os.environ))
    # agno takes a tool of any server that is named ask_user for its own, and ends the run.
    prefix = {"tool_name_prefix": "chatbridge"}
    async with MCPTools(server_params=params, timeout_seconds=limit, **prefix) as tools:
        agent = Agent(model=OpenAIChat(id="gpt-5"), instructions=WORDS, tools=[tools])
        return (await agent.arun(prompt)).content


async def llama_index(prompt, limit, server):
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.llms.openai_like import OpenAILike
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    client = BasicMCPClient(
        server["command"], args=server["args"], env=dict(os.environ), timeout=limit
    )
    tools = await McpToolSpec(client=client).to_tool_list_async()
    llm = OpenAILike(
        model="pretend",
        api_base=os.environ["OPENAI_BASE_URL"],
        api_key="none",
        is_chat_model=True,
        is_function_calling_model=True,
    )
    return str(await FunctionAgent(tools=tools, llm=llm, system_prompt=WORDS).run(prompt))


async def autogen(prompt, limit, server):
    from autogen_agentchat.agents import AssistantAgent
    from autogen_ext.models.openai import OpenAIChatCompletionClient
    from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams

    params = StdioServerParams(**server, env=dict(os.environ), read_timeout_seconds=limit)
    async with McpWorkbench(params) as chatbridge:
        client = OpenAIChatCompletionClient(model="gpt-4o")
        agent = AssistantAgent("a", client, workbench=chatbridge, max_tool_iterations=10)
        return (await agent.run(task=prompt)).messages[-1].to_text()


def main(framework, prompt, limit, entry):
    server = json.loads(Path(entry).read_text())["mcpServers"]["chatbridge"]
    server.pop("type")
    agent = globals()[framework.replace("-", "_")]
    sys.stdout.write(f"{asyncio.run(agent(prompt, int(limit), server))}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
