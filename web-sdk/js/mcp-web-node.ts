/**
 * Lets AI clients use a program in Node (22 and later), Deno or Bun through the tools, prompts and resources that it
 * registers, like a page in a tab.
 *
 * ```js
 * import { McpWeb } from "mcp-web-sdk/node";
 *
 * const mcpWeb = new McpWeb({ name: "Counter", stateFile: "counter.json" });
 * let count = 0;
 * mcpWeb.addTool({ name: "increment", description: "Counts up", handler: () => ({ count: ++count }) });
 *
 * await mcpWeb.connect();
 * console.log(JSON.stringify(mcpWeb.mcpConfig, null, 2)); // to paste into an AI client
 * ```
 *
 * The process stays alive while it is connected or trying to connect. It exits when it is disconnected and has no other
 * work.
 *
 * @packageDocumentation
 */

import { McpWeb as Connection, McpWebError, content } from "./mcp-web.ts";
import { resolveBridgeUrl, validateOptions } from "./mcp-web/options.ts";
import type { AppDefinition } from "./types/definitions.ts";
import type { AddOptions, AppHandle } from "./types/handles.ts";
import type { ToolSchema } from "./types/infer.ts";
import type { McpWebOptions } from "./types/options.ts";
import type { Status } from "./types/status.ts";
import { webSocketClass } from "./node/environment.ts";
import type { NodeOptions } from "./node/options.ts";
import { leaveOnSignals } from "./node/signals.ts";
import { Sockets } from "./node/sockets.ts";
import { loadState } from "./node/state-file.ts";

export type * from "./types/index.ts";
export type { NodeOptions, WebSocketClass } from "./node/options.ts";
export { McpWebError, content };

/** Maximum length of a session id that a bridge accepts. */
const MAX_SESSION_ID_BYTES = 128;

/** Returns whether there is a connection, or an attempt in progress. */
const isLive = ({ state }: Status) => /^(loading|connecting|connected|reconnecting)$/.test(state);

/** Returns the options, completed from this runtime and the file. */
function complete(options: NodeOptions, sockets: Sockets): McpWebOptions & NodeOptions {
  validateOptions(options);
  const WebSocketClass = webSocketClass(options);
  if (!WebSocketClass) {
    throw new TypeError('this runtime has no WebSocket (Node before 22): give one as `WebSocket`, such as that of the package "ws"');
  }
  if (typeof WebSocketClass !== "function") throw new TypeError("WebSocket must be a class");
  const { stateFile, name, bridgeUrl } = options;
  if (stateFile !== undefined && (typeof stateFile !== "string" || !stateFile)) throw new TypeError("stateFile must be a path");
  if (options.sessionId && new TextEncoder().encode(options.sessionId).length > MAX_SESSION_ID_BYTES) {
    throw new TypeError(`sessionId may have ${MAX_SESSION_ID_BYTES} bytes`);
  }
  const isNeeded = stateFile !== undefined && (options.authToken === undefined || options.sessionId === undefined);
  const state = !isNeeded ? undefined : loadState(stateFile, resolveBridgeUrl(bridgeUrl, undefined), name);
  return {
    ...options,
    authToken: options.authToken ?? state?.token,
    sessionId: options.sessionId ?? state?.sessionId,
    WebSocket: sockets.track(WebSocketClass),
    storage: "none",
    webmcp: false,
    // The signals must be handled before it connects.
    autoConnect: false,
  };
}

/**
 * A program's connection to a bridge, and the items that it offers: everything that a page has, except features that need a
 * document. Each object has its own session.
 */
export class McpWeb extends Connection {
  /**
   * @throws TypeError if an option has the wrong type, `bridgeUrl` is not a URL, or the runtime has no `WebSocket`; Error
   * if `stateFile` cannot be used.
   */
  constructor(options: NodeOptions) {
    const sockets = new Sockets();
    super(complete(options, sockets));
    if (options.handleSignals !== false) this.#leaveOnSignals(sockets);
    // The status reports failures.
    if (options.autoConnect !== false) this.connect().catch(() => {});
  }

  /**
   * Offers an MCP App: a tool, and a page that a host shows with its result. A process has no address that `url` could be
   * relative to, so pass the page as `html`.
   *
   * @throws TypeError if there is no `html`, or for the reasons of `addTool()`.
   */
  override addApp<
    const InputSchema extends ToolSchema | undefined = undefined,
    const OutputSchema extends ToolSchema | undefined = undefined,
    Value = unknown,
  >(definition: AppDefinition<InputSchema, OutputSchema, Value>, options?: AddOptions): AppHandle<InputSchema, OutputSchema> {
    if (definition?.url !== undefined) throw new TypeError(`app "${definition.name}" needs its page as html: a process has no address that url is relative to`);
    return super.addApp(definition, options);
  }

  #leaveOnSignals(sockets: Sockets): void {
    const leave = async () => {
      await this.disconnect();
      await sockets.closed();
    };
    let stop: (() => void) | undefined;
    this.onStatusChange((status) => {
      if (isLive(status)) stop ??= leaveOnSignals({ leave });
      else {
        stop?.();
        stop = undefined;
      }
    });
  }
}
