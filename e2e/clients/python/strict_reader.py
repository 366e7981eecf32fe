"""Lists what a server offers with the MCP Python SDK over Streamable HTTP, and prints one line of JSON for
each era: the names that it read, or what its models rejected. It works with 1.x, which has only the era
with sessions, and with 2.x. The one argument has the server's `url` and `token`.
"""

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from importlib.metadata import version

from mcp.client.streamable_http import streamable_http_client
from pydantic import ValidationError

SDK = version("mcp")


@asynccontextmanager
async def connected_1(config, era):
    import httpx
    from mcp import ClientSession

    async with (
        httpx.AsyncClient(headers=config["headers"], timeout=httpx.Timeout(30, read=300)) as http,
        streamable_http_client(config["url"], http_client=http) as (read, write, *_),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


@asynccontextmanager
async def connected_2(config, era):
    import httpx2
    from mcp import Client

    async with httpx2.AsyncClient(headers=config["headers"], timeout=httpx2.Timeout(30, read=300)) as http:
        server = streamable_http_client(config["url"], http_client=http)
        async with Client(server, mode=era) as client:
            yield client


# The key in the result, the attribute that identifies an item, and the method; both in the spellings of
# 1.x and 2.x.
LISTS = {
    "tools": (["tools"], ["name"], "list_tools"),
    "prompts": (["prompts"], ["name"], "list_prompts"),
    "resources": (["resources"], ["uri"], "list_resources"),
    "resourceTemplates": (
        ["resourceTemplates", "resource_templates"],
        ["uriTemplate", "uri_template"],
        "list_resource_templates",
    ),
}


def first(item, names):
    return next(getattr(item, name) for name in names if hasattr(item, name))


async def read_list(client, keys, fields, method):
    """The names of everything that a list has, or what is rejected on the page after them."""
    names, cursor = [], None
    try:
        while True:
            page = await getattr(client, method)(**({"cursor": cursor} if cursor else {}))
            names += [str(first(item, fields)) for item in first(page, keys)]
            cursor = first(page, ["nextCursor", "next_cursor"])
            if not cursor:
                return {"names": names}
    except Exception as error:
        return {**describe(error), "after": len(names)}


def describe(error):
    """The paths that pydantic rejects, or only a message."""
    if isinstance(error, BaseExceptionGroup):
        return describe(error.exceptions[0])
    if isinstance(error, ValidationError):
        rejected = [{"path": list(it["loc"]), "message": it["msg"]} for it in error.errors()]
        return {"rejected": rejected}
    return {"error": f"{type(error).__name__}: {error}"}


async def read_with(config, connected, era):
    async with connected(config, era) as client:
        return {key: await read_list(client, *arguments) for key, arguments in LISTS.items()}


async def main():
    config = json.loads(sys.argv[1])
    config["headers"] = {"Authorization": f"Bearer {config['token']}"}
    eras = {"legacy": connected_1} if SDK.startswith("1.") else {
        "legacy": connected_2,
        "2026-07-28": connected_2,
    }
    for era, connected in eras.items():
        read = await read_with(config, connected, era)
        print(json.dumps({"reader": f"mcp {SDK} {era}", "read": read}), flush=True)


asyncio.run(main())
