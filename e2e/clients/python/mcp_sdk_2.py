"""Drives the MCP Python SDK 2.x (`mcp`): `Client` over `streamable_http_client` and `stdio_client`.

MCP_WEB_ERA=legacy makes it begin with `initialize` (2025-11-25 and before), =modern makes it speak
2026-07-28 without asking; otherwise it asks with `server/discover`, which is what it does by itself.
HTTP headers go into an `httpx2.AsyncClient` of one's own, with the timeouts that the SDK's own one has.
"""

import asyncio
import os
from contextlib import asynccontextmanager
from importlib.metadata import version

import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from steps import Driver, result_of, run

MODES = {"legacy": "legacy", "modern": "2026-07-28"}


class McpSdk2(Driver):
    client = f"mcp {version('mcp')}"
    leaving = "leave the context of the client"

    @asynccontextmanager
    async def connected(self):
        timeout = httpx2.Timeout(30, read=300)
        async with httpx2.AsyncClient(headers=self.bearer, timeout=timeout) as http:
            if self.over_http:
                server = streamable_http_client(self.config["url"], http_client=http)
            else:
                server = StdioServerParameters(
                    command=self.config["command"], args=self.config["args"], env=self.environment
                )
            async with Client(
                server,
                mode=MODES.get(os.environ.get("MCP_WEB_ERA"), "auto"),
                message_handler=self.on_message,
                elicitation_callback=self.on_elicitation,
            ) as self.mcp:
                yield

    async def on_message(self, message):
        if isinstance(message, types.ToolListChangedNotification):
            self.changed.set()

    async def on_elicitation(self, context, params):
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def protocol(self):
        return self.mcp.protocol_version

    async def tools(self):
        names, cursor = [], None
        while True:
            page = await self.mcp.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if not cursor:
                return names

    async def call(self, name, arguments=None, progress=None):
        async def on_progress(done, total, message):
            progress(message)

        result = await self.mcp.call_tool(
            name, arguments, progress_callback=on_progress if progress else None
        )
        return result_of(result.content, result.is_error)

    @asynccontextmanager
    async def listening(self):
        self.changed.clear()
        if self.mcp.protocol_version != MODES["modern"]:
            yield
            return
        # From 2026-07-28 on, a client requests these notifications with a separate stream.
        async with self.mcp.listen(tools_list_changed=True) as changes:
            first = asyncio.create_task(anext(changes))
            first.add_done_callback(lambda _: self.changed.set())
            yield
            first.cancel()


run(McpSdk2)
