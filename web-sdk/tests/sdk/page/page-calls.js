/** The calls of page tools: one after the other. */

import { equal } from "./assert.js";
import { CallQueue, MAX_WAIT_MS } from "./page/call-queue.ts";

const NEVER = new AbortController().signal;

/** A queue, the waits that it has begun, and what ends the newest one. */
function makeQueue() {
  const waits = [];
  const queue = new CallQueue((ms) => new Promise((end) => waits.push({ ms, end })));
  return { queue, waits };
}

export default {
  "a call begins when the one before has ended": async () => {
    const { queue } = makeQueue();
    const order = [];
    let endFirst;
    const first = queue.run(NEVER, () => new Promise((resolve) => (endFirst = () => resolve(order.push("first")))));
    const second = queue.run(NEVER, async () => order.push("second"));
    await Promise.resolve();
    endFirst();
    await Promise.all([first, second]);
    equal(order, ["first", "second"]);
  },
  "a call that waits for 60 s has done nothing, and says so": async () => {
    const { queue, waits } = makeQueue();
    let endFirst;
    const first = queue.run(NEVER, () => new Promise((resolve) => (endFirst = resolve)));
    let hasRun = false;
    const second = queue.run(NEVER, async () => (hasRun = true));
    while (!waits.length) await new Promise((resolve) => setTimeout(resolve)); // sleep: one turn, until the second call waits
    equal([waits[0].ms, MAX_WAIT_MS], [60_000, 60_000]);
    waits[0].end();
    const error = await second.catch((error) => error);
    equal([error.code, error.data], [undefined, { reason: "PageBusy" }]);
    endFirst();
    await first;
    equal(await queue.run(NEVER, async () => "third"), "third");
    equal(hasRun, false);
  },
};
