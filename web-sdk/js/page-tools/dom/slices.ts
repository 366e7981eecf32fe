/** Splits long work into parts, so that the page can run in between. */

import { nextTask } from "../../mcp-web/next-task.ts";

/** Maximum time that the page is blocked, in milliseconds. */
const SLICE_MS = 50;
/**
 * Runs the work of a generator, each part of it inside `around`. Returns the result synchronously if one part is enough, as
 * on most pages, because then nothing has changed meanwhile.
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
    // The processing of the result is a separate part.
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
