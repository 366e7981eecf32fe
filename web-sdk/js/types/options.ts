/** What an app passes to `new McpWeb()`, and the configuration that it gives to AI clients. */

import type { DialogStrings } from "./dialog.ts";
import type { WebMcpOptions } from "./webmcp.ts";

/** How the app presents itself, and which bridge it uses. */
export interface McpWebOptions {
  /** The app's name, as people know it. */
  name: string;
  /** What the app is for, in words that help a model decide when to use it. */
  description?: string;
  /** The app's version. */
  version?: string;
  /** URL of the app's icon. One with more than 32,768 characters is left out, with a warning in the console. */
  icon?: string;
  /**
   * Where the bridge is: `http`, `https`, `ws` or `wss`, with a path if it has one.
   *
   * @defaultValue The origin this module was loaded from if a bridge served it (its path begins with
   * `/sdk/`), else `http://localhost:3001`.
   */
  bridgeUrl?: string;
  /**
   * The token that pages and AI clients share: whoever has it may call the tools. At least 16
   * characters. A function is asked again before every connection, and before a token that ends does,
   * so it can return a fresh one; when it fails, it is asked again after a while, and the status says why.
   *
   * Another `new McpWeb()` for the same app replaces the function, and the new one is called at once. A token of the same
   * user disturbs nothing. One of another user ends the session of the former user and cancels its calls. With strings,
   * `disconnect()` the object of the former user: each has its own session.
   *
   * @defaultValue 192 random bits, kept under the key `mcp-web:token:<bridgeUrl>` in the storage
   * named by {@link McpWebOptions.storage}.
   */
  authToken?: string | (() => string | Promise<string>);
  /**
   * Where a token that this module made is kept: in `localStorage` (all tabs of the app share it, and
   * it outlives them), in `sessionStorage` (this tab only), or nowhere (this document only). With `"none"`,
   * {@link McpWeb.sessionId} is not kept either.
   *
   * @defaultValue `"local"`
   */
  storage?: "local" | "session" | "none";
  /**
   * The session of this tab: at most 128 bytes. A connection with the same id and token takes over the
   * session of an older one, whose status becomes `failed` (`SessionSuperseded`).
   *
   * @defaultValue 128 random bits. They stay with the tab over reloads (`sessionStorage`, under the key
   * `mcp-web:session:<bridgeUrl>:<name>`, while no document of the app is there); a tab that was duplicated,
   * or opened from this one, has others. Should two tabs have the same after all, the older one goes on with others.
   */
  sessionId?: string;
  /**
   * A name for this tab, which a client can choose it by. Where another session of the token has it, the bridge gives
   * this one a number ({@link McpWeb.sessionName}), or refuses it if it is so configured.
   */
  sessionName?: string;
  /**
   * Whether to connect at once. Otherwise nothing is loaded before {@link McpWeb.connect}.
   *
   * @defaultValue `true`
   */
  autoConnect?: boolean;
  /**
   * Whether {@link CallContext.elicit} may ask the user in this page, in an accessible dialog that is loaded when it
   * is first needed: never; when the client lacks the elicitation that is needed (several desktop clients have none);
   * or always. A dialog cannot be shown in a worker.
   *
   * @defaultValue `"never"`
   */
  elicitInPage?: "never" | "fallback" | "always";
  /**
   * Who answers for the person at the page. With `"person"`, {@link Query.approve} allows a call only in the handler of a
   * click or a key of the person, after the request, and `mcpWeb.query()` needs such a click or key where page tools are
   * on. Events of scripts do not count, and so nor do those of page tools. With `"app"`, the app answers by itself: whatever
   * makes its code run can allow calls and ask the agent, page tools of a model included.
   *
   * @defaultValue `"person"`
   */
  approvals?: "person" | "app";
  /**
   * Words of the dialogs for {@link McpWebOptions.elicitInPage} and {@link QueryOptions.approvalDialog}, such as a translation.
   * Those not given are English.
   */
  dialogStrings?: DialogStrings;
  /**
   * Whether the page shares tools with the browser, where that has WebMCP (`document.modelContext`) and lets the page use
   * it: what the page adds is registered there, and what is registered only there is offered to AI clients. `false` does
   * neither. Loads `mcp-web-model-context.js` in such a browser.
   *
   * @defaultValue `true`: both
   */
  webmcp?: boolean | WebMcpOptions;
  /**
   * The SDK's wasm (`mcp-web-sdk/mcp_web_core_bg.wasm`), for apps whose tools put it where this module does not find it:
   * its address, a response with it, its bytes, or the compiled module; or a promise of one of these.
   *
   * @defaultValue The file beside this module. Where that is missing, as in a development server that bundles packages
   * without their files, a JavaScript module of this package that has the wasm in it.
   */
  wasm?: WasmInput | PromiseLike<WasmInput>;
}

/** What {@link McpWebOptions.wasm} may be. */
export type WasmInput = string | URL | Response | BufferSource | WebAssembly.Module;

/** Ends a subscription. */
export type Unsubscribe = () => void;

/** Configuration of a client that starts servers as processes. */
export interface StdioMcpConfig {
  /** The servers by their names: one, with the name of the app. */
  mcpServers: {
    [name: string]: {
      /** The program that connects the client to the bridge. */
      command: "mcp-web-stdio";
      /** The arguments of the program: none. */
      args: string[];
      /** The address of the bridge, and the token. */
      env: { MCP_SERVER_URL: string; AUTH_TOKEN: string };
    };
  };
}

/** Configuration of a client that speaks Streamable HTTP. */
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
