import { expect, test } from "@playwright/test";
import { startBridge } from "mcp-web-sdk/testing/bridge";

test("an AI client adds something to the list", async ({ page }) => {
  await using bridge = await startBridge();
  await bridge.attach(page);
  await page.goto("/");
  const client = await bridge.connectTestClient(page);
  await client.callTool("add_item", { name: "Eggs" });

  await expect(page.getByText("Eggs")).toBeVisible();
});
