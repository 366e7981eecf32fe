/** The wasm of page tools (crate `page-tools`): its interface, and how it is loaded. */

import type { Action, Target } from "./actions.ts";
import type { ActionOutcome, PageTree, ReadBack, TargetFacts } from "./driver.ts";
import type { PageToolsLimits, PageToolsOptions } from "./options.ts";

/** The next step of the driver. The crate's `Step` has the same names. */
export type Step =
  | { kind: "look"; everyText: boolean }
  | { kind: "findFocus" }
  | { kind: "inspect"; index: number; ref: string }
  | { kind: "confirm"; index: number; ref?: string; to?: string }
  | { kind: "apply"; index: number; ref?: string; to?: string }
  | { kind: "rest"; isBrief: boolean }
  | { kind: "readBack"; index: number; ref: string }
  | { kind: "end" }
  | { kind: "awaitChange"; ms: number }
  | { kind: "done" };

/** An event at the driver. The crate's `Event` has the same names. */
export type StepEvent =
  | { kind: "started" }
  | { kind: "looked"; root: PageTree["root"] }
  | { kind: "focused"; ref?: string }
  | { kind: "inspected"; facts: TargetFacts | "stale" | "unknown" }
  | { kind: "confirmed"; allowed: boolean }
  | { kind: "applied"; code?: string; error?: string }
  | { kind: "rested" }
  | { kind: "compared"; readBack?: ReadBack; code?: string; error?: string }
  | { kind: "ended"; outcome: ActionOutcome }
  | { kind: "changed" }
  | { kind: "timedOut" }
  | { kind: "personAsked" };

/** The log entry of one action. */
export interface LogEntry {
  /** The number of the action, from 1. */
  index: number;
  type: Action["type"];
  target?: string;
  ok: boolean;
  ms: number;
  code?: string;
  error?: string;
  changed?: string[];
  navigated?: string;
  dialog?: string;
  messages?: { status: string; content: string }[];
  warnings?: string[];
}

/** The report of a call. */
export interface Report {
  text: string;
  log: LogEntry[];
  skipped: number;
  /** Whether an action failed. */
  isError: boolean;
  navigated?: string;
}

/** A text of a page. */
export interface PageText {
  text: string;
  view: "page" | "changes";
  elements: number;
  shown: number;
  truncated: boolean;
}

/** The actions of one call, in the wasm. */
export interface Actions {
  next(event: StepEvent, now: number): Step;
  deadline(): number;
  cancel(): void;
  report(): Report;
  failures(): number;
  reportIfDocumentEnds(): object;
  free(): void;
}

/** A page at one moment, in the wasm. */
export interface PageView {
  keepInteractive(): void;
  filter(find: Target["find"] & { id?: string }, limit: number): number;
  /** Consumes `before`. */
  write(view: string, before: PageView | undefined, format: string, mark: string, limits: PageToolsLimits): PageText;
  free(): void;
}

/** The JavaScript that wasm-bindgen generates. */
export interface PageCore {
  Actions: new (actions: unknown, limits: PageToolsLimits, confirms: boolean, continues: boolean, now: number) => Actions;
  PageView: new (tree: PageTree, info: { pageId?: string; url?: string; title?: string }, limits: PageToolsLimits) => PageView;
  resumedReport(state: unknown, navigated: string): Report;
  __wbg_set_wasm(exports: WebAssembly.Exports): void;
}

let core: Promise<PageCore> | undefined;

/** Returns the wasm, ready to use. It is loaded once per document; a failure is not cached. */
export function loadPageCore(wasm: PageToolsOptions["wasm"]): Promise<PageCore> {
  core ??= load(wasm).catch((cause: Error) => {
    core = undefined;
    const message = `page tools could not start: mcp_web_page_bg.wasm could not be loaded (${cause.message})`;
    throw Object.assign(new Error(message, { cause }), { code: "WasmLoadFailed" });
  });
  return core;
}

async function load(wasm: PageToolsOptions["wasm"]): Promise<PageCore> {
  // Built from the crate by `cargo xtask sdk`.
  const [glue, module] = await Promise.all([import("./mcp_web_page.js" as string) as Promise<PageCore>, compile(wasm)]);
  const { exports } = await WebAssembly.instantiate(module, { glue: glue as unknown as WebAssembly.ModuleImports });
  glue.__wbg_set_wasm(exports);
  (exports.__wbindgen_start as () => void)();
  return glue;
}

async function compile(wasm: PageToolsOptions["wasm"]): Promise<WebAssembly.Module> {
  const given: unknown = (await wasm) ?? new URL("./mcp_web_page_bg.wasm", import.meta.url);
  if (given instanceof WebAssembly.Module) return given;
  if (given instanceof ArrayBuffer || ArrayBuffer.isView(given)) return WebAssembly.compile(given as BufferSource);
  const response = given instanceof Response ? given : await fetch(given as URL);
  if (!response.ok) throw new Error(`${response.status} for ${response.url}`);
  return WebAssembly.compile(await response.arrayBuffer());
}
