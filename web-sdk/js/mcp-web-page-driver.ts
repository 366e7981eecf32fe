/**
 * Page tools for user interfaces that are not web pages. An app provides a {@link PageDriver}, which looks and acts, and
 * gets the functions behind the tools of `mcp-web-sdk/page`, with the same rules of actions, refusals and texts. The tools
 * have no names here: an app with several sessions gives each of them its {@link PageCalls}, and adds tools that select
 * one.
 *
 * @packageDocumentation
 */

export type { Action, Target } from "./page-tools/actions.ts";
export { ActionError } from "./page-tools/driver.ts";
export type { Activated, ActionOutcome, PageDriver, PageNode, PageState, PageTree, ReadBack, TargetFacts, TreeOptions } from "./page-tools/driver.ts";
export { completeLimits } from "./page-tools/options.ts";
export type { PageToolsLimits, PageToolsOptions } from "./page-tools/options.ts";
export { PageCalls } from "./page-tools/page-calls.ts";
export * as definitions from "./page-tools/tool-definitions.ts";
export type { PageToolDefinition } from "./page-tools/tool-definitions.ts";
export { MAX_STATE_BYTES, fitState } from "./page-tools/state-size.ts";
export type { FittingState } from "./page-tools/state-size.ts";
export type { UnknownObject } from "./mcp-web/type-guards.ts";
