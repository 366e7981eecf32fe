/** The tools of a page: their names and handlers. */

import type { McpWeb } from "../mcp-web.ts";
import type { UnknownObject } from "../mcp-web/type-guards.ts";
import type { CallContext } from "../types/calls.ts";
import type { ToolHandle } from "../types/handles.ts";
import { MAX_WAIT_MS } from "./call-queue.ts";
import type { PageDriver } from "./driver.ts";
import { type PageToolsOptions, completeLimits } from "./options.ts";
import { PageCalls } from "./page-calls.ts";
import { MAX_PERSON_WAIT_MS } from "./person-wait.ts";
import * as definitions from "./tool-definitions.ts";

/** The handler of a tool. */
type Handler = (args: UnknownObject, context: CallContext) => unknown;

/** Creates the driver of a user interface, with the current options. */
export type DriverFactory = (options: () => PageToolsOptions) => PageDriver;

/** The tools of a page. */
export class PageTools {
  readonly #mcpWeb: McpWeb;
  readonly #driver: PageDriver;
  readonly #calls: PageCalls;
  #options: PageToolsOptions;
  #tools: ToolHandle[] = [];

  constructor(mcpWeb: McpWeb, options: PageToolsOptions, createDriver: DriverFactory) {
    this.#mcpWeb = mcpWeb;
    this.#options = options;
    this.#driver = createDriver(() => this.#options);
    this.#calls = new PageCalls(this.#driver, () => this.#options);
    try {
      this.update(options);
    } catch (error) {
      this.#driver.dispose();
      throw error;
    }
  }

  /**
   * Applies new options.
   *
   * @throws TypeError if the app already has a tool with such a name, and RangeError like `completeLimits`. Nothing is
   * changed in these cases.
   */
  update(options: PageToolsOptions): void {
    const limits = completeLimits(options.limits);
    const { prefix = "", webmcp = false } = options;
    const offered = this.#offered(options);
    const former = new Map(this.#tools.map((tool) => [tool.name, tool]));
    const names = offered.map(([{ name }]) => prefix + name);
    const taken = names.find((name) => !former.has(name) && this.#mcpWeb.hasTool(name));
    if (taken !== undefined) {
      throw new TypeError(`enablePageTools(): the app has a tool "${taken}" already: use the option prefix, such as "page_"`);
    }
    this.#options = options;
    // A tool with the same name is replaced at its position.
    this.#tools = offered.map(([{ isReading: _, ...definition }, handler]) =>
      this.#mcpWeb.addTool({
        ...definition,
        name: prefix + definition.name,
        timeout: limits.callTimeoutMs + MAX_WAIT_MS + MAX_PERSON_WAIT_MS,
        webmcp,
        handler: handler as never,
      }),
    );
    for (const [name, tool] of former) if (!names.includes(name)) tool.remove();
  }

  get ready(): Promise<void> {
    return Promise.all(this.#tools.map((tool) => tool.registered)).then(() => {});
  }

  async remove(): Promise<void> {
    await Promise.all(this.#tools.map((tool) => tool.remove()));
    this.#driver.dispose();
  }

  #offered({ readOnly = false, capture }: PageToolsOptions): [definitions.PageToolDefinition, Handler][] {
    const calls = this.#calls;
    const all: [definitions.PageToolDefinition, Handler][] = [
      [definitions.NAVIGATE, (args, context) => calls.navigate(args, context)],
      [definitions.INTERACT, (args, context) => calls.interact(args, context)],
      [definitions.GET_STATE, (_, context) => calls.state(context)],
      [definitions.GET_PAGES, (_, context) => calls.pages(context)],
      [definitions.PAGE_SNAPSHOT, (args, context) => calls.snapshot(args, context)],
      [definitions.PAGE_QUERY, (args, context) => calls.query(args, context)],
    ];
    if (capture && !readOnly) all.push([definitions.PAGE_SCREENSHOT, (args, context) => calls.screenshot(args, context)]);
    return all.filter(([{ isReading }]) => isReading || !readOnly);
  }
}
