/** A session as data, which outlives its process. */

import { serializer } from "@lowdefy/helpers";

import type { Context, RequestRun } from "./engine-types.ts";
import { eachBlock } from "./block-index.ts";
import { textOf } from "./activity.ts";

/** An opened page, as JSON. */
export interface SavedContext {
  state: unknown;
  /** The state after `onInit`, to which the action `Reset` returns. */
  initialState: string | null;
  /** The newest response of each request. */
  requests: Record<string, { response: unknown; error?: string }>;
  /** The blocks whose validation is shown. */
  validated: string[];
  isInitialized: boolean;
}

/** A session, as JSON. */
export interface SavedSession {
  pageId: string;
  query: string;
  history: { pageId: string; query: string }[];
  global: unknown;
  inputs: unknown;
  dialogs: string[];
  contexts: Record<string, SavedContext>;
}

export function saveContext({ state, requests, _internal }: Context): SavedContext {
  const validated: string[] = [];
  eachBlock(_internal.RootBlocks, (block) => block.showValidation && validated.push(block.blockId));
  const newest = Object.entries(requests).flatMap(([requestId, [run]]) => (run && !run.loading ? [[requestId, saveRun(run)] as const] : []));
  return {
    state: serializer.serialize(state),
    initialState: _internal.State.frozenState,
    requests: Object.fromEntries(newest),
    validated,
    isInitialized: !!_internal.onInitDone,
  };
}

const saveRun = ({ response, error }: RequestRun) => ({
  response: serializer.serialize(response),
  ...(error !== undefined && { error: textOf(error) }),
});

/** Restores a saved state in a page that was just created. */
export function restoreContext(context: Context, saved: SavedContext): void {
  const { _internal, state, requests } = context;
  for (const key of Object.keys(state)) delete state[key];
  Object.assign(state, serializer.deserialize(saved.state));
  for (const [requestId, { response, error }] of Object.entries(saved.requests)) {
    requests[requestId] = [{ loading: false, response: serializer.deserialize(response), ...(error !== undefined && { error: new Error(error) }) }];
  }
  if (saved.isInitialized) {
    _internal.State.frozenState = saved.initialState;
    _internal.State.initialized = true;
    _internal.onInitDone = true;
    _internal.onInitAsyncDone = true;
  }
  // Without it, items of lists disappear.
  _internal.RootBlocks.reset();
  _internal.update();
  if (!saved.validated.length) return;
  const validated = new Set(saved.validated);
  eachBlock(_internal.RootBlocks, (block) => {
    if (!validated.has(block.blockId)) return;
    block.showValidation = true;
    block.update = true;
  });
  _internal.update();
}
