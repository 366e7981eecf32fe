/** The options of `new McpWeb()`, and the configurations for AI clients. */

import type { DialogStrings } from "./dialog.ts";
import type { WebMcpOptions } from "./webmcp.ts";

/** The description of the app, its bridge, and its settings. */
export interface McpWebOptions {
  /** The app's name for people. */
  name: string;
  /** The purpose of the app, so that a model can decide when to use it. */
  description?: string;
  /** The app's version. */
  version?: string;
  /** URL of the app's icon. If it has more than 32,768 characters, it is left out, with a warning in the console. */
  icon?: string;
  /**
   * The address of the bridge: `http`, `https`, `ws` or `wss`, optionally with a path.
   *
   * @defaultValue The address in front of `/sdk/`, if this module was loaded from there, as bridges serve it; otherwise
   * `http://localhost:3001`.
   */
  bridgeUrl?: string;
  /**
   * The token that pages and AI clients share: anyone who has it may call the tools. At least 16 characters. A function is
   * called again before every connection, and before a token expires, so that it can return a fresh one. If it fails, it is
   * called again later, and the status has the reason.
   *
   * Another `new McpWeb()` for the same app replaces the function, and the new one is called immediately. A token of the
   * same user has no other effect. A token of another user ends the session of the former user and cancels its calls. With
   * strings, call `disconnect()` on the object of the former user, because each has a separate session.
   *
   * @defaultValue 192 random bits, stored under the key `mcp-web:token:<bridgeUrl>` in the storage named by
   * {@link McpWebOptions.storage}.
   */
  authToken?: string | (() => string | Promise<string>);
  /**
   * Where a generated token is stored: in `localStorage` (shared by all tabs of the app, and permanent), in
   * `sessionStorage` (this tab only), or nowhere (this document only). With `"none"`, {@link McpWeb.sessionId} is also not
   * stored.
   *
   * @defaultValue `"local"`
   */
  storage?: "local" | "session" | "none";
  /**
   * The id of this tab's session, at most 128 bytes. A connection with the same id and token takes over the session of an
   * older one, whose status becomes `failed` (`SessionSuperseded`).
   *
   * @defaultValue 128 random bits. They stay with the tab across reloads (`sessionStorage`, under the key
   * `mcp-web:session:<bridgeUrl>:<name>`, while no document of the app is loaded). A tab that was duplicated, or opened
   * from this one, has others. If two tabs have the same bits nevertheless, the older one continues with others.
   */
  sessionId?: string;
  /**
   * A name for this tab, by which a client can select it. If another session of the token has it, the bridge appends a
   * number ({@link McpWeb.sessionName}), or rejects it if so configured.
   */
  sessionName?: string;
  /**
   * Whether to connect immediately. Otherwise nothing is loaded before {@link McpWeb.connect}.
   *
   * @defaultValue `true`
   */
  autoConnect?: boolean;
  /**
   * Whether {@link CallContext.elicit} may ask the user in this page, in an accessible dialog that is loaded when it is
   * first needed: never; if the client does not support the required elicitation (several desktop clients do not); or
   * always. A dialog cannot be shown in a worker.
   *
   * @defaultValue `"never"`
   */
  elicitInPage?: "never" | "fallback" | "always";
  /**
   * How questions to the person at the page are answered. With `"person"`, {@link Query.approve} allows a call only in the
   * handler of a click or a key of the person, after the request, and `mcpWeb.query()` needs such a click or key while page
   * tools are enabled. Events of scripts, including those of page tools, do not count. With `"app"`, the app answers by
   * itself: any code that runs in the app, including page tools of a model, can then allow calls and send queries to the
   * agent.
   *
   * @defaultValue `"person"`
   */
  approvals?: "person" | "app";
  /**
   * Texts of the dialogs for {@link McpWebOptions.elicitInPage} and {@link QueryOptions.approvalDialog}, such as a
   * translation. Missing ones are English.
   */
  dialogStrings?: DialogStrings;
  /**
   * Whether the page shares tools with the browser, if that has WebMCP (`document.modelContext`) and allows the page to use
   * it: the page's tools are registered there, and tools that are registered only there are offered to AI clients. `false`
   * does neither. Loads `mcp-web-model-context.js` in such a browser.
   *
   * @defaultValue `true`: both
   */
  webmcp?: boolean | WebMcpOptions;
  /**
   * The SDK's wasm (`mcp-web-sdk/mcp_web_core_bg.wasm`), for apps whose build puts it where this module cannot find it: its
   * address, a response with it, its bytes, the compiled module, or a promise of one of these.
   *
   * @defaultValue The file beside this module. If that is missing, as in a development server that bundles packages without
   * their files, a JavaScript module of this package that contains the wasm.
   */
  wasm?: WasmInput | PromiseLike<WasmInput>;
}

/** The types of {@link McpWebOptions.wasm}. */
export type WasmInput = string | URL | Response | BufferSource | WebAssembly.Module;

/** Ends a subscription. */
export type Unsubscribe = () => void;

/** The configuration of a client that starts servers as processes. */
export interface StdioMcpConfig {
  /** The servers by their names: one, with the name of the app. */
  mcpServers: {
    [name: string]: {
      /** The program that connects the client to the bridge. */
      command: "mcp-web";
      /** The arguments of the program: its command. */
      args: string[];
      /** The address of the bridge, and the token. */
      env: { MCP_SERVER_URL: string; AUTH_TOKEN: string };
    };
  };
}

/** The configuration of a client that uses Streamable HTTP. */
export interface HttpMcpConfig {
  /** The servers by their names: one, with the name of the app. */
  mcpServers: {
    [name: string]: {
      /** The transport: Streamable HTTP. */
      type: "http";
      /** The address of the MCP server of the bridge. */
      url: string;
      /** The header with the token. */
      headers: { Authorization: string };
    };
  };
}
