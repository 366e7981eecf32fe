// A page with tools of the SDK, tools of the browser (WebMCP), and forms. `window.cinema` shows what happened in it.
//
// Parameters: `polyfill` names a package that adds the browser's API or replaces it, with `late` after the page has
// connected; with `only`, the page has no tool of the SDK.
const parameters = new URLSearchParams(location.search);
const bridgeUrl = parameters.get("bridge");
const polyfill = parameters.get("polyfill");
const isLate = parameters.has("late");
const options = { name: "Cinema", bridgeUrl, authToken: parameters.get("token") };

/** The state of the page: its calls, the imported tools, and a function that removes the browser's tool. */
const cinema = { calls: [], imports: [], films: new AbortController() };
window.cinema = cinema;

const onImportsChange = (tools) => {
  cinema.imports = tools.map(({ name }) => name);
};

function addPolyfill() {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    Object.assign(script, { src: `/polyfills/${polyfill}`, onload: resolve, onerror: reject });
    document.head.append(script);
  });
}

if (polyfill && !isLate) await addPolyfill();
cinema.mcpWeb = parameters.has("only") ? await connectOnly() : await connectWithTool();
await cinema.mcpWeb.connect();
if (polyfill && isLate) {
  await addPolyfill();
  await cinema.mcpWeb.connect();
}
if (!parameters.has("forbidden")) {
  await document.modelContext?.registerTool(
    { name: "list_films", description: "Lists the films", annotations: { readOnlyHint: true }, execute: () => ({ films: ["Metropolis"] }) },
    { signal: cinema.films.signal },
  );
}
cinema.ready = true;
document.body.append("Ready");

async function connectOnly() {
  const { connectWebMcp } = await import(`${bridgeUrl}/sdk/mcp-web-webmcp.js`);
  return connectWebMcp({ ...options, onImportsChange });
}

async function connectWithTool() {
  const { McpWeb } = await import(`${bridgeUrl}/sdk/mcp-web.js`);
  const mcpWeb = new McpWeb({ ...options, webmcp: { onImportsChange } });
  mcpWeb.onCall(({ phase, name, caller }) => cinema.calls.push(`${phase} ${name} ${caller.via}`));
  mcpWeb.addTool({
    name: "count_seats",
    description: "Counts the free seats of a row",
    inputSchema: { type: "object", properties: { row: { type: "string" } }, required: ["row"] },
    annotations: { readOnlyHint: true },
    handler: ({ row }) => {
      if (row === "Z") throw new Error("there is no row Z");
      return { row, free: 12 };
    },
  });
  mcpWeb.addTool({ name: "secret", description: "Is not for the browser", webmcp: false, handler: () => "secret" });
  return mcpWeb;
}
