"""Drives the MCP servers of the OpenAI Agents SDK (`openai-agents`), without an agent or a model:
`MCPServerStreamableHttp` and `MCPServerStdio`. They ask with `server/discover` which era to speak.
"""

from contextlib import asynccontextmanager
from importlib.metadata import version

import mcp_types as types
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

from steps import Driver, Lacks, result_of, run

MODERN = "2026-07-28"


class OpenAiAgents(Driver):
    client = f"openai-agents {version('openai-agents')} with mcp {version('mcp')}"
    leaving = "leave the context of the server, which is server.cleanup()"

    def server(self):
        if self.over_http:
            parameters = {"url": self.config["url"], "headers": self.bearer}
            return MCPServerStreamableHttp(parameters, message_handler=self.on_message)
        parameters = {
            "command": self.config["command"],
            "args": self.config["args"],
            "env": self.environment,
        }
        return MCPServerStdio(parameters, message_handler=self.on_message)

    @asynccontextmanager
    async def connected(self):
        async with self.server() as self.mcp:
            yield

    async def on_message(self, message):
        if isinstance(message, types.ToolListChangedNotification):
            self.changed.set()

    async def protocol(self):
        return self.mcp.session.protocol_version

    async def tools(self):
        return [tool.name for tool in await self.mcp.list_tools()]

    async def call(self, name, arguments=None, progress=None):
        result = await self.mcp.call_tool(name, arguments)
        return result_of(result.content, result.is_error)

    async def another(self, name, arguments):
        # Over HTTP, the calls of one server wait for each other.
        async with self.server() as second:
            await second.call_tool(name, arguments)

    @asynccontextmanager
    async def listening(self):
        if await self.protocol() == MODERN:
            raise Lacks("The server has no call for subscriptions/listen, which 2026-07-28 needs for it")
        self.changed.clear()
        yield

    def can_report_progress(self):
        raise Lacks("call_tool() takes no callback for progress")

    def can_elicit(self):
        raise Lacks("The constructors take no handler for elicitation")


run(OpenAiAgents)
