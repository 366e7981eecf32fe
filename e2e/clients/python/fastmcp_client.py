"""Drives the client of FastMCP (`fastmcp`): `Client` over `StreamableHttpTransport` and `StdioTransport`.

MCP_WEB_ERA=legacy makes it begin with `initialize` (2025-11-25 and before), =modern makes it speak
2026-07-28 without asking; otherwise it asks with `server/discover`, which is what it does by itself.
"""

import os
from contextlib import asynccontextmanager
from importlib.metadata import version

import mcp_types as types
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.messages import MessageHandler
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

from steps import Driver, Lacks, result_of, run

MODES = {"legacy": "legacy", "modern": "2026-07-28"}


class OnListChanged(MessageHandler):
    def __init__(self, changed):
        self.changed = changed

    async def on_tool_list_changed(self, message: types.ToolListChangedNotification):
        self.changed.set()


class FastMcp(Driver):
    client = f"fastmcp {version('fastmcp')}"
    leaving = "leave the context of the client, then client.close(), which ends the process of stdio"

    @asynccontextmanager
    async def connected(self):
        if self.over_http:
            transport = StreamableHttpTransport(self.config["url"], auth=self.config["token"])
        else:
            transport = StdioTransport(
                self.config["command"], self.config["args"], env=self.environment
            )
        self.mcp = Client(
            transport,
            mode=MODES.get(os.environ.get("MCP_WEB_ERA"), "auto"),
            message_handler=OnListChanged(self.changed),
            elicitation_handler=self.on_elicitation,
        )
        async with self.mcp:
            yield
        await self.mcp.close()

    async def on_elicitation(self, message, response_type, params, context):
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def protocol(self):
        return self.mcp.protocol_version

    async def tools(self):
        return [tool.name for tool in await self.mcp.list_tools()]

    async def call(self, name, arguments=None, progress=None):
        async def on_progress(done, total, message):
            progress(message)

        result = await self.mcp.call_tool(
            name, arguments, progress_handler=on_progress if progress else None
        )
        return result_of(result.content, result.is_error)

    @asynccontextmanager
    async def listening(self):
        if self.mcp.protocol_version == MODES["modern"]:
            raise Lacks("The client has no call for subscriptions/listen, which 2026-07-28 needs for it")
        self.changed.clear()
        yield


run(FastMcp)
