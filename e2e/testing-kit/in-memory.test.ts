import { connectTestClient } from "mcp-web-sdk/testing";
import { McpWeb } from "mcp-web-sdk";
import { expect, test } from "vitest";
import { addItems } from "./page";
import { answers, runScenario } from "./scenario";

test("a client in memory", async () => {
  const mcpWeb = new McpWeb({ name: "kit" });
  const page = addItems(mcpWeb);
  await using client = await connectTestClient(mcpWeb, answers);
  await using refusing = await connectTestClient(mcpWeb);
  await runScenario(client, page, refusing, process.env.IN_MEMORY!);
});

test("a document that comes back continues the call that it has handed over", async () => {
  const mcpWeb = new McpWeb({ name: "hand-over" });
  const left = Promise.withResolvers<void>();
  mcpWeb.addTool({
    name: "leave",
    handler: (_input, ctx) => {
      if (ctx.continuation) return ctx.continuation;
      ctx.handOver({ step: 1 });
      left.resolve();
      return new Promise(() => {});
    },
  });
  await using client = await connectTestClient(mcpWeb);
  const call = client.callTool("leave");
  await left.promise;
  for (const event of ["pagehide", "pageshow"]) dispatchEvent(Object.assign(new Event(event), { persisted: true }));
  expect((await call).structuredContent).toEqual({ step: 1 });
});
