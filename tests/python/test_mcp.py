"""MCP sessions with the official client library of another language, over HTTP and over pipes."""

import asyncio
import inspect
import json
import os
from contextlib import asynccontextmanager

import httpx
import pytest
from conftest import MASTER
from mcp import ClientSession, StdioServerParameters
from mcp.client import streamable_http
from mcp.client.stdio import stdio_client


def connect(url, headers):
    """Opens a session whichever way this version of the library wants its headers."""
    opens = getattr(streamable_http, "streamable_http_client", None)
    opens = opens or streamable_http.streamablehttp_client
    if "headers" in inspect.signature(opens).parameters:
        return opens(url, headers=headers)
    return opens(url, http_client=streamable_http.create_mcp_http_client(headers=headers))


@asynccontextmanager
async def over_http(server, tmp_path):
    headers = {"Authorization": f"Bearer {MASTER}", "X-Project-Id": "over-mcp"}
    async with connect(f"{server.url}/mcp", headers) as streams:
        yield streams[0], streams[1]


@asynccontextmanager
async def over_stdio(server, tmp_path):
    """The program as a host starts it, on a file that does not exist yet."""
    host = StdioServerParameters(command=os.environ["REFLECT_BIN"],
                                 args=["mcp", "--data", str(tmp_path / "mcp.db")])
    async with stdio_client(host) as streams:
        yield streams


@asynccontextmanager
async def over_stdio_beside_a_server(server, tmp_path):
    """On the file or the PostgreSQL database that a server works on."""
    host = StdioServerParameters(
        command=os.environ["REFLECT_BIN"],
        args=["mcp", "--data", server.data, "--project", f"beside-{tmp_path.name}"])
    async with stdio_client(host) as streams:
        yield streams


@asynccontextmanager
async def over_stdio_to_a_server(server, tmp_path):
    host = StdioServerParameters(
        command=os.environ["REFLECT_BIN"],
        args=["mcp", "--url", server.url, "--project", "over-stdio"],
        env={"REFLECT_API_KEY": MASTER})
    async with stdio_client(host) as streams:
        yield streams


async def call(session, tool, arguments):
    answer = await session.call_tool(tool, arguments)
    return json.loads(answer.content[0].text)


@pytest.mark.parametrize("way", [
    over_http, over_stdio, over_stdio_beside_a_server, over_stdio_to_a_server])
def test_an_agent_learns_over_mcp(server, tmp_path, way):
    async def run():
        async with way(server, tmp_path) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = {tool.name for tool in (await session.list_tools()).tools}
            assert tools == {"retrieve_memories", "record_run", "review_run", "create_memory",
                             "get_skill"}

            # Before, during and after a task.
            recorded = await call(session, "record_run", {
                "task": "Refund order 7", "trajectory": "Refunded at once.",
                "metadata": {"ticket": "123"}})
            assert recorded["ingest_status"] == "completed"
            reviewed = await call(session, "review_run", {
                "trace_id": recorded["trace_id"], "result": "fail", "judged_by": "user",
                "feedback_text": "Older than 30 days: check the date first"})
            found = await call(session, "retrieve_memories", {"query": "Refund order 8"})
            [memory] = found["memories"]
            assert memory["id"] == reviewed["memory_id"]
            assert "check the date first" in memory["reflection"]
            lesson = await call(session, "create_memory", {
                "task": "Water the plants", "summary": "s", "guidance": "Not at noon",
                "result": "pass"})
            assert lesson["memory_id"]

            # A refusal is for the agent to read.
            refused = await session.call_tool("review_run", {"trace_id": "none", "result": "pass"})
            assert "none" in refused.content[0].text
            refused = await session.call_tool("get_skill", {})
            assert "no skill yet" in refused.content[0].text

            prompts = {prompt.name for prompt in (await session.list_prompts()).prompts}
            assert prompts == {"before_a_task", "after_a_task"}
            before = await session.get_prompt("before_a_task", {"task": "Refund order 9"})
            assert memory["id"] in before.messages[0].content.text
            after = await session.get_prompt("after_a_task", {"result": "fail"})
            assert "record_run" in after.messages[0].content.text
            [skill] = (await session.list_resources()).resources
            with pytest.raises(Exception, match="no skill yet"):
                await session.read_resource(skill.uri)

    asyncio.run(run())


def test_a_skill_is_a_tool_and_a_resource(server, tmp_path):
    async def run():
        way = over_stdio_to_a_server(server, tmp_path)
        async with way as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            for n in range(5):
                await call(session, "create_memory", {
                    "task": f"Fold shirt {n}", "summary": "Creased", "guidance": "Iron it first",
                    "result": "fail"})
            written = httpx.post(f"{server.url}/v1/projects/over-stdio/skill/create", json={},
                                 headers={"Authorization": f"Bearer {MASTER}"})
            assert written.status_code == 200, written.text
            skill = await call(session, "get_skill", {})
            resource = await session.read_resource("reflect://skill")
            return skill["content"], resource.contents[0]

    content, resource = asyncio.run(run())
    assert resource.text == content
    assert "Iron it first" in content


def test_a_page_of_the_web_is_refused(server):
    headers = {"Authorization": f"Bearer {MASTER}", "Origin": "https://evil.example",
               "Accept": "application/json, text/event-stream"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    assert httpx.post(f"{server.url}/mcp", json=call, headers=headers).status_code == 403
    assert httpx.post(f"{server.url}/mcp", json=call).status_code == 401
