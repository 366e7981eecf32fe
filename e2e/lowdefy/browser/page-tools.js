/** Gives the page its page tools, and two tools with which a test looks at the engine. */
export async function addPageTools(mcpWeb, enablePageTools, lowdefy) {
  mcpWeb.addTool({
    name: "engine_state",
    description: "Returns what the Lowdefy engine knows of the current page.",
    handler: () => engineState(lowdefy),
  });
  mcpWeb.addTool({
    name: "lowdefy_navigate",
    description: "Opens a page with an input, as the action Link does.",
    inputSchema: {
      type: "object",
      properties: { pageId: { type: "string" }, input: { type: "object" } },
      required: ["pageId"],
    },
    handler: async ({ pageId, input }) => {
      lowdefy._internal.link({ pageId, input });
      return { success: true };
    },
  });
  return enablePageTools(mcpWeb, {
    pages: await pages(),
    navigate: (pageId, input) => lowdefy._internal.link({ pageId, input }),
    state: () => copy(currentContext(lowdefy).state),
    setState: (key, value) => change(lowdefy, ({ _internal }) => _internal.State.set(key, value)),
    global: () => copy(lowdefy.lowdefyGlobal),
    setGlobal: (key, value) => change(lowdefy, () => { lowdefy.lowdefyGlobal[key] = value; }),
  });
}

/** `{ pageId, state, global, input, requests }`, where `requests` are the responses by id, the newest first. */
export function engineState(lowdefy) {
  const { id, pageId, requests, state } = currentContext(lowdefy);
  const responses = Object.entries(requests).map(([requestId, calls]) => [
    requestId,
    calls.map(({ loading, response, error }) => ({ loading, response, error: error?.message })),
  ]);
  return copy({
    pageId,
    state,
    global: lowdefy.lowdefyGlobal,
    input: lowdefy.inputs[id],
    requests: Object.fromEntries(responses),
  });
}

async function pages() {
  const response = await fetch("/api/pages");
  return (await response.json()).map((page) => ({ ...page, url: `/${page.pageId}` }));
}

const currentContext = (lowdefy) => lowdefy.contexts[`page:${lowdefy.pageId}`];

const copy = (value) => JSON.parse(JSON.stringify(value));

/** Does what the actions SetState and SetGlobal do after they have set a value. */
function change(lowdefy, set) {
  const context = currentContext(lowdefy);
  set(context);
  context._internal.RootBlocks.reset();
  context._internal.update();
}
