/**
 * Shares tools with the browser (WebMCP): it registers the page's tools there, and offers tools that are registered only
 * there to AI clients. Loaded if the browser has the API and allows the page to use it.
 */

import type { Calls } from "./mcp-web/calls.ts";
import type { Definitions } from "./mcp-web/definitions.ts";
import type { Registration } from "./mcp-web/registration.ts";
import type { McpWebOptions } from "./types/options.ts";
import type { WebMcpOptions } from "./types/webmcp.ts";
import { type ImporterPort, ToolImporter } from "./webmcp/importer.ts";
import { ToolMirror, mirroredNames } from "./webmcp/mirror.ts";
import { type ModelContext, modelContext } from "./webmcp/model-context.ts";

const NOTHING: WebMcpOptions = { mirror: false, import: false };

/** The tools that one `McpWeb` shares with the browser. */
export class WebMcp {
  readonly #definitions: Definitions;
  readonly #options: () => McpWebOptions["webmcp"];
  readonly #mirror: ToolMirror;
  readonly #importer: ToolImporter;
  /** The object whose events are observed; a script may replace it. */
  #context: ModelContext | undefined;
  #isScheduled = false;
  #ownNames: ReadonlySet<string> = new Set();

  constructor(page: ImporterPort["page"], definitions: Definitions, calls: Calls["hostBindings"], options: () => McpWebOptions["webmcp"]) {
    this.#definitions = definitions;
    this.#options = options;
    this.#mirror = new ToolMirror(calls);
    this.#importer = new ToolImporter({
      page,
      options: () => this.#given,
      ownNames: () => new Set([...this.#ownNames, ...mirroredNames().keys()]),
      onListed: (names) => this.#mirror.forgetRefused(names) && this.#schedule(),
    });
    definitions.onChange = () => this.#schedule();
    // In other browsers, which have only a polyfill, the listener would keep the page out of the back/forward cache.
    if ("ModelContext" in globalThis) globalThis.addEventListener?.("beforeunload", () => this.#importer.pause());
    // The SDK leaves in the same event. On the window, only capturing listeners run before it.
    globalThis.addEventListener?.("pagehide", () => this.#importer.leave(), true);
  }

  /** Checks the API, which a script may have replaced, and updates both lists of tools. */
  update(): void {
    const context = this.#presentContext;
    if (context !== this.#context) {
      this.#context?.removeEventListener?.("toolchange", this.#onToolChange);
      this.#context?.removeEventListener?.("toolactivated", this.#onToolActivated);
      this.#mirror.clear();
      this.#context = context;
      context?.addEventListener?.("toolchange", this.#onToolChange);
      context?.addEventListener?.("toolactivated", this.#onToolActivated);
    }
    this.#updateMirror();
    if (this.#given.import === false) this.#importer.clear();
    else this.#importer.schedule();
  }

  /** Returns whether the names of the page's tools have changed. */
  #updateMirror(): boolean {
    const tools = this.#definitions.all.filter((registration) => this.#isOwn(registration));
    const former = this.#ownNames;
    this.#ownNames = new Set(tools.flatMap(({ id, publishedName = id }) => [id, publishedName]));
    const isMirrored = this.#given.mirror !== false;
    this.#mirror.update(isMirrored ? tools.filter(({ definition }) => definition.webmcp !== false) : []);
    return former.size !== this.#ownNames.size || [...former].some((name) => !this.#ownNames.has(name));
  }

  get #given(): WebMcpOptions {
    const given = this.#options();
    return given === false ? NOTHING : given === true || !given ? {} : given;
  }

  #isOwn({ kind, definition, isRemoved }: Registration): boolean {
    return kind === "tool" && !isRemoved && !this.#importer.isImported(definition.handler);
  }

  /** The changes of one task are combined. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      // The imported tools depend only on the names of the page's own tools.
      if (this.#presentContext !== this.#context || this.#updateMirror()) this.update();
    });
  }

  /** The API, if the page shares anything. */
  get #presentContext(): ModelContext | undefined {
    return this.#options() === false ? undefined : modelContext();
  }

  readonly #onToolChange = () => {
    if (this.#presentContext !== this.#context) this.update();
    else if (this.#given.import !== false) this.#importer.schedule();
  };

  readonly #onToolActivated = (event: Event) => this.#importer.onActivated((event as Event & { toolName: string }).toolName);
}
