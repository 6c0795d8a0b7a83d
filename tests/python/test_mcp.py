"""An MCP session with a client library of another language."""

import asyncio
import inspect
import json

import httpx
from conftest import MASTER
from mcp import ClientSession
from mcp.client import streamable_http


def connect(url, headers):
    """Opens a session whichever way this version of the library wants its headers."""
    opens = getattr(streamable_http, "streamable_http_client", None)
    opens = opens or streamable_http.streamablehttp_client
    if "headers" in inspect.signature(opens).parameters:
        return opens(url, headers=headers)
    return opens(url, http_client=streamable_http.create_mcp_http_client(headers=headers))


def test_an_agent_learns_over_mcp(server):
    async def run():
        headers = {"Authorization": f"Bearer {MASTER}", "X-Project-Id": "over-mcp"}
        async with connect(f"{server.url}/mcp", headers) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                tools = {tool.name for tool in (await session.list_tools()).tools}
                assert tools == {"retrieve_memories", "create_memory"}
                made = await session.call_tool("create_memory", {
                    "task": "Refund order 7", "summary": "Too late", "guidance": "Check first",
                    "result": "fail"})
                found = await session.call_tool("retrieve_memories", {"query": "Refund order 8"})
                return json.loads(made.content[0].text), json.loads(found.content[0].text)

    made, found = asyncio.run(run())
    [memory] = found["memories"]
    assert memory["id"] == made["memory_id"]
    assert "Check first" in memory["reflection"]


def test_a_page_of_the_web_is_refused(server):
    headers = {"Authorization": f"Bearer {MASTER}", "Origin": "https://evil.example",
               "Accept": "application/json, text/event-stream"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    assert httpx.post(f"{server.url}/mcp", json=call, headers=headers).status_code == 403
    assert httpx.post(f"{server.url}/mcp", json=call).status_code == 401
