/** The calls of page tools: one after the other. */

import { assert, equal } from "./assert.js";
import { CallQueue, MAX_WAIT_MS } from "./page/call-queue.ts";
import { MAX_PERSON_WAIT_MS, PersonWait } from "./page/person-wait.ts";
import { openQuestion } from "./person/tab.ts";

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
  "a call waits for the person for 60 s in all, and says why": async () => {
    const { now } = performance;
    let passed = 0;
    performance.now = () => now.call(performance) + passed;
    const close = openQuestion("May the AI use danger?");
    const reports = [];
    const person = new PersonWait(async (ms) => void (passed += ms), (message) => reports.push(message));
    try {
      equal(await person.untilAnswered(NEVER), false);
      equal([MAX_PERSON_WAIT_MS, Math.round(person.waitedMs / 1000), reports.length], [60_000, 60, 12]);
      assert(/^the person at the page is asked something \(May the AI use danger\?\)/.test(reports[0]), reports[0]);
      equal([await person.untilAnswered(NEVER), reports.length], [false, 12], "the time is that of the whole call");
      close();
      equal(await person.untilAnswered(NEVER), true);
    } finally {
      close();
      performance.now = now;
    }
  },
};
