// Measures what each user of a host costs: memory, and the time until the first answer. Prints lines of JSON.
//
// `BRIDGE_URL=URL node bench-users.mjs [USERS …]`, in a copy of this folder in which the host is installed.
import { caller, makeToken, memoryOf, openSession, startHost } from "./tests/host.mjs";

const counts = process.argv.slice(2).map(Number);
const cleanups = [];
const test = { after: (cleanup) => cleanups.push(cleanup) };

const median = (values) => values.sort((one, other) => one - other)[Math.floor(values.length / 2)];
const round = (number) => Math.round(number * 10) / 10;

/** Opens a session for each user, one after another, and fills in a page of it. */
async function measure(users) {
  const tokens = Array.from({ length: users }, makeToken);
  const host = await startHost(test, { token: tokens });
  const without = await memoryOf(host);
  const firstAnswers = [];
  for (const token of tokens) {
    const started = performance.now();
    const { call, interact } = await openSession({ call: caller(token) });
    firstAnswers.push(performance.now() - started);
    await call("navigate", { pageId: "order", view: "none" });
    await interact({ type: "setValue", ref: "customer", value: "Acme" });
  }
  const { megabytes, processes } = await memoryOf(host);
  const perUser = (megabytes - without.megabytes) / users;
  await host.kill("SIGTERM");
  console.log(JSON.stringify({ users, processes, memory_mb: round(megabytes), without_users_mb: round(without.megabytes), mb_per_user: round(perUser), first_answer_p50_ms: round(median(firstAnswers)), first_answer_max_ms: round(firstAnswers.at(-1)) }));
}

try {
  for (const users of counts.length ? counts : [1, 10, 50]) await measure(users);
} finally {
  for (const cleanup of cleanups.reverse()) await cleanup();
}
