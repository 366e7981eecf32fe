// An app in Node that counts, and whose calls can be made to take long.
import { McpWeb } from "mcp-web-sdk/node";

const { BRIDGE_URL, TOKEN, STATE_FILE, OWN_SIGNALS } = process.env;
if (OWN_SIGNALS) {
  process.once("SIGTERM", () => {
    console.log("the app has its own listener");
    // sleep: what the app does before it ends
    setTimeout(() => console.log("the app has finished"), 300);
  });
}
const mcpWeb = new McpWeb({
  name: "Counter",
  bridgeUrl: BRIDGE_URL,
  ...(TOKEN && { authToken: TOKEN }),
  ...(STATE_FILE && { stateFile: STATE_FILE }),
});
let connections = 0;
mcpWeb.onStatusChange(({ state, error }) => {
  console.log(`status ${state} ${error?.code ?? ""}`.trim());
  if (state === "connected") console.log(`connection ${++connections}`);
});

let count = 0;
mcpWeb.addTool({ name: "increment", description: "Counts up", handler: () => ({ count: ++count }) });
mcpWeb.addTool({ name: "text", handler: ({ bytes }) => "x".repeat(bytes) });
mcpWeb.addTool({
  name: "wait",
  handler: (_input, { signal }) => {
    console.log("waiting");
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  },
});
const last = mcpWeb.addTool({ name: "leave", handler: () => void setImmediate(() => mcpWeb.disconnect()) });

await last.registered;
console.log(`session ${mcpWeb.sessionId} token ${mcpWeb.authToken}`);
