/** The result of `get_state` for a session. */

import { serializer } from "@lowdefy/helpers";
import { type PageState, fitState } from "mcp-web-sdk/page-driver";

import { textOf } from "../engine/activity.ts";
import type { RequestRun } from "../engine/engine-types.ts";
import type { AppSession } from "../engine/session.ts";
import { isPassword } from "./inputs.ts";

/** Returns the state of the page, the global state, and the newest run of each request. Passwords are hidden. */
export function readState(session: AppSession): PageState {
  const { context, pageId } = session;
  const state = fitState(hidePasswords(session, serializer.copy(context?.state ?? {})));
  const global = fitState(session.global, state.bytesLeft);
  const runs = Object.entries(context?.requests ?? {}).flatMap(([requestId, [run]]) => (run ? [[requestId, describeRun(run)] as const] : []));
  const requests = fitState(Object.fromEntries(runs), global.bytesLeft);
  const truncated = state.truncated || global.truncated || requests.truncated;
  return { pageId, state: state.value, global: global.value, requests: requests.value, ...(truncated && { truncated }) };
}

const describeRun = ({ loading, response, error }: RequestRun) => ({ loading, response, ...(error !== undefined && { error: textOf(error) }) });

function hidePasswords(session: AppSession, state: Record<string, unknown>): Record<string, unknown> {
  const passwords = [...session.blocks.all.values()].filter(({ block }) => isPassword(block) && block.value);
  if (!passwords.length) return state;
  for (const { block } of passwords) hideAt(state, block.blockId.split("."));
  return state;
}

function hideAt(value: unknown, [first, ...rest]: string[]): void {
  if (typeof value !== "object" || value === null || first === undefined || !Object.hasOwn(value, first)) return;
  const object = value as Record<string, unknown>;
  if (rest.length) hideAt(object[first], rest);
  else object[first] = "(hidden)";
}
