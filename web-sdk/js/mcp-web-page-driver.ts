/**
 * Page tools for user interfaces that are no web page: an app brings a {@link PageDriver}, which looks and acts, and gets what
 * the tools of `mcp-web-sdk/page` do, with the same rules of actions, refusals and texts. It names no tool: an app with
 * several sessions gives each of them its {@link PageCalls}, and adds tools that choose one.
 *
 * @packageDocumentation
 */

export type { Action, Target } from "./page/actions.ts";
export { ActionError } from "./page/driver.ts";
export type { Activated, ActionOutcome, PageDriver, PageNode, PageState, PageTree, ReadBack, TargetFacts, TreeOptions } from "./page/driver.ts";
export { completeLimits } from "./page/options.ts";
export type { PageToolsLimits, PageToolsOptions } from "./page/options.ts";
export { PageCalls } from "./page/page-calls.ts";
export * as definitions from "./page/tool-definitions.ts";
export type { PageToolDefinition } from "./page/tool-definitions.ts";
export { MAX_STATE_BYTES, fitState } from "./page/state-size.ts";
export type { FittingState } from "./page/state-size.ts";
export type { UnknownObject } from "./mcp-web/type-guards.ts";
