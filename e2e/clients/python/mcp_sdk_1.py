"""Drives the MCP Python SDK 1.x (`mcp`): `ClientSession` over `streamable_http_client` and `stdio_client`.

HTTP headers go into an `httpx.AsyncClient` of one's own, with the timeouts that the SDK's own one has.
"""

from contextlib import asynccontextmanager
from importlib.metadata import version

import httpx
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from steps import Driver, Lacks, result_of, run


class McpSdk1(Driver):
    client = f"mcp {version('mcp')}"
    leaving = "leave the contexts of the session and of the transport"

    @asynccontextmanager
    async def connected(self):
        async with (
            self.transport() as (read, write, *_),
            ClientSession(
                read, write, message_handler=self.on_message, elicitation_callback=self.on_elicitation
            ) as self.session,
        ):
            self.initialized = await self.session.initialize()
            yield

    @asynccontextmanager
    async def transport(self):
        if not self.over_http:
            server = StdioServerParameters(
                command=self.config["command"], args=self.config["args"], env=self.environment
            )
            async with stdio_client(server) as streams:
                yield streams
            return
        timeout = httpx.Timeout(30, read=300)
        async with (
            httpx.AsyncClient(headers=self.bearer, timeout=timeout) as http,
            streamable_http_client(self.config["url"], http_client=http) as streams,
        ):
            yield streams

    async def on_message(self, message):
        if isinstance(getattr(message, "root", None), types.ToolListChangedNotification):
            self.changed.set()

    async def on_elicitation(self, context, params):
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def protocol(self):
        return self.initialized.protocolVersion

    async def tools(self):
        names, cursor = [], None
        while True:
            page = await self.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
            names += [tool.name for tool in page.tools]
            cursor = page.nextCursor
            if not cursor:
                return names

    async def call(self, name, arguments=None, progress=None):
        async def on_progress(done, total, message):
            progress(message)

        result = await self.session.call_tool(
            name, arguments, progress_callback=on_progress if progress else None
        )
        return result_of(result.content, result.isError)

    def can_cancel(self):
        raise Lacks(
            "Cancelling the task of a call sends nothing, and the request's id, "
            "which notifications/cancelled needs, is not public"
        )


run(McpSdk1)
