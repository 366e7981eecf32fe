// Reads recorded runs with `HttpAgent` and, where the packages have one, with the schemas of the
// protocol. Prints one line of JSON for each run.
//
// Usage: node read-runs.mjs FOLDER NAME...
import { readFileSync } from "node:fs";
import { EventType, HttpAgent } from "@ag-ui/client";

// Version 1.0 has the schemas in a separate module.
const { EventSchemas } = await import("@ag-ui/core/schemas").catch(() => import("@ag-ui/core"));

const [folder, ...names] = process.argv.slice(2);
for (const name of names) {
  const lines = readFileSync(`${folder}/${name}.jsonl`, "utf8").trim().split("\n");
  const events = lines.map((line) => JSON.parse(line));
  const invalid = events.filter((event) => !EventSchemas.safeParse(event).success);
  const unknown = events.filter(({ type }) => !(type in EventType));
  const body = lines.map((line) => `data: ${line}\n\n`).join("");
  const headers = { "content-type": "text/event-stream" };
  const agent = new HttpAgent({
    url: "http://agent.test/agui",
    threadId: "thread",
    fetch: async () => new Response(body, { headers }),
  });
  const run = { name, invalid, unknown, error: null };
  const subscriber = {
    onRunErrorEvent: ({ event }) => (run.runError = event.code),
    onRunFinishedEvent: ({ event, outcome, pendingToolCallIds }) =>
      Object.assign(run, { outcome, pending: pendingToolCallIds, usage: event.usage }),
  };
  await agent.runAgent({ runId: events[0].runId }, subscriber).catch((error) => (run.error = error.message));
  run.messages = agent.messages;
  run.state = agent.state;
  run.interrupts = agent.pendingInterrupts.map(({ toolCallId }) => toolCallId);
  console.log(JSON.stringify(run));
}
