// Compiled, never run: the types say what an app may rely on. Lines that must not compile say so.
import {
  McpWeb,
  McpWebError,
  content,
  type AppHandle,
  type CallEvent,
  type Diagnosis,
  type McpToolResult,
  type Query,
  type QueryEvent,
  type Status,
  type ToolHandle,
} from "mcp-web-sdk";

const mcpWeb = new McpWeb({ name: "Board", authToken: async () => "0123456789abcdef", storage: "session", elicitInPage: "fallback" });

const handle: ToolHandle = mcpWeb.addTool<{ title: string }>(
  {
    name: "add_card",
    inputSchema: { type: "object", properties: { title: { type: "string" } } },
    annotations: { readOnlyHint: false },
    handler: async ({ title }, { signal, callId, client }) => {
      signal.throwIfAborted();
      return { title: title.toUpperCase(), callId, by: client?.name };
    },
  },
  { signal: AbortSignal.timeout(1000) },
);

mcpWeb.addTool({ name: "now", timeout: 300_000, handler: (_, { client }) => client?.limits?.maxImageEdge ?? Date.now() });
// @ts-expect-error milliseconds, not words
mcpWeb.addTool({ name: "slow", timeout: "5 min", handler() {} });

const cards = mcpWeb.addResource({
  uri: "board://cards",
  name: "cards",
  size: 7,
  read: async (uri, { client }) => ({ text: uri.href, mimeType: client ? "text/plain" : "text/html" }),
  onSubscribe() {},
});

const card = mcpWeb.addResourceTemplate<"id">({
  uriTemplate: "board://cards/{id}",
  name: "card",
  read: (_uri, { id }) => [new Uint8Array([1]), { blob: new Blob([id]) }],
  complete: { id: async (value, { arguments: others }) => [value, others["column"] ?? ""] },
});

const review = mcpWeb.addPrompt<"card">({
  name: "review",
  arguments: [{ name: "card", required: true, complete: () => ({ values: ["a"], hasMore: true }) }],
  get: ({ card }) => ({ description: "A review", messages: [{ role: "user", content: [card ?? "all", new Blob()] }, "now"] }),
});

const app: AppHandle = mcpWeb.addApp({
  name: "chart",
  html: () => "<p>chart</p>",
  csp: { connectDomains: ["https://example.com"] },
  handler: (): McpToolResult => ({
    content: [content.text("a"), content.image(new ImageData(1, 1), "image/png", { keepSize: true }), content.link({ uri: "a:b", name: "b" })],
    structuredContent: { n: 1 },
  }),
});

mcpWeb.addTool({
  name: "ask",
  async handler(_input: { sure: boolean }, ctx) {
    ctx.progress(1, 2, "half");
    ctx.log("notice", { a: 1 });
    const answer = await ctx.elicit<{ sure: boolean }>({ message: "Sure?", schema: { type: "object" } });
    if (answer.action !== "accept" || !answer.content.sure) return;
    const { action } = await ctx.elicit({ message: "Sign in", url: new URL("https://example.com") });
    const { model } = await ctx.sample({ prompt: "hi", maxTokens: 10 });
    const [root] = await ctx.listRoots();
    return [action, model, root?.uri, ctx.client?.capabilities.sampling, ctx.caller.roles];
  },
});

export async function changes() {
  await cards.update({ description: "All cards", title: undefined });
  cards.notifyUpdated();
  card.notifyUpdated("board://cards/7");
  mcpWeb.notifyResourceUpdated(new URL("board://cards/8"));
  await Promise.all([review.remove(), app.registered, app.update({ html: "<p>2</p>" })]);
  return [cards.subscribed, cards.uri, card.uriTemplate, review.publishedName, app.resourceUri];
}

export function told(event: QueryEvent): string {
  switch (event.type) {
    case "text":
    case "thinking":
    case "note":
      return event.text;
    case "tool-started":
      return `${event.id} ${event.tool} ${event.arguments.title}`;
    case "tool-finished":
      return event.isError ? (event.error ?? "failed") : event.tool;
    case "progress":
      return JSON.stringify(event.content);
  }
}

export async function asking(signal: AbortSignal | undefined): Promise<string | undefined> {
  const query: Query<{ order: string[] }> = mcpWeb.query<{ order: string[] }>(
    {
      prompt: "Plan my day",
      context: [handle, app, "now", { tool: handle, arguments: { title: "a" } }, { name: "today", value: new Date(), schema: { type: "string" } }],
      tools: [handle, "now"],
      restrictTools: true,
      responseTool: handle,
      timeout: 60_000,
    },
    { signal },
  );
  for await (const event of query) console.log(told(event));
  for (const uuid of mcpWeb.openQueries) mcpWeb.attachQuery(uuid, { signal }).cancel("enough");
  if (query.state === "failed") return query.uuid;
  const { text, response, value, toolCalls } = await query.result;
  return text ?? response?.arguments.order.join() ?? toolCalls[0]?.tool ?? value;
}

// @ts-expect-error a query needs a prompt
mcpWeb.query({});
// @ts-expect-error an item of context has a value, or is a tool
mcpWeb.query({ prompt: "?", context: [{ name: "board" }] });
// @ts-expect-error the state is the module's to change
mcpWeb.query({ prompt: "?" }).state = "complete";
// @ts-expect-error there is no such level
mcpWeb.addTool({ name: "log", handler: (_, ctx) => ctx.log("loud", 1) });
// @ts-expect-error an app has one page
mcpWeb.addApp({ name: "two", html: "", url: "", handler() {} });
// @ts-expect-error an elicitation needs a schema or an address
mcpWeb.addTool({ name: "elicit", handler: (_, ctx) => ctx.elicit({ message: "?" }) });
// @ts-expect-error a resource without a reader
mcpWeb.addResource({ uri: "a:b", name: "b" });
// @ts-expect-error a tool without a handler
mcpWeb.addTool({ name: "idle" });
// @ts-expect-error an app without a name
new McpWeb({});
// @ts-expect-error the status is the module's to change
mcpWeb.status = { state: "idle" };

export function describe(status: Status): string {
  switch (status.state) {
    case "reconnecting":
      return `${status.error.message}, again in ${status.retryInMs ?? 0} ms`;
    case "failed":
      return status.error.code === "WasmBlocked" ? "blocked" : (status.error.remedy ?? status.error.message);
    case "connecting":
      return status.error?.code === "LocalNetworkPending" ? "asking" : "connecting";
    default:
      return status.state;
  }
}

export function summary(event: CallEvent): string {
  if (event.phase === "started") return `${event.kind} ${event.name} by ${event.caller.via}`;
  if (event.phase === "finished") return `${event.durationMs} ms: ${JSON.stringify(event.result)}`;
  return event.error.message;
}

export async function report(): Promise<string> {
  const { ok, summary, checks }: Diagnosis = await mcpWeb.diagnose();
  const failed = checks.filter(({ status }) => status === "failed").map(({ name, remedy }) => `${name}: ${remedy ?? "?"}`);
  return ok ? `${mcpWeb.sessionName ?? mcpWeb.sessionId}` : `${summary}\n${failed.join()}`;
}

export async function journey(): Promise<string | undefined> {
  const stop = mcpWeb.onStatusChange((status) => console.log(describe(status)));
  mcpWeb.onCall((event) => console.log(summary(event)));
  mcpWeb.onClientsChange((clients) => console.log(clients.map((client) => client.protocolVersion)));
  try {
    await mcpWeb.connect();
    await handle.registered;
  } catch (error) {
    if (error instanceof McpWebError) console.log(error.code, error.message);
  }
  {
    using scoped = mcpWeb.addTool({ name: "scoped", handler: () => null });
    console.log(scoped.name, scoped.publishedName);
  }
  await handle.remove();
  stop();
  return mcpWeb.mcpConfig?.mcpServers["Board"]?.env.AUTH_TOKEN;
}
