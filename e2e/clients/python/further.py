"""Drives one of the client libraries that only `cargo xtask clients` runs: MCP_WEB_CLIENT names its adapter.

An adapter connects, lists and calls as an agent of the library does, but without a model.
"""

import base64
import json
import os
from contextlib import asynccontextmanager
from importlib.metadata import version
from types import SimpleNamespace

from steps import Driver, Refused, Result, result_of, run


class PydanticAi(Driver):
    package = "pydantic-ai-slim"
    leaving = "leave the context of the toolset"

    @asynccontextmanager
    async def connected(self):
        from pydantic_ai.mcp import MCPToolset

        self.mcp = MCPToolset(self.config["url"], auth=self.config["token"])
        async with self.mcp:
            yield

    async def tools(self):
        return [tool.name for tool in await self.mcp.list_tools()]

    async def call(self, name, arguments=None, progress=None):
        value = await self.mcp.direct_call_tool(name, arguments or {})
        parts = value if isinstance(value, list) else [value]
        pictures = [part for part in parts if hasattr(part, "media_type")]
        texts = [json.dumps(part, separators=(",", ":")) for part in parts if part not in pictures]
        return Result("\n".join(texts), [(it.media_type, base64.b64encode(it.data)) for it in pictures])


class McpUse(Driver):
    package = "mcp-use"
    remark = " for Python"

    @asynccontextmanager
    async def connected(self):
        from mcp_use import MCPClient

        server = {"url": self.config["url"], "headers": self.bearer}
        client = MCPClient.from_dict({"mcpServers": {"pages": server}})
        self.session = await client.create_session("pages")
        yield
        await client.close_all_sessions()

    async def tools(self):
        return [tool.name for tool in await self.session.list_tools()]

    async def call(self, name, arguments=None, progress=None):
        result = await self.session.call_tool(name, arguments or {})
        return result_of(result.content, result.isError)


class Strands(Driver):
    package = "strands-agents"

    @asynccontextmanager
    async def connected(self):
        from strands.tools.mcp import MCPClient

        with MCPClient(url=self.config["url"], headers=self.bearer) as self.mcp:
            yield

    async def tools(self):
        return [tool.tool_name for tool in self.mcp.list_tools_sync()]

    async def call(self, name, arguments=None, progress=None):
        result = await self.mcp.call_tool_async("1", name, arguments or {})
        text = "\n".join(block["text"] for block in result["content"] if "text" in block)
        if result["status"] == "error":
            raise Refused(text)
        images = [block["image"] for block in result["content"] if "image" in block]
        encoded = [base64.b64encode(image["source"]["bytes"]) for image in images]
        return Result(text, [(f"image/{i['format']}", data) for i, data in zip(images, encoded)])


class GoogleAdk(Driver):
    package = "google-adk"

    @asynccontextmanager
    async def connected(self):
        from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams

        connection = StreamableHTTPConnectionParams(url=self.config["url"], headers=self.bearer)
        toolset = McpToolset(connection_params=connection)
        self.loaded = {tool.name: tool for tool in await toolset.get_tools()}
        yield
        await toolset.close()

    async def tools(self):
        return list(self.loaded)

    async def call(self, name, arguments=None, progress=None):
        context = SimpleNamespace(state={}, custom_metadata={})
        result = await self.loaded[name].run_async(args=arguments or {}, tool_context=context)
        return plain_result(result)


class LlamaIndex(Driver):
    package = "llama-index-tools-mcp"

    @asynccontextmanager
    async def connected(self):
        from llama_index.tools.mcp import BasicMCPClient

        self.mcp = BasicMCPClient(self.config["url"], headers=self.bearer)
        yield

    async def tools(self):
        return [tool.name for tool in (await self.mcp.list_tools()).tools]

    async def call(self, name, arguments=None, progress=None):
        result = await self.mcp.call_tool(name, arguments or {})
        return result_of(result.content, result.is_error)


class FastAgent(Driver):
    package = "fast-agent-mcp"

    @asynccontextmanager
    async def connected(self):
        from mcp_agent.core.fastagent import FastAgent as App

        server = {"transport": "http", "url": self.config["url"], "headers": self.bearer}
        with open("fastagent.config.yaml", "w") as file:
            # JSON is YAML.
            json.dump({"default_model": "passthrough", "mcp": {"servers": {"pages": server}}}, file)
        app = App("pages", parse_cli_args=False, config_path="fastagent.config.yaml")
        app.agent(name="user", servers=["pages"])(self.call)
        async with app.run() as agents:
            self.agent = agents["user"]
            yield

    async def tools(self):
        tools = (await self.agent.list_tools()).tools
        return [tool.name.removeprefix("pages-") for tool in tools]

    async def call(self, name, arguments=None, progress=None):
        result = await self.agent.call_tool(f"pages-{name}", arguments or {})
        return result_of(result.content, result.isError)


def plain_result(result):
    """The `Result` of an MCP result in the form of JSON."""
    text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
    if result.get("isError"):
        raise Refused(text)
    images = [block for block in result["content"] if block["type"] == "image"]
    return Result(text, [(image["mimeType"], image["data"]) for image in images])


ADAPTERS = {
    "pydantic-ai": PydanticAi,
    "mcp-use": McpUse,
    "strands": Strands,
    "google-adk": GoogleAdk,
    "llama-index": LlamaIndex,
    "fast-agent": FastAgent,
}

adapter = ADAPTERS[os.environ["MCP_WEB_CLIENT"]]
remark = getattr(adapter, "remark", "")
adapter.client = f"{adapter.package} {version(adapter.package)}{remark}"
run(adapter)
