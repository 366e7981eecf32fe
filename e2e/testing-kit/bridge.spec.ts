import { test } from "@playwright/test";
import { startBridge } from "mcp-web-sdk/testing/bridge";
import { addItems } from "./page";
import { answers, runScenario } from "./scenario";

test("a client of a bridge", async ({ page }) => {
  await using bridge = await startBridge();
  await bridge.attach(page);
  // Any document of a loopback address will do.
  await page.goto(`${bridge.url}/sdk/mcp-web.js`);
  await page.evaluate(async (source) => {
    const { McpWeb } = await import("/sdk/mcp-web.js" as string);
    const run = new Function("mcpWeb", `return (${source})(mcpWeb)`);
    Object.assign(globalThis, { state: run(new McpWeb({ name: "kit" })) });
  }, addItems.toString());
  const client = await bridge.connectTestClient(page, answers);
  const refusing = await bridge.connectTestClient(page);
  const ask = (name: string) => page.evaluate((name) => (globalThis as any).state[name](), name);
  const state = {
    session: await page.evaluate(() => (globalThis as any).state.session),
    whenStarted: () => ask("whenStarted"),
    whenCancelled: () => ask("whenCancelled"),
    addLateTool: () => ask("addLateTool"),
    changeBoard: () => ask("changeBoard"),
  };
  await runScenario(client, state, refusing, process.env.OVER_HTTP!);
});
