// A page whose tool `leave` ends the document in the middle of its call. The document with the title
// `bare` does not have the tool.
const parameters = new URLSearchParams(location.search);
const title = (document.title = parameters.get("title"));
const bridgeUrl = parameters.get("bridge");

const journey = {
  /** How often a handler has started in this document. */
  started: 0,
  /** How often the signal of one has fired. */
  aborted: 0,
  /** Whether the document has come back from the back/forward cache. */
  restored: false,
};
window.journey = journey;
addEventListener("pagehide", () => navigator.sendBeacon("/beacon", title));
addEventListener("pageshow", ({ persisted }) => {
  journey.restored ||= persisted;
});

/** Returns the address of the document with another title. */
function addressOf(title) {
  const address = new URL(location.href);
  address.searchParams.set("title", title);
  return address.href;
}

function append(name, attributes) {
  const element = Object.assign(document.createElement(name), attributes);
  document.body.append(element);
  return element;
}

const WAYS = {
  link: (to) => append("a", { href: addressOf(to), textContent: to }).click(),
  form: (to) => append("form", { method: "post", action: addressOf(to) }).submit(),
  reload: () => location.reload(),
  back: () => history.back(),
  stay: () => {},
};

const { McpWeb } = await import(`${bridgeUrl}/sdk/mcp-web.js`);
const mcpWeb = (journey.mcpWeb = new McpWeb({
  name: "Hand-over",
  bridgeUrl,
  authToken: parameters.get("token"),
  storage: parameters.get("storage") ?? "local",
}));

if (title !== "bare") {
  const tool = mcpWeb.addTool({
    name: "leave",
    inputSchema: {
      type: "object",
      properties: { ways: { type: "array", items: { enum: Object.keys(WAYS) } }, to: { type: "string" } },
      required: ["ways"],
    },
    handler: ({ ways, to }, ctx) => {
      journey.started += 1;
      const { visited } = ctx.continuation ?? { visited: [] };
      visited.push(title);
      const way = ways[visited.length - 1];
      if (!way) return { visited };
      ctx.signal.addEventListener("abort", () => (journey.aborted += 1));
      ctx.handOver({ visited });
      WAYS[way](to);
      // The result of a handler of a former document is dropped.
      return new Promise((resolve) => ctx.signal.addEventListener("abort", () => setTimeout(resolve, 0, "too late"))); // sleep: a task later than the signal
    },
  });
  await tool.registered;
} else {
  await mcpWeb.connect();
}
journey.ready = true;
