/** A host: one connection to a bridge, which offers the sessions of one user. */

import { McpWeb } from "mcp-web-sdk/node";
import { completeLimits } from "mcp-web-sdk/page-driver";

import type { AppUser, LowdefyApp } from "../engine/app.ts";
import { invalidArguments } from "../processes/call-failure.ts";
import type { ProcessPool } from "../processes/process-pool.ts";
import { SWEEP_INTERVAL_MS, type SessionStore } from "../stores/index.ts";
import { RateLimit } from "./rate-limit.ts";
import { Sessions, type PageToolCall } from "./sessions.ts";
import type { Settings } from "./settings.ts";
import * as tools from "./tool-definitions.ts";
import { userOf } from "./user.ts";

/** How long a call may wait for earlier ones, as for page tools. */
const MAX_WAIT_MS = 60_000;
const MAX_NAME_CHARS = 100;
const MAX_DESCRIPTION_CHARS = 500;

/** The context of a tool's handler. */
type Context = Parameters<Parameters<McpWeb["addTool"]>[0]["handler"]>[1];
type Arguments = Record<string, unknown>;
type Handler = (args: Arguments, context: Context) => unknown;

/** The options of a host. */
export interface HostOptions {
  /** The name of the app, as AI clients show it. */
  name: string;
  app: LowdefyApp;
  /** The processes for the sessions of all users. */
  pool: ProcessPool;
  settings: Settings;
  store: SessionStore;
  bridgeUrl: string;
  token: string;
  /** The id of the session at the bridge: a restarted host continues the same one. */
  bridgeSession: string;
  /** The roles of users with opaque tokens. */
  roles: readonly string[];
}

/** The sessions of one user at a bridge. */
export class LowdefyHost {
  readonly mcpWeb: McpWeb;
  readonly #sessions: Sessions;
  #rate: RateLimit;
  readonly #roles: readonly string[];
  readonly #sweep: NodeJS.Timeout;
  readonly #tools: ReturnType<McpWeb["addTool"]>[] = [];
  /** The build that the sessions use, including newer ones. */
  readonly #current: { app: LowdefyApp; limits: Settings };

  constructor({ name, app, pool, settings, store, bridgeUrl, token, bridgeSession, roles }: HostOptions) {
    this.#roles = roles;
    this.#rate = new RateLimit(settings.callsPerMinute);
    this.#current = { app, limits: settings };
    this.#sessions = new Sessions(store, pool, this.#current);
    this.mcpWeb = new McpWeb({ name, bridgeUrl, authToken: token, sessionId: bridgeSession, handleSignals: false, autoConnect: false });
    this.#addTools();
    this.#sweep = setInterval(() => this.#sessions.sweep().catch((error: Error) => console.error(error.message)), SWEEP_INTERVAL_MS);
  }

  /** Fulfilled when clients can use the tools. */
  async connect(): Promise<void> {
    await this.mcpWeb.connect();
    await Promise.all(this.#tools.map((tool) => tool.registered));
  }

  /** Switches to a newer build of the app. */
  reload(app: LowdefyApp, settings: Settings): void {
    if (settings.callsPerMinute !== this.#current.limits.callsPerMinute) this.#rate = new RateLimit(settings.callsPerMinute);
    Object.assign(this.#current, { app, limits: settings });
  }

  async dispose(): Promise<void> {
    clearInterval(this.#sweep);
    await this.mcpWeb.disconnect();
    await this.#sessions.dispose();
  }

  #addTools(): void {
    this.#add(tools.SESSION_CREATE, (args, context) => this.#sessions.create(readName(args), readDescription(args), this.#user(context), context.signal));
    this.#add(tools.SESSION_LIST, async () => ({ sessions: (await this.#sessions.list()).map(describe) }));
    this.#add(tools.SESSION_CLOSE, async ({ sessionId }) => {
      await this.#sessions.close(sessionId);
      return { success: true };
    });
    this.#add(tools.NAVIGATE, this.#inSession("navigate"));
    this.#add(tools.INTERACT, this.#inSession("interact"));
    this.#add(tools.GET_STATE, this.#inSession("state"));
    this.#add(tools.GET_PAGES, this.#inSession("pages"));
    this.#add(tools.PAGE_SNAPSHOT, this.#inSession("snapshot"));
    this.#add(tools.PAGE_QUERY, this.#inSession("query"));
  }

  #add(definition: tools.HostToolDefinition, handler: Handler): void {
    const counted: Handler = (args, context) => {
      this.#rate.count(args);
      return handler(args, context);
    };
    const timeout = completeLimits(this.#current.limits.page).callTimeoutMs + MAX_WAIT_MS;
    const tool = this.mcpWeb.addTool({ ...definition, timeout, handler: counted as never });
    this.#tools.push(tool);
  }

  #inSession(method: PageToolCall["method"]): Handler {
    return ({ sessionId, ...args }, context) => {
      const { client, caller, signal } = context;
      return this.#sessions.run(sessionId, this.#user(context), { method, args, via: caller.via, maxResultBytes: client?.limits?.maxResultBytes, signal });
    };
  }

  #user({ caller }: Context): AppUser {
    return userOf(caller, this.#roles);
  }
}

const describe = ({ sessionId, name, description, status, pageId, updatedAt }: Awaited<ReturnType<SessionStore["list"]>>[number]) => ({
  sessionId,
  name,
  ...(description !== undefined && { description }),
  status,
  pageId,
  updatedAt: new Date(updatedAt).toISOString(),
});

function readName({ name }: Arguments): string {
  if (typeof name === "string" && name && [...name].length <= MAX_NAME_CHARS) return name;
  throw invalidArguments("ArgumentInvalid", `name must be a text of 1 to ${MAX_NAME_CHARS} characters`);
}

function readDescription({ description }: Arguments): string | undefined {
  if (description === undefined || description === null) return undefined;
  if (typeof description === "string" && [...description].length <= MAX_DESCRIPTION_CHARS) return description;
  throw invalidArguments("ArgumentInvalid", `description must be a text of at most ${MAX_DESCRIPTION_CHARS} characters`);
}
