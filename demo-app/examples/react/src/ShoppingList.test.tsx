import { render, screen } from "@testing-library/react";
import { McpWebProvider } from "mcp-web-sdk/react";
import { connectTestClient } from "mcp-web-sdk/testing";
import { expect, test } from "vitest";
import { ShoppingList } from "./ShoppingList";
import { mcpWeb } from "./mcp-web";

test("an AI client adds something to the list", async () => {
  render(
    <McpWebProvider mcpWeb={mcpWeb}>
      <ShoppingList />
    </McpWebProvider>,
  );

  await using client = await connectTestClient(mcpWeb);
  const { content } = await client.callTool("add_item", { name: "Eggs" });
  expect(content).toEqual([{ type: "text", text: "Added Eggs" }]);

  expect(await screen.findByText("Eggs")).toBeTruthy();
  const again = await client.callTool("add_item", { name: "Eggs" });
  expect(again.isError).toBe(true);
});
