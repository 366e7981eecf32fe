"""The walk that all Python drivers share: what a client does, once, as one line of JSON for each step.

A driver subclasses `Driver` for one client library and ends with `run(ItsDriver)`. It is started with
one argument, the JSON of how to reach the server:
`{"url", "token"}` for Streamable HTTP, `{"command", "args", "env"}` for stdio.
Only the lines of the steps go to stdout; what a library logs goes to stderr.
"""

import asyncio
import base64
import json
import os
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

DEADLINE = 10


class Lacks(Exception):
    """The library does not offer what the step needs."""


class Refused(Exception):
    """The result of a call is marked as an error; its text is the message."""


@dataclass
class Result:
    """The result of a call for a program: all text blocks, joined, and the pictures as (type, base64)."""

    text: str
    pictures: list = field(default_factory=list)


def result_of(content, is_error):
    """The `Result` of the content blocks of the MCP SDK, whose names differ between 1.x and 2.x."""
    text = "\n".join(block.text for block in content if block.type == "text")
    if is_error:
        raise Refused(text)
    images = [block for block in content if block.type == "image"]
    return Result(text, [(getattr(i, "mime_type", None) or i.mimeType, i.data) for i in images])


class Driver:
    """One client library. A method that the library cannot do raises `Lacks`."""

    client = "name and version of the library"
    leaving = "how the library says to close it"

    def __init__(self, config):
        self.config = config
        self.over_http = "url" in config
        self.bearer = {"Authorization": f"Bearer {config.get('token')}"}
        self.environment = {**os.environ, **config.get("env", {})}
        self.changed = asyncio.Event()

    def connected(self):
        """An async context: connected inside it, closed in the library's way after it."""
        raise NotImplementedError

    async def protocol(self):
        """The negotiated revision, None if the library does not report it."""
        return None

    async def tools(self):
        """The names of the tools."""
        raise NotImplementedError

    async def call(self, name, arguments=None, progress=None):
        """Calls a tool; `progress` takes each message. Gives a `Result`, raises errors."""
        raise NotImplementedError

    async def hang(self):
        """The call that `cancel` cancels."""
        await self.call("hang", {})

    async def another(self, name, arguments):
        """Calls a tool while `hang` is under way, and reaches the page after it."""
        await self.call(name, arguments)

    @asynccontextmanager
    async def listening(self):
        """Inside it, `self.changed` gets set when the list of tools changed."""
        self.changed.clear()
        yield

    def can_elicit(self):
        """Raises `Lacks` if the library has no handler for elicitation."""

    def can_report_progress(self):
        """Raises `Lacks` if the library has no callback for progress."""

    def can_cancel(self):
        """Raises `Lacks` if the library has no way to cancel a call."""


def error_text(error):
    """The text of an error; of a group, those of its members."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(error_text(member) for member in error.exceptions)
    return str(error) or type(error).__name__


async def names(driver):
    return {"tools": await driver.tools()}


async def call(driver):
    return {"text": (await driver.call("add_note", {"text": "buy milk"})).text}


async def wrong(driver):
    try:
        return {"text": (await driver.call("add_note", {})).text}
    except Exception as error:
        return {"text": error_text(error)}


async def picture(driver):
    ((mime_type, data),) = (await driver.call("picture", {})).pictures
    return {"mimeType": mime_type, "bytes": len(base64.b64decode(data, validate=True))}


async def large(driver):
    try:
        text = (await driver.call("large", {"bytes": 3_000_000})).text
    except Exception as error:
        return {"error": error_text(error)}
    return {"text_bytes": len(text.encode()), "begins": text[:400], "ends": text[-400:]}


async def list_changed(driver):
    async with driver.listening():
        await driver.call("add_tool", {"name": "second"})
        try:
            await asyncio.wait_for(driver.changed.wait(), DEADLINE)
        except TimeoutError:
            pass
        # Inside of the context: a listener may have to be there for the new list.
        return {"heard": driver.changed.is_set(), "tools": await driver.tools()}


async def progress(driver):
    driver.can_report_progress()
    messages = []
    await driver.call("count", {"to": 4}, messages.append)
    return {"messages": list(messages)}


async def cancel(driver):
    driver.can_cancel()
    hanging = asyncio.create_task(driver.hang())
    # Its answer shows that the page has also received `hang`.
    await asyncio.create_task(driver.another("count", {"to": 1}))
    hanging.cancel()
    await asyncio.wait([hanging], timeout=DEADLINE)
    return {"text": (await asyncio.wait_for(driver.call("cancelled", {}), DEADLINE)).text}


async def elicitation(driver):
    driver.can_elicit()
    return {"text": (await driver.call("ask", {})).text}


STEPS = {
    "list": names,
    "call": call,
    "wrong": wrong,
    "picture": picture,
    "large": large,
    "list_changed": list_changed,
    "progress": progress,
    "cancel": cancel,
    "elicitation": elicitation,
}


# Those to walk through: all of them without the variable.
WANTED = os.environ.get("MCP_WEB_STEPS", ",".join(STEPS)).split(",")


def tell(step, **known):
    print(json.dumps({"step": step, **known}), flush=True)


LOADING_CALLS = 4
CALLS_BEFORE_RESTART = 20
CHECKED_CALLS = 20


async def walk_over_restart(driver):
    """Calls `echo` without a break, over a restart of the bridge. A line on stdin means that it listens
    again: no call that begins later may fail. With MCP_WEB_OVER_RESTART=quiet, no call is made in between.
    With `deploy`, several bridges are replaced until the line comes, and every call counts.
    """
    is_quiet = os.environ["MCP_WEB_OVER_RESTART"] == "quiet"
    is_deploy = os.environ["MCP_WEB_OVER_RESTART"] == "deploy"
    is_loaded = asyncio.Event()
    answered, failed, state = [], [], {"id": 0, "before": 0, "checked": is_deploy, "over": False}

    async def call_once():
        state["id"] += 1
        own, counts = state["id"], state["checked"]
        try:
            text = (await driver.call("echo", {"id": own})).text
            if str(own) not in text:
                raise Refused(text)
        except Exception as error:
            if counts:
                failed.append(error_text(error))
            return False
        if counts:
            answered.append(own)
        return True

    async def load():
        while not state["over"] if is_deploy else len(answered) + len(failed) < CHECKED_CALLS:
            is_answered = await call_once()
            if is_answered:
                state["before"] += 1
            if is_deploy or not is_answered:
                await asyncio.sleep(0.02)  # sleep: a failed attempt ends at once, and a deploy takes long
            if state["before"] >= CALLS_BEFORE_RESTART:
                is_loaded.set()
                if is_quiet and not state["checked"]:
                    return

    async with driver.connected():
        tell("connect", client=driver.client, protocol=await driver.protocol())
        await driver.tools()
        # Held, because the loop itself would drop them.
        state["callers"] = [asyncio.create_task(load()) for _ in range(LOADING_CALLS)]
        await is_loaded.wait()
        if is_quiet:
            await asyncio.gather(*state["callers"])
        tell("loaded")
        await asyncio.to_thread(sys.stdin.readline)
        state["checked"] = state["over"] = True
        # Over a restart, some callers of before may still wait for an answer that was lost.
        last = state["callers"] if is_deploy else [load(), load()]
        tools, *_ = await asyncio.gather(driver.tools(), *last)
        tell("checked", answered=answered, failed=failed, tools=tools)
        os._exit(0)


async def walk(driver):
    at = "connect"
    try:
        async with driver.connected():
            tell(at, client=driver.client, protocol=await driver.protocol())
            for at, action in STEPS.items():
                if at not in WANTED:
                    continue
                try:
                    tell(at, **await action(driver))
                except Lacks as lacks:
                    tell(at, lacks=str(lacks))
                except Exception as error:
                    tell(at, failed=error_text(error))
            at = "leaving"
            tell(at, way=driver.leaving)
    except Exception as error:
        # The connection itself: it did not come about, broke, or did not close well.
        tell(at, failed=error_text(error))
        raise


def run(driver_class):
    walk_all = walk_over_restart if os.environ.get("MCP_WEB_OVER_RESTART") else walk
    asyncio.run(walk_all(driver_class(json.loads(sys.argv[1]))))
