/** Actions of a client with the page of `page.ts`, and everything that it receives. */

import { writeFileSync } from "node:fs";
import type { TestClient } from "mcp-web-sdk/testing";
import type { PageState } from "./page";

/** The answers of a client to what handlers ask. */
export const answers = {
  elicit: (params: any) => ({ action: "accept", content: { sure: params.message === "Sure?" } }) as const,
  sample: (params: any) =>
    ({ role: "assistant", content: { type: "text", text: `answer to ${params.messages.length}` }, model: "m" }) as const,
  roots: () => [{ uri: "file:///home/me", name: "home" }],
};

/** Uses everything once, and writes what came back into the file that the environment names. */
export async function runScenario(client: TestClient, page: PageState, refusing: TestClient, file: string): Promise<void> {
  const transcript: Record<string, unknown> = {};
  const record = async (name: string, request: () => Promise<unknown>) => {
    transcript[name] = await request().catch(({ code, message, data }) => ({ code, message, data }));
  };

  await record("tools", () => client.listTools());
  await record("add", () => client.callTool("add", { a: 1, b: 2 }));
  await record("add: wrong type", () => client.callTool("add", { a: "1", b: 2 }));
  await record("add: several violations", () => client.callTool("add", { a: -1, c: 2 }));
  await record("add: result too large for its schema", () => client.callTool("add", { a: 100, b: 1 }));
  for (const tool of ["text", "nothing", "list", "picture", "throws", "timeout"]) {
    await record(tool, () => client.callTool(tool));
  }
  await record("unknown tool", () => client.callTool("ad"));
  const progress: unknown[] = [];
  const log: unknown[] = [];
  await record("report", () =>
    client.callTool("report", {}, {
      onProgress: (entry) => progress.push(entry),
      onLog: (entry) => log.push(entry),
      logLevel: "info",
    }),
  );
  Object.assign(transcript, { progress, log });
  await record("report without listeners", () => client.callTool("report"));
  await record("ask", () => client.callTool("ask"));
  await record("ask a client that answers nothing", () => refusing.callTool("ask"));

  const controller = new AbortController();
  const slow = client.callTool("slow", {}, { signal: controller.signal });
  await page.whenStarted();
  controller.abort(new Error("not needed any more"));
  await record("cancel", () => slow);
  transcript["the page is told"] = await page.whenCancelled();

  await record("resources", () => client.listResources());
  await record("templates", () => client.listResourceTemplates());
  for (const uri of ["board://all", "board://cards/c1", "board://cards/c9", "board://broken", "other://x"]) {
    await record(`read ${uri}`, () => client.readResource(uri));
  }
  await record("prompts", () => client.listPrompts());
  await record("plan", () => client.getPrompt("plan", { day: "monday" }));
  await record("plan: no argument", () => client.getPrompt("plan"));
  await record("unknown prompt", () => client.getPrompt("plam"));
  await record("complete a prompt", () => client.complete({ prompt: "plan" }, { name: "day", value: "t" }));
  await record("complete a variable", () =>
    client.complete({ uriTemplate: "board://cards/{id}" }, { name: "id", value: "c" }),
  );

  const updated = Promise.withResolvers<void>();
  const unsubscribe = await client.subscribe("board://all", updated.resolve);
  await page.changeBoard();
  await updated.promise;
  unsubscribe();
  const changed = Promise.withResolvers<string>();
  client.onListChanged(changed.resolve);
  await page.addLateTool();
  transcript["changed list"] = await changed.promise;
  await record("late", () => client.callTool("late"));
  await record("subscribe to nothing", () => client.subscribe("other://x", () => {}));
  await record("subscribe to nothing again", () => client.subscribe("other://x", () => {}));
  // The text describes the sessions, with their times and origins.
  const code = ({ isError, _meta }: { isError: boolean; _meta?: object }) => ({ isError, _meta });
  await record("a page that is not there", async () => code(await client.callTool("text", { session_id: "nobody" })));
  await record("a page that is not there, by option", async () => code(await client.callTool("text", {}, { session: "nobody" })));
  await record("the page by its id", () => client.callTool("add", { a: 1, b: 1, session_id: page.session }));
  await record("the page by option", () => client.callTool("add", { a: 1, b: 1 }, { session: page.session }));
  const before = performance.now();
  await client.callTool("timeout");
  const seconds = (performance.now() - before) / 1000;
  transcript["the timeout of 1 s ends a call in time"] = seconds > 0.9 && seconds < 2;
  await client.close();
  transcript["a closed client"] = await client.callTool("text").then(
    () => "answers",
    (error) => error instanceof Error,
  );
  // Ids differ.
  const text = JSON.stringify(transcript, null, 2).replaceAll(page.session, "SESSION");
  writeFileSync(file, text);
}
