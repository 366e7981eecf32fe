// A small app with the tools that the journeys need. `window.journey` shows what happened in it.
const parameters = new URLSearchParams(location.search);
const bridgeUrl = parameters.get("bridge");

const journey = {
  /** Calls of `hang` and `ask` whose handler runs or ran. */
  started: 0,
  /** The ids that `echo` was called with. */
  echoed: [],
  /** The states of the connection, in order. */
  states: [],
  /** Ends the call of `held`. */
  release: undefined,
  /** Those whose signal fired. */
  aborted: 0,
  /** Differs in each document: a page that was reloaded is not the same page. */
  document: Math.random(),
};
window.journey = journey;

window.addEventListener("pagehide", () => {
  navigator.sendBeacon("/beacon", String(performance.timeOrigin + performance.now()));
});

const { McpWeb } = await import(parameters.get("sdk") ?? `${bridgeUrl}/sdk/mcp-web.js`);

const tokens = parameters.get("tokens");
async function freshToken() {
  const response = await fetch(tokens);
  if (!response.ok) throw new Error(`the issuer answered ${response.status}`);
  return response.text();
}

const mcpWeb = new McpWeb({
  name: "Journey app",
  description: "Tools for whole-system tests",
  bridgeUrl,
  authToken: tokens ? freshToken : parameters.get("token"),
});
journey.mcpWeb = mcpWeb;
mcpWeb.onStatusChange(({ state }) => journey.states.push(state));

const idSchema = {
  type: "object",
  properties: { id: { type: "integer" } },
  required: ["id"],
};

journey.echo = mcpWeb.addTool({
  name: "echo",
  description: "Answers with the id it was given",
  inputSchema: idSchema,
  handler: async ({ id }) => {
    journey.echoed.push(id);
    return { id };
  },
});

journey.block = mcpWeb.addTool({
  name: "block",
  description: "Keeps the page busy for so many milliseconds, in one piece",
  inputSchema: { type: "object", properties: { ms: { type: "integer" } }, required: ["ms"] },
  handler: ({ ms }) => {
    journey.started += 1;
    navigator.sendBeacon("/beacon", "blocked");
    const end = performance.now() + ms;
    while (performance.now() < end);
    return "done";
  },
});

journey.held = mcpWeb.addTool({
  name: "held",
  description: "Answers when the journey says so, with who asked",
  inputSchema: { type: "object" },
  handler: (_input, { caller }) =>
    new Promise((resolve) => {
      journey.release = () => resolve({ caller });
    }),
});

journey.hang = mcpWeb.addTool({
  name: "hang",
  description: "Never answers; ends when the call is cancelled",
  inputSchema: { type: "object" },
  handler: (_input, { signal }) =>
    new Promise((_resolve, reject) => {
      journey.started += 1;
      signal.addEventListener("abort", () => {
        journey.aborted += 1;
        reject(signal.reason);
      });
    }),
});

journey.ask = mcpWeb.addTool({
  name: "ask",
  description: "Asks the client what it was told to ask",
  inputSchema: { type: "object", properties: { what: { enum: ["elicit", "sample"] } }, required: ["what"] },
  handler: async ({ what }, ctx) => {
    ctx.signal.addEventListener("abort", () => {
      journey.aborted += 1;
    });
    journey.started += 1;
    const schema = { type: "object", properties: { name: { type: "string" } } };
    return what === "elicit" ? ctx.elicit({ message: "Who?", schema }) : ctx.sample({ prompt: "Say hello" });
  },
});

journey.removable = mcpWeb.addTool({
  name: "removable",
  description: "Is taken away in the middle of a journey",
  inputSchema: { type: "object" },
  handler: () => "still here",
});

journey.large = mcpWeb.addTool({
  name: "large",
  description: "Answers with a text that has so many bytes as JSON",
  inputSchema: { type: "object", properties: { bytes: { type: "integer" } }, required: ["bytes"] },
  handler: ({ bytes }) => "x".repeat(bytes - 2),
});

const { echo, block, held, hang, ask, removable, large } = journey;
const tools = [echo, block, held, hang, ask, removable, large];
journey.ready = Promise.all(tools.map((tool) => tool.registered)).then(() => true);
