// The items that `@modelcontextprotocol/conformance` requires of a server, as an app would offer them from a tab.
import { addAskingTools } from "./asking.js";
import { addContentTools } from "./content.js";
import { addListChangingTools } from "./lists.js";
import { addPrompts } from "./prompts.js";
import { addReportingTools } from "./reporting.js";
import { addResources } from "./resources.js";
import { addRoundTools } from "./rounds.js";
import { addSchemaTools } from "./schemas.js";

const parameters = new URLSearchParams(location.search);
const bridgeUrl = parameters.get("bridge");

const { McpWeb, content } = await import(`${bridgeUrl}/sdk/mcp-web.js`);

const mcpWeb = new McpWeb({
  name: "Conformance app",
  description: "What the MCP conformance suites ask of a server",
  bridgeUrl,
  authToken: parameters.get("token"),
});

const handles = [
  ...addContentTools(mcpWeb, content),
  ...addReportingTools(mcpWeb),
  ...addAskingTools(mcpWeb),
  ...addRoundTools(mcpWeb),
  ...addSchemaTools(mcpWeb),
  ...addListChangingTools(mcpWeb),
  ...addPrompts(mcpWeb, content),
  ...addResources(mcpWeb),
];

window.conformance = {
  mcpWeb,
  /** Whether a client is subscribed to the resource that changes. */
  isWatched: () => handles.find((handle) => handle.uri === "test://watched-resource").subscribed,
  ready: Promise.all(handles.map((handle) => handle.registered)).then(() => true),
};
