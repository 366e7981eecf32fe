/** Connects the pages of a test with the bridge in memory. */

import type { McpWeb } from "../mcp-web.ts";
import { pageRegistry } from "../mcp-web/page-registry.ts";
import { hasFakeClock, nextTask } from "./environment.ts";
import { Server } from "./server.ts";
import { InMemorySocket } from "./socket.ts";
import { loadWasm } from "./wasm.ts";

/** The bridges of all tokens. */
const servers = new Map<string, Promise<Server>>();

function findServer(token: string): Promise<Server> {
  let server = servers.get(token);
  if (!server) {
    servers.set(token, (server = Server.create()));
    server.catch(() => servers.delete(token));
  }
  return server;
}

/** Returns whether a socket is one that the SDK opens for its pages. */
function isBridgeSocket(url: URL): boolean {
  if (!url.searchParams.has("session")) return false;
  return [...pageRegistry().values()].some(({ page }) => {
    const { href } = new URL(`${(page as McpWeb).bridgeUrl}/ws`);
    return href.replace(/^http/, "ws") === url.href.split("?")[0];
  });
}

/** Sockets of pages stay in the test; all others work normally. */
function replaceWebSocket(): void {
  const Replaced: unknown = globalThis.WebSocket;
  const base = typeof Replaced === "function" ? Replaced : function WebSocket() {};
  globalThis.WebSocket = new Proxy(base, {
    construct(target, args, newTarget) {
      const url = new URL(String(args[0]), globalThis.location?.href);
      if (isBridgeSocket(url)) return new InMemorySocket(url, findServer);
      if (target !== Replaced) throw new Error("there is no WebSocket here");
      return Reflect.construct(target, args, newTarget);
    },
  }) as typeof WebSocket;
}

replaceWebSocket();

/** Returns the bridge that a page is connected to, once it is. */
export async function serverOf(mcpWeb: McpWeb): Promise<Server> {
  if (typeof mcpWeb?.connect !== "function") throw new TypeError("connectTestClient() needs the page's McpWeb");
  if (hasFakeClock) {
    throw new Error("the test's clock is a fake one since before mcp-web-sdk/testing was imported: import it first, then fake the clock");
  }
  await loadWasm();
  await connect(mcpWeb);
  let server = await findServer(mcpWeb.authToken!);
  if (!server.hasSession(mcpWeb.sessionId)) {
    // It has connected to a real bridge before this module was loaded.
    await mcpWeb.disconnect();
    await connect(mcpWeb);
    server = await findServer(mcpWeb.authToken!);
  }
  await nextTask();
  return server;
}

async function connect(mcpWeb: McpWeb): Promise<void> {
  try {
    await untilConnected(mcpWeb);
  } catch (cause) {
    if ((cause as { code?: string }).code !== "NotInBrowser") throw cause;
    throw new Error(
      "the page was made where there is no document or no WebSocket: run the test in jsdom or happy-dom " +
        '(`environment: "jsdom"` in the configuration of Vitest), or import mcp-web-sdk/testing before the app',
      { cause },
    );
  }
}

/** Waits for the connection. Rejected if an attempt fails, because nothing would change for the next one. */
async function untilConnected(mcpWeb: McpWeb): Promise<void> {
  let stop = () => {};
  const failed = new Promise<never>((_resolve, reject) => {
    let failures = 0;
    stop = mcpWeb.onStatusChange((status) => {
      // The first failure may be that of an attempt to connect to a real bridge, before this module was loaded.
      const hasFailed = status.state === "reconnecting" && status.retryInMs !== undefined;
      if (hasFailed && ++failures > 1) reject(status.error);
    });
  });
  try {
    await Promise.race([mcpWeb.connect(), failed]);
  } finally {
    stop();
  }
}
