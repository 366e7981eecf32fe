import { connectTestClient } from "mcp-web-sdk/testing";
import { McpWeb } from "mcp-web-sdk";
import { test } from "vitest";
import { addItems } from "./page";
import { answers, runScenario } from "./scenario";

test("a client in memory", async () => {
  const mcpWeb = new McpWeb({ name: "kit" });
  const page = addItems(mcpWeb);
  await using client = await connectTestClient(mcpWeb, answers);
  await using refusing = await connectTestClient(mcpWeb);
  await runScenario(client, page, refusing, process.env.IN_MEMORY!);
});
