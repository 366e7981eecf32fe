/**
 * Tests an app in a real browser with a real bridge: the program `mcp-web-bridge` runs for the test, on a free port.
 *
 * ```ts
 * import { expect, test } from "@playwright/test";
 * import { startBridge } from "mcp-web-sdk/testing/bridge";
 *
 * test("an AI client adds a task", async ({ page }) => {
 *   await using bridge = await startBridge();
 *   await bridge.attach(page);
 *   await page.goto("http://localhost:5173/");
 *   const client = await bridge.connectTestClient(page);
 *   await client.callTool("add_task", { title: "Milk" });
 *   await expect(page.getByText("Milk")).toBeVisible();
 * });
 * ```
 *
 * Runs in Node and needs the package `@modelcontextprotocol/client`, whose client it uses.
 *
 * @packageDocumentation
 */

import { BridgeClient } from "./bridge-client.ts";
import { type BridgeProcess, startProcess } from "./bridge-process.ts";
import type { TestClient, TestClientOptions } from "./types.ts";

export type * from "./types.ts";

/** How the bridge is started. */
export interface BridgeOptions {
  /**
   * The program.
   *
   * @defaultValue `"mcp-web-bridge"`, from the `PATH`
   */
  command?: string;
  /** Arguments for the program, besides its address. `mcp-web-bridge --help` lists them. */
  args?: readonly string[];
}

/** A tab of Playwright: what this module uses of its `Page`. */
export interface BrowserPage {
  /** Adds a script that runs in each document before its own scripts. */
  addInitScript(script: any, argument?: any): Promise<unknown>;
  /** Runs a function in the document, and returns its result. */
  evaluate(script: any, argument?: any): Promise<any>;
}

/** A bridge that runs for a test. */
export class TestBridge implements AsyncDisposable {
  /** Where the bridge listens, such as `http://127.0.0.1:40123`. */
  readonly url: string;
  readonly #process: BridgeProcess;
  readonly #clients: BridgeClient[] = [];

  /** @internal */
  constructor(process: BridgeProcess) {
    this.#process = process;
    this.url = process.url;
  }

  /**
   * Makes the documents that a tab loads from now on connect to this bridge, whatever `bridgeUrl` they have. Call it
   * before `page.goto()`.
   */
  async attach(page: BrowserPage): Promise<void> {
    await page.addInitScript(redirectSockets, this.url);
  }

  /**
   * Connects an MCP client to the page of a tab. What the page has added when it connects is there when the promise is
   * fulfilled.
   *
   * @throws Error when the page makes no `McpWeb` within `timeout`, or cannot connect.
   */
  async connectTestClient(page: BrowserPage, options: TestClientOptions & { timeout?: number } = {}): Promise<TestClient> {
    const { timeout = 10_000, ...clientOptions } = options;
    const { token, error } = await page.evaluate(waitForPage, timeout);
    if (error) throw new Error(error);
    const client = await BridgeClient.connect(`${this.url}/mcp`, token, clientOptions);
    this.#clients.push(client);
    return client;
  }

  /** Closes the clients, and ends the program. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#clients.map((client) => client.close()));
    await this.#process.stop();
  }

  /** As {@link TestBridge.close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Starts a bridge on a free port of this machine.
 *
 * @throws Error when the program is missing, or does not start.
 */
export async function startBridge({ command = "mcp-web-bridge", args = [] }: BridgeOptions = {}): Promise<TestBridge> {
  return new TestBridge(await startProcess(command, args));
}

/** Runs in the page before its scripts: sockets of the SDK go to the bridge of the test. */
function redirectSockets(bridgeUrl: string): void {
  globalThis.WebSocket = new Proxy(globalThis.WebSocket, {
    construct(target, [address, ...rest], newTarget) {
      const url = new URL(String(address), location.href);
      if (url.pathname.endsWith("/ws") && url.searchParams.has("session")) {
        const { host } = new URL(bridgeUrl);
        address = `ws://${host}/ws${url.search}`;
      }
      return Reflect.construct(target, [address, ...rest], newTarget);
    },
  });
}

/** Runs in the page: waits until it is connected and the bridge has its tools, and returns its token. */
async function waitForPage(timeout: number): Promise<{ token?: string; error?: string }> {
  const end = performance.now() + timeout;
  for (;;) {
    const registry = (globalThis as any)[Symbol.for("mcp-web.pages")] as Map<string, { page: any }> | undefined;
    const { page } = registry?.values().next().value ?? {};
    if (page?.status.state === "connected") {
      // The bridge takes registrations in their order: when it has this one, it has those before.
      const last = page.addTool({ name: "test_client_is_connecting", handler() {} });
      await last.registered;
      await last.remove();
      return { token: page.authToken };
    }
    if (page?.status.state === "failed") return { error: `the page cannot connect: ${page.status.error.message}` };
    if (performance.now() > end) {
      const state = page ? `is ${page.status.state}: ${page.status.error?.message}` : "makes no McpWeb";
      return { error: `the page ${state} after ${timeout} ms` };
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
