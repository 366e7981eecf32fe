/**
 * Tests an app in a real browser with a real bridge: the program `mcp-web bridge` runs for the test, on a free port.
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
 * Runs in Node and requires the package `@modelcontextprotocol/client`, whose client it uses.
 *
 * @packageDocumentation
 */

import type { McpWeb } from "../mcp-web.ts";
import type { ToolDefinition } from "../types/definitions.ts";
import type { ToolHandle } from "../types/handles.ts";
import { BridgeClient } from "./bridge-client.ts";
import { type BridgeProcess, startProcess } from "./bridge-process.ts";
import { asyncDispose } from "./client-base.ts";
import type { TestClient, TestClientOptions } from "./types.ts";

export type * from "./types.ts";

/** Options for starting the bridge. */
export interface BridgeOptions {
  /**
   * The program.
   *
   * @defaultValue `"mcp-web"`, from the `PATH`
   */
  command?: string;
  /** Additional arguments for the bridge. `mcp-web bridge --help` lists them. */
  args?: readonly string[];
}

/** The name of the client, and the page that it is for. */
export interface BridgeClientOptions extends TestClientOptions {
  /**
   * How long to wait for the page, in milliseconds.
   *
   * @defaultValue 10000
   */
  timeout?: number;
  /**
   * The `name` of the `McpWeb`, if a page creates several.
   *
   * @defaultValue The first one.
   */
  app?: string;
}

/** A tab of Playwright: the part of its `Page` that this module uses. */
export interface BrowserPage {
  /** Adds a script that runs in each document before its own scripts. */
  addInitScript(script: any, argument?: any): Promise<unknown>;
  /** Runs a function in the document, and returns its result. */
  evaluate(script: any, argument?: any): Promise<any>;
}

/** An app of `mcp-web-sdk/node`: the part of its `McpWeb` that this module uses. */
export type ProcessApp = Pick<McpWeb, "authToken" | "bridgeUrl" | "connect"> & { addTool(definition: ToolDefinition): ToolHandle };

/** A bridge that runs for a test. */
export class TestBridge implements AsyncDisposable {
  /** The address of the bridge, such as `http://127.0.0.1:40123`. */
  readonly url: string;
  readonly #process: BridgeProcess;
  readonly #clients: BridgeClient[] = [];

  /** @internal */
  constructor(process: BridgeProcess) {
    this.#process = process;
    this.url = process.url;
  }

  /**
   * Makes later documents of a tab connect to this bridge, whatever their `bridgeUrl` is. Call it before `page.goto()`. A
   * tab can be attached to another bridge later.
   */
  async attach(page: BrowserPage): Promise<void> {
    await page.addInitScript(redirectSockets, this.url);
  }

  /**
   * Connects an MCP client to the page of a tab, or to the `McpWeb` of a program in Node whose `bridgeUrl` is
   * {@link TestBridge.url}. Items that were added before the call are available when the promise is fulfilled.
   *
   * @throws Error if the page creates no `McpWeb` within `timeout`, if it or the program cannot connect, or if the program
   * uses another bridge.
   */
  async connectTestClient(page: BrowserPage | ProcessApp, options: BridgeClientOptions = {}): Promise<TestClient> {
    const { timeout = 10_000, app, ...clientOptions } = options;
    const isTab = "evaluate" in page;
    const { token, error } = isTab ? await page.evaluate(waitForPage, { bridgeUrl: this.url, timeout, name: app }) : await connectApp(page, this.url);
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

  /** Like {@link TestBridge.close}, for `await using`. */
  [asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Starts a bridge on a free port of this machine.
 *
 * @throws Error if the program is missing or does not start.
 */
export async function startBridge({ command = "mcp-web", args = [] }: BridgeOptions = {}): Promise<TestBridge> {
  return new TestBridge(await startProcess(command, args));
}

/** Waits until the app is connected and the bridge has its tools, and returns its token. */
async function connectApp(app: ProcessApp, bridgeUrl: string): Promise<{ token?: string; error?: string }> {
  if (app.bridgeUrl !== bridgeUrl) return { error: `the app's bridge is ${app.bridgeUrl}: give it the bridgeUrl ${bridgeUrl}` };
  await app.connect();
  // The bridge processes registrations in order: when it has answered this one, it has processed the earlier ones.
  const last = app.addTool({ name: "test_client_is_connecting", description: "A test waits until the tools before it are registered", handler() {} });
  await last.registered.catch(() => {});
  await last.remove();
  return { token: app.authToken! };
}

/**
 * Runs in the page before its scripts, and redirects sockets of the SDK to the bridge that the tab was last attached to.
 */
function redirectSockets(bridgeUrl: string): void {
  const [pages, testBridge] = [Symbol.for("mcp-web.pages"), Symbol.for("mcp-web.test-bridge")];
  const global = globalThis as any;
  const isRedirecting = testBridge in global;
  global[testBridge] = bridgeUrl;
  if (isRedirecting) return;
  const isOfPage = ({ href }: URL) =>
    [...(global[pages]?.values() ?? [])].some(({ page }) => new URL(`${page.bridgeUrl}/ws`).href.replace(/^http/, "ws") === href.split("?")[0]);
  globalThis.WebSocket = new Proxy(globalThis.WebSocket, {
    construct(target, args, newTarget) {
      const url = args.length > 0 && URL.canParse(String(args[0]), location.href) && new URL(String(args[0]), location.href);
      if (url && url.searchParams.has("session") && isOfPage(url)) {
        args[0] = `${global[testBridge].replace(/^http/, "ws")}/ws${url.search}`;
      }
      return Reflect.construct(target, args, newTarget);
    },
  });
}

/** The arguments of the function below. */
interface PageSearch {
  bridgeUrl: string;
  timeout: number;
  name: string | undefined;
}

/** Runs in the page: waits until it is connected and the bridge has its tools, and returns its token. */
async function waitForPage({ bridgeUrl, timeout, name }: PageSearch): Promise<{ token?: string; error?: string }> {
  const end = performance.now() + timeout;
  const global = globalThis as any;
  if (global[Symbol.for("mcp-web.test-bridge")] !== bridgeUrl) {
    return { error: "the page is not attached to this bridge: call attach(page) before page.goto()" };
  }
  for (;;) {
    // The key of a page has its name.
    const pages: [string, { page: any }][] = [...(global[Symbol.for("mcp-web.pages")] ?? [])];
    const page = pages.find(([key]) => name === undefined || JSON.parse(key)[1] === name)?.[1].page;
    if (page?.status.state === "connected") {
      // The bridge processes registrations in order: when it has answered this one, it has processed the earlier ones.
      const description = "A test waits until the tools before it are registered";
      const last = page.addTool({ name: "test_client_is_connecting", description, handler() {} });
      await last.registered.catch(() => {});
      await last.remove();
      return { token: page.authToken };
    }
    // A page with `autoConnect: false` waits for this call.
    if (page?.status.state === "idle") page.connect().catch(() => {});
    if (page?.status.state === "failed") return { error: `the page cannot connect: ${page.status.error.message}` };
    if (performance.now() > end) {
      const { state, error } = page?.status ?? {};
      const what = page ? `is ${state}${error ? `: ${error.message}` : ""}` : `makes no McpWeb${name === undefined ? "" : ` "${name}"`}`;
      return { error: `the page ${what} after ${timeout} ms` };
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
