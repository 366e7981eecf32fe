// The whole page side in a module worker: it sends the page the arguments that its tool was called with.
import { McpWeb } from "/mcp-web-sdk/mcp-web.js";

const parameters = new URLSearchParams(location.search);
const mcpWeb = new McpWeb({
  name: "Bundled app",
  bridgeUrl: parameters.get("bridge"),
  authToken: parameters.get("token"),
});
mcpWeb.onStatusChange(({ state }) => postMessage({ state }));
mcpWeb.addTool({
  name: "set_heading",
  description: "Changes the heading of the page",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  handler({ text }) {
    postMessage({ text });
    return { text };
  },
});
