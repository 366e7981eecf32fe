"""Drives `langchain-mcp-adapters`: the LangChain tools of a `MultiServerMCPClient`, without a model.

The tools are those of one session that stays (`client.session()` and `load_mcp_tools`). Those of
`client.get_tools()` open a session for each call: they are what `cancel` needs, since a call in a
session that stays is not cancelled with its task (nothing is sent), while a separate session ends.
"""

from contextlib import asynccontextmanager
from importlib.metadata import version

from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import types

from steps import Driver, Refused, Result, run


class LangChainAdapters(Driver):
    client = f"langchain-mcp-adapters {version('langchain-mcp-adapters')}"
    leaving = "leave the context of the session"
    messages = None

    @asynccontextmanager
    async def connected(self):
        if self.over_http:
            connection = {"transport": "http", "url": self.config["url"], "headers": self.bearer}
        else:
            connection = {
                "transport": "stdio",
                "command": self.config["command"],
                "args": self.config["args"],
                "env": self.environment,
            }
        # The adapters have no callback for notifications; they pass one on to the session.
        connection["session_kwargs"] = {"message_handler": self.on_message}
        self.mcp = MultiServerMCPClient(
            {"pages": connection},
            callbacks=Callbacks(on_progress=self.on_progress, on_elicitation=self.on_elicitation),
        )
        async with self.mcp.session("pages") as self.session:
            await self.load()
            self.alone = await self.mcp.get_tools()
            yield

    async def load(self):
        loaded = await load_mcp_tools(
            self.session, callbacks=self.mcp.callbacks, server_name="pages"
        )
        self.loaded = {tool.name: tool for tool in loaded}

    async def on_message(self, message):
        if isinstance(getattr(message, "root", None), types.ToolListChangedNotification):
            self.changed.set()

    async def on_progress(self, done, total, message, context):
        if self.messages:
            self.messages(message)

    async def on_elicitation(self, mcp_context, params, context):
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def protocol(self):
        # In another session: the one that stays open does not report it.
        info = await self.mcp.get_server_info(server_name="pages")
        return info["pages"].protocolVersion

    async def tools(self):
        await self.load()
        return list(self.loaded)

    async def call(self, name, arguments=None, progress=None):
        self.messages = progress
        return await self.invoke(self.loaded[name], arguments)

    async def hang(self):
        await self.invoke(self.tool_alone("hang"), {})

    async def another(self, name, arguments):
        # Two sessions, one after the other: `hang` has had the time of one more to reach the page.
        await self.invoke(self.tool_alone(name), arguments)
        await self.invoke(self.tool_alone(name), arguments)

    def tool_alone(self, name):
        return next(tool for tool in self.alone if tool.name == name)

    async def invoke(self, tool, arguments):
        # In the shape of a model's call of the tool, the answer is a message with a status.
        call = {"type": "tool_call", "id": "1", "name": tool.name, "args": arguments or {}}
        message = await tool.ainvoke(call)
        blocks = message.content
        text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
        if message.status == "error":
            raise Refused(text)
        images = [block for block in blocks if block["type"] == "image"]
        return Result(text, [(image["mime_type"], image["base64"]) for image in images])


run(LangChainAdapters)
