/** Implements the tools of one page: each call looks at the page or acts on it, and returns the log and the page. */

import type { UnknownObject } from "../mcp-web/type-guards.ts";
import type { CallContext } from "../types/calls.ts";
import type { Action } from "./actions.ts";
import { type FormatName, type ViewName, parseContinues, parseCount, parseFind, parseFormat, parseView } from "./arguments.ts";
import { CallQueue } from "./call-queue.ts";
import { type Actions, type PageCore, type PageView, type Report, loadPageCore } from "./core.ts";
import { ActionError, type PageDriver, type PageState } from "./driver.ts";
import { EVERYTHING, runActions } from "./executor.ts";
import { NOTHING_SHOWN, invalidArguments, personAsked } from "./failure.ts";
import { type PageToolsLimits, type PageToolsOptions, completeLimits } from "./options.ts";
import { PersonWait, personAskedMessage } from "./person-wait.ts";

/** Maximum size in bytes at which the view `auto` returns the whole page. */
const SHORT_PAGE_BYTES = 8192;

/** The state of a call for the document that continues it. */
interface HandedOver {
  /** Whether an action has begun or failed. In that case only the page remains to be shown. */
  started: boolean;
  report?: object;
}

/** The calls of a page, one at a time. */
export class PageCalls {
  readonly #driver: PageDriver;
  readonly #readOptions: () => PageToolsOptions;
  readonly #queue: CallQueue;
  /** The size of the last text of the page in bytes: a short one needs no comparison with the previous page. */
  #lastPageBytes = Infinity;

  /** Takes a driver, and a function that returns the current options. */
  constructor(driver: PageDriver, options: () => PageToolsOptions) {
    this.#driver = driver;
    this.#readOptions = options;
    this.#queue = new CallQueue((ms, signal) => driver.wait(ms, signal));
  }

  get #options(): PageToolsOptions {
    return this.#readOptions();
  }

  get #limits(): PageToolsLimits {
    return completeLimits(this.#options.limits);
  }

  /**
   * Waits until no question to the person at the page is open.
   *
   * @throws an error with the reason `PersonAsked` if that takes too long.
   */
  async #untilAnswered(context: CallContext): Promise<PersonWait> {
    let reports = 0;
    const person = new PersonWait(
      (ms, signal) => this.#driver.wait(ms, signal),
      (message) => context.progress(++reports, undefined, message),
    );
    if (await person.untilAnswered(context.signal)) return person;
    throw personAsked(personAskedMessage());
  }

  /** Implements `get_state`. @throws an error with the reason `PersonAsked`. */
  async state(context: CallContext): Promise<PageState> {
    await this.#untilAnswered(context);
    return this.#driver.state();
  }

  /** Implements `get_pages`. @throws an error with the reason `PersonAsked`. */
  async pages(context: CallContext): Promise<{ pages: { pageId: string; title: string; url?: string }[] }> {
    await this.#untilAnswered(context);
    return { pages: await this.#driver.pages() };
  }

  /**
   * Implements `navigate`.
   *
   * @throws an error with the code `InvalidArguments`, or with the reason `PageBusy` or `PersonAsked`; no action has run then.
   */
  async navigate(args: UnknownObject, context: CallContext): Promise<object> {
    const { pageId, input } = args;
    return this.#run([{ type: "navigate", pageId, input }], args, context, (message) => message.replace("/actions/0: ", ""));
  }

  /** Implements `interact`. @throws like {@link PageCalls.navigate}. */
  async interact(args: UnknownObject, context: CallContext): Promise<object> {
    return this.#run(args.actions, args, context, (message) => message);
  }

  /** Runs actions when earlier calls have ended. Malformed actions are rejected immediately. */
  async #run(list: unknown, args: UnknownObject, context: CallContext, explain: (message: string) => string): Promise<object> {
    const view = parseView(args);
    const format = parseFormat(args, this.#options.format ?? "outline");
    const continues = parseContinues(args);
    const core = await loadPageCore(this.#options.wasm);
    const continued = context.continuation as HandedOver | undefined;
    if (continued?.started) {
      return this.#queue.run(context.signal, async () => {
        await this.#untilAnswered(context);
        // The document may just have been parsed, so it is worth waiting for its first content.
        this.#driver.beginAction({ type: "waitFor" });
        await this.#driver.rest(false, context.signal).finally(() => this.#driver.endAction());
        const report = core.resumedReport(continued.report, this.#driver.place?.() ?? "");
        return this.#result(core, report, view === "none" ? "none" : "page", undefined, format, args, context);
      });
    }
    const create = () => createActions(core, list, this.#limits, !!this.#options.confirm, continues, explain);
    create().free();
    // The calls of a driver without documents end with it.
    const handOver = (state: HandedOver) => this.#driver.place && context.handOver(state);
    handOver({ started: false });
    return this.#queue.run(context.signal, async () => {
      const person = await this.#untilAnswered(context);
      const before = this.#needsComparison(view) ? await this.#look(core) : undefined;
      const actions = create();
      try {
        const report = await runActions({
          actions,
          list: list as Action[],
          driver: this.#driver,
          options: this.#options,
          signal: context.signal,
          person,
          handOver: (report) => handOver({ started: true, report }),
        });
        await this.#driver.callEnded?.();
        // The actions may have made the page ask the person a question.
        if (!(await person.untilAnswered(context.signal))) {
          before?.free();
          const reportWithNote = { ...report, text: `${report.text.trimEnd()}\nthe page is not shown: ${personAskedMessage()}` };
          return this.#result(core, reportWithNote, "none", undefined, format, args, context);
        }
        const shown = report.navigated !== undefined && view !== "none" ? "page" : view;
        return this.#result(core, report, shown, before, format, args, context);
      } finally {
        actions.free();
      }
    });
  }

  #needsComparison(view: ViewName): boolean {
    return view === "changes" || (view === "auto" && this.#lastPageBytes > SHORT_PAGE_BYTES);
  }

  async #look(core: PageCore, options: { within?: string; limit?: number; interactive?: boolean } = {}): Promise<PageView> {
    const { within, limit = this.#limits.maxElements, interactive = false } = options;
    const tree = await this.#driver.tree({ limit, interactive, ...(within !== undefined && { within }) });
    const view = new core.PageView(tree, this.#driver.page(), this.#limits);
    if (interactive) view.keepInteractive();
    return view;
  }

  async #result(
    core: PageCore,
    report: Report,
    view: ViewName,
    before: PageView | undefined,
    format: FormatName,
    args: UnknownObject,
    context: CallContext,
  ): Promise<object> {
    const { text: log, isError, ...facts } = report;
    const failed = isError && { isError };
    if (view === "none") {
      before?.free();
      const page = this.#driver.page();
      return { ...result([log.trimEnd()], { ...page, view, elements: 0, shown: 0, truncated: false, ...facts }), ...failed };
    }
    return { ...this.#pageResult(await this.#look(core), view, before, format, args, context, log, facts), ...failed };
  }

  #pageResult(
    page: PageView,
    view: ViewName,
    before: PageView | undefined,
    format: FormatName,
    args: UnknownObject,
    context: CallContext,
    log: string,
    facts: object,
  ): object {
    const written = page.write(view, before, format, createMark(), this.#limitsFor(context));
    page.free();
    const { text, ...shown } = written;
    if (written.view === "page") this.#lastPageBytes = text.length;
    // Programs that request a format also get the page as a field.
    const wantsField = context.caller.via === "http" && typeof args.format === "string";
    return result(log ? [log.trimEnd(), text] : [text], { ...this.#driver.page(), ...shown, ...facts, ...(wantsField && { page: text }) });
  }

  /** Returns the limits of a call: a client may accept less than the page allows. */
  #limitsFor({ client }: CallContext): PageToolsLimits {
    const most = client?.limits?.maxResultBytes;
    if (!most) return this.#limits;
    // The log and the JSON around the text also need space.
    return { ...this.#limits, maxPageBytes: Math.max(1024, Math.min(this.#limits.maxPageBytes, Math.floor(most * 0.6))) };
  }

  /** Implements `page_snapshot`. @throws an error with the code `InvalidArguments`. */
  async snapshot(args: UnknownObject, context: CallContext): Promise<object> {
    const format = parseFormat(args, this.#options.format ?? "outline");
    const limit = parseCount(args, "maxElements", this.#limits.maxElements, 1000);
    await this.#untilAnswered(context);
    const core = await loadPageCore(this.#options.wasm);
    const page = await this.#lookWithin(args, (within) => this.#look(core, { ...within, limit, interactive: args.interactive === true }));
    return this.#pageResult(page, "page", undefined, format, args, context, "", { skipped: 0, log: [] });
  }

  /** Implements `page_query`. @throws an error with the code `InvalidArguments`. */
  async query(args: UnknownObject, context: CallContext): Promise<object> {
    const format = parseFormat(args, this.#options.format ?? "outline");
    const find = parseFind(args);
    const limit = parseCount(args, "limit", 50, 200);
    await this.#untilAnswered(context);
    const core = await loadPageCore(this.#options.wasm);
    const page = await this.#lookWithin(args, (within) => this.#look(core, { ...within, limit: EVERYTHING }));
    const count = page.filter(find, limit);
    const log = count > limit ? `${count} elements match, the first ${limit} are shown\n` : `${count} ${count === 1 ? "element matches" : "elements match"}\n`;
    return this.#pageResult(page, "page", undefined, format, args, context, log, { skipped: 0, log: [], matches: count });
  }

  /** Reads a part of the page. A stale handle is an error of the arguments. */
  async #lookWithin(args: UnknownObject, look: (within: { within?: string }) => Promise<PageView>): Promise<PageView> {
    const { within } = args;
    if (within === undefined || within === null || within === "") return look({});
    return withKnownRef(() => look({ within: String(within) }));
  }

  /** Implements `page_screenshot`, with the option `capture`. @throws an error with the code `InvalidArguments`. */
  async screenshot({ ref }: UnknownObject, context: CallContext): Promise<unknown> {
    await this.#untilAnswered(context);
    if (this.#driver.page().pageId === undefined) throw new Error(NOTHING_SHOWN);
    const picture = await this.#options.capture!(typeof ref === "string" ? await withKnownRef(() => this.#driver.element?.(ref)) : undefined);
    if (picture) return picture;
    throw new Error(`the app has no picture of ${typeof ref === "string" ? "this element: leave out ref" : "the page: take a page_snapshot"}`);
  }
}

/** Runs a function on an element. An unknown handle is an error of the arguments. */
async function withKnownRef<Value>(work: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ActionError) throw invalidArguments("RefUnknown", error.message);
    throw error;
  }
}

function result(texts: string[], facts: object): object {
  return {
    content: texts.map((text) => ({ type: "text", text })),
    _meta: { "mcp-web/page": facts },
  };
}

function createActions(core: PageCore, list: unknown, limits: PageToolsLimits, confirms: boolean, continues: boolean, explain: (message: string) => string): Actions {
  try {
    return new core.Actions(list, limits, confirms, continues, performance.now());
  } catch (error) {
    const [, reason, message] = /^(\w+) ([^]*)$/.exec((error as Error).message) ?? [];
    throw invalidArguments(reason === "TooManyActions" ? reason : "ActionMalformed", explain(message ?? String(error)));
  }
}

/** Returns digits that the content of the page cannot predict. */
function createMark(): string {
  const [number] = crypto.getRandomValues(new Uint32Array(1));
  return number!.toString(16).padStart(8, "0").slice(0, 6);
}
