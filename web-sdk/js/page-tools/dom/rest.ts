/** Waits until the effects of an action have ended, and the page is at rest. */

import { nextTask } from "../../mcp-web/next-task.ts";
import type { Clock } from "./clock.ts";
import type { HiddenActivity } from "./hidden-activity.ts";
import { Mutations } from "./mutations.ts";
import type { Recorder } from "./recorder.ts";

/** A page that has not changed within this time is at rest. */
const UNCHANGED_MS = 20;
/** After a change, the page is at rest when it did not change for this time. */
const QUIET_MS = 50;
/** A page that never stops changing is read after this time. */
const MAX_BUSY_MS = 1_000;
/** A request that takes longer causes a warning. */
const MAX_REQUEST_MS = 5_000;
/** How long a page that seems to be at rest may continue pending work. */
const MAX_IDLE_WAIT_MS = 200;
/** Interval at which pending requests and navigations are checked. */
const LOOK_MS = 10;

/** Waits until the page is at rest. */
export async function waitForRest(recorder: Recorder, hidden: HiddenActivity, clock: Clock, signal: AbortSignal): Promise<void> {
  const { requests, navigation, mutations } = recorder;
  // Work of this task has then run: most components render in the next one.
  await nextTask();
  const started = performance.now();
  let since = started;
  /** The latest change after which no other work was pending. */
  let idleAfter: number | undefined;
  for (;;) {
    signal.throwIfAborted();
    mutations.flush();
    const now = performance.now();
    if (requests.pending.length || navigation.isLeaving) {
      if (now - started >= MAX_REQUEST_MS) return warnOfRequests(recorder);
      await clock.sleep(LOOK_MS, signal);
      since = performance.now();
      continue;
    }
    const isChanged = mutations.lastAt > recorder.startedAt;
    const changeDue = isChanged ? Math.max(mutations.lastAt + QUIET_MS, requests.endedAt + UNCHANGED_MS) : since + UNCHANGED_MS;
    const due = Math.max(changeDue, hidden.lastAt + UNCHANGED_MS);
    const latest = since + MAX_BUSY_MS;
    if (now >= due && hidden.renderedAt > since && !hidden.isAwaitingFrame) {
      const lastAt = Math.max(mutations.lastAt, requests.endedAt, hidden.lastAt);
      if (idleAfter === lastAt) return;
      // On a busy machine, work that the page has begun is late.
      await clock.idle(MAX_IDLE_WAIT_MS, signal);
      idleAfter = lastAt;
      continue;
    }
    if (now >= latest) return recorder.warn(`the page has not come to rest within ${MAX_BUSY_MS} ms`);
    await clock.sleep(Math.max(Math.min(due, latest) - now, 1), signal);
  }
}

function warnOfRequests(recorder: Recorder): void {
  for (const request of recorder.requests.pending) recorder.warn(`request ${request} has not ended within ${MAX_REQUEST_MS} ms`);
  const { navigation } = recorder;
  if (!navigation.isLeaving) return;
  recorder.warn(`the page has begun to go to ${navigation.navigated ?? "another page"} and is still here after ${MAX_REQUEST_MS} ms`);
  navigation.giveUp();
}

/** Waits for a change of the page. */
export async function waitForChange(root: Element, clock: Clock, atLeastMs: number, atMostMs: number, signal: AbortSignal): Promise<void> {
  const mutations = new Mutations(root);
  const started = performance.now();
  try {
    await clock.sleep(Math.min(atLeastMs, atMostMs), signal);
    for (;;) {
      mutations.flush();
      const left = atMostMs - (performance.now() - started);
      if (mutations.lastAt || left <= 0) return;
      await clock.sleep(Math.min(left, LOOK_MS), signal);
    }
  } finally {
    mutations.stop();
  }
}
