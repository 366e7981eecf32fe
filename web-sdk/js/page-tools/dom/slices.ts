/** Long work in parts, so that the page goes on in between. */

import { nextTask } from "../../mcp-web/next-task.ts";

/** So long, in milliseconds, the page stands still at once. */
const SLICE_MS = 50;
/**
 * Does the work of a generator, each part of it inside `around`. Returns the result itself if one part suffices, as on most
 * pages: nothing has changed meanwhile.
 */
export function inSlices<Result>(work: Generator<void, Result>, around: <Part>(run: () => Part) => Part): Result | Promise<Result> {
  const step = around(() => runSlice(work));
  return step.done ? step.value : goOn(work, around);
}

async function goOn<Result>(work: Generator<void, Result>, around: <Part>(run: () => Part) => Part): Promise<Result> {
  for (;;) {
    await nextTask();
    const step = around(() => runSlice(work));
    if (!step.done) continue;
    // What is done with the result is a part of its own.
    await nextTask();
    return step.value;
  }
}

function runSlice<Result>(work: Generator<void, Result>): IteratorResult<void, Result> {
  const end = performance.now() + SLICE_MS;
  for (;;) {
    const step = work.next();
    if (step.done || performance.now() >= end) return step;
  }
}
