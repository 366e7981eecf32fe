// Compiled, never run: types that an app may rely on. `misuse.ts` has code that must not compile.
import {
  McpWeb,
  McpWebError,
  content,
  type AppHandle,
  type AttachOptions,
  type CallEvent,
  type Diagnosis,
  type DialogStrings,
  type JsonSchema,
  type McpToolResult,
  type Conversation,
  type ConversationSummary,
  type Query,
  type QueryEvent,
  type Status,
  type ToolCallEvent,
  type ToolCallRequest,
  type ToolHandle,
} from "mcp-web-sdk";
import { McpWebAskElement, type AskOptions, type AskStrings, type AskSuggestion } from "mcp-web-sdk/ask";
import { connectWebMcp, type ImportedTool } from "mcp-web-sdk/webmcp";

const mcpWeb = new McpWeb({ name: "Board", authToken: async () => "0123456789abcdef", storage: "session", elicitInPage: "fallback" });

const handle: ToolHandle = mcpWeb.addTool(
  {
    name: "add_card",
    inputSchema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
    annotations: { readOnlyHint: false },
    handler: async ({ title }, { signal, callId, client, trace }) => {
      await fetch("/cards", { signal, headers: trace });
      return { title: title.toUpperCase(), callId, by: client?.name };
    },
  },
  { signal: AbortSignal.timeout(1000) },
);

mcpWeb.addTool({ name: "now", timeout: 300_000, handler: (_, { client }) => client?.limits?.maxImageEdge ?? Date.now() });

const cards = mcpWeb.addResource({
  uri: "board://cards",
  name: "cards",
  size: 7,
  read: async (uri, { client }) => ({ text: uri.href, mimeType: client ? "text/plain" : "text/html" }),
  onSubscribe() {},
});

const card = mcpWeb.addResourceTemplate({
  uriTemplate: "board://cards/{id}",
  name: "card",
  read: (_uri, { id }) => [new Uint8Array([1]), { blob: new Blob([id]) }],
  complete: { id: async (value, { arguments: others }) => [value, others["column"] ?? ""] },
});

const review = mcpWeb.addPrompt({
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
  inputSchema: { type: "object", properties: { sure: { type: "boolean" } } },
  async handler(_input: { sure?: boolean }, ctx) {
    ctx.progress(1, 2, "half");
    ctx.log("notice", { a: 1 });
    const answer = await ctx.elicit({
      message: "Sure?",
      schema: { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] },
    });
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

/** Whether two types are equal. */
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles only if the type is `true`. */
function check<_Result extends true>(): void {}

interface Card {
  title: string;
  due: Date;
  note?: string;
}
declare const cardList: readonly Card[];
declare const looseSchema: JsonSchema;

mcpWeb.addTool({
  name: "inferred",
  inputSchema: {
    type: "object",
    properties: {
      title: { type: "string", description: "A title" },
      points: { type: "integer", default: 1 },
      column: { enum: ["todo", "done"] },
      tags: { type: "array", items: { type: ["string", "null"] } },
      place: { anyOf: [{ type: "object", properties: { x: { type: "number" } }, required: ["x"] }, { type: "null" }] },
      labels: { type: "object", additionalProperties: { type: "string" } },
      pair: { prefixItems: [{ type: "string" }, { type: "number" }] },
      parent: { $ref: "#/$defs/node" },
      kind: { const: "card" },
    },
    required: ["title", "column"],
    $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" }, id: { type: "string" } }, required: ["id"] } },
  },
  handler: ({ title, points = 1, column, tags, place, labels, pair, parent, kind }) => {
    check<Equal<typeof title, string>>();
    check<Equal<typeof points, number>>();
    check<Equal<typeof column, "todo" | "done">>();
    check<Equal<typeof tags, (string | null)[] | undefined>>();
    check<Equal<typeof place, { x: number } | null | undefined>>();
    check<Equal<typeof labels, { [name: string]: string } | undefined>>();
    check<Equal<typeof pair, [string, number] | undefined>>();
    check<Equal<typeof kind, "card" | undefined>>();
    const id: string | undefined = parent?.next?.next?.id;
    return { title, cards: cardList, id, at: new Date() };
  },
});
mcpWeb.addTool({ name: "without a schema", handler: (input) => check<Equal<typeof input, { [name: string]: unknown }>>() });
mcpWeb.addTool({ name: "loose", inputSchema: looseSchema, handler: (input: { title: string }) => input.title });
mcpWeb.addTool({ name: "newer", ...({ newField: 1 } as object), handler: () => null });
mcpWeb.addTool({ name: "bytes", handler: async () => [new Uint8Array(1), content.text("a")] });

const count = mcpWeb.addTool({
  name: "count",
  outputSchema: { type: "object", properties: { count: { type: "integer" } }, required: ["count"] },
  handler: async () => ({ count: 7 }),
});
mcpWeb.addTool({
  name: "count with text",
  outputSchema: { type: "object", properties: { count: { type: "integer" } }, required: ["count"] },
  handler: ({ fail }) =>
    fail ? { content: [content.text("no")], isError: true } : { content: [content.text("7")], structuredContent: { count: 7 } },
});

mcpWeb.addResourceTemplate({
  uriTemplate: "board://{board}/cards{/id}{?page,size:3}",
  name: "variables",
  read: (_uri, variables) => check<Equal<keyof typeof variables, "board" | "id" | "page" | "size">>(),
  complete: { board: () => [] },
});
mcpWeb.addPrompt({
  name: "arguments",
  arguments: [{ name: "card", required: true }, { name: "tone", complete: (value) => [value.trim()] }],
  get: (args) => {
    check<Equal<keyof typeof args, "card" | "tone">>();
    return args.card ?? "";
  },
});

export const updates = () => [
  count.update({ handler: () => ({ count: 8 }) }),
  handle.update({ description: "changed" }),
];

export function eventText(event: QueryEvent): string {
  switch (event.type) {
    case "text":
    case "thinking":
    case "note":
      return event.text;
    case "tool-started":
      return `${event.id} ${event.tool} ${event.source?.trim()} ${event.arguments.title}`;
    case "tool-finished":
      return event.isError ? (event.error ?? event.outcome ?? "failed") : `${event.tool} ${event.source?.trim()} ${event.result?.trim()}`;
    case "tool-arguments":
      return `${event.id} ${event.delta} ${event.arguments.title}`;
    case "approval-requested":
      return `${event.id} ${event.tool} ${event.source?.trim()} ${event.arguments.title} ${event.expiresInMs}`;
    case "usage":
      return Object.values(event.usage.models)
        .map(({ input, output, cached, thinking }) => input + output + cached + thinking)
        .join();
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
  for await (const event of query) console.log(eventText(event));
  const attachOptions: AttachOptions = { signal, approvalDialog: false };
  for (const uuid of mcpWeb.openQueries) mcpWeb.attachQuery(uuid, attachOptions).cancel("enough");
  if (query.state === "failed") return query.uuid;
  const { text, response, value, toolCalls } = await query.result;
  return text ?? response?.arguments.order.join() ?? toolCalls[0]?.source ?? toolCalls[0]?.tool ?? value;
}

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

// Tools shared with the browser.
const imported: string[] = [];
new McpWeb({ name: "Board", webmcp: { mirror: true, frames: true, onImportsChange: (tools) => imported.push(...tools.map(({ name, isForm }) => `${name} ${isForm}`)) } });
new McpWeb({ name: "Board", webmcp: false }).addTool({ name: "a", webmcp: false, handler: (_input, { caller }) => caller.via === "webmcp" });
connectWebMcp({ name: "Shop", frames: true, onImportsChange: (tools: readonly ImportedTool[]) => tools.length }).connect();

export async function conversing(file: File): Promise<string[]> {
  const conversation: Conversation = mcpWeb.conversation();
  const { value } = await conversation.query({
    prompt: "Which cards are late?",
    responseSchema: { type: "array", items: { type: "object", properties: { title: { type: "string" } }, required: ["title"] } },
    attachments: [file, { mimeType: "text/plain", data: "aGk=", name: "notes.txt" }],
    approve: [count, "delete_card"],
  }).result;
  const titles: string[] = (value ?? []).map(({ title }) => title);
  const continued = mcpWeb.conversation({ id: conversation.id });
  const { text, usage } = await continued.query({ prompt: "Why?" }).result;
  const roles: ("user" | "assistant")[] = (await continued.history()).map(({ role }) => role);
  const [first]: ConversationSummary[] = await mcpWeb.conversations();
  await continued.clear();
  mcpWeb.query({ prompt: "Delete it", profile: "staff", approve: ["notes-delete_file"], approvalDialog: true }).approve("1", false);
  return [...titles, text ?? "", ...roles, first?.title ?? "", String(usage?.milliseconds)];
}

const dialogStrings: DialogStrings = {
  ...{ approve: "Allow", deny: "Do not allow", arguments: "Arguments", noArguments: "None" },
  tool: (name, source = "page") => `${source}: ${name}`,
  approval: (tool) => `${tool}?`,
  pageTool: (app) => app,
  sourceTool: (source) => source,
  timeLeft: (seconds) => seconds.toFixed(),
};
new McpWeb({ name: "Board", dialogStrings });

const askBox: McpWebAskElement = document.createElement("mcp-web-ask");
const askStrings: AskStrings = {
  ...{ label: "", placeholder: "", send: "", stop: "", retry: "", copy: "", copied: "", clear: "", conversation: "", suggestions: "" },
  ...{ question: "", prompt: "", thinking: "", waiting: "", running: "", done: "", cancelled: "", interrupted: "", approve: "", deny: "" },
  tool: (name, source = "") => name.toUpperCase() + source,
  sourceTool: (source) => source.trim(),
  result: "",
  callState: (state) => ({ waiting: "", running: "", done: "", failed: "", cancelled: "" })[state],
  approval: (tool) => tool.trim(),
  image: (text) => text.trim(),
  failure: ({ code, message, remedy = "" }) => (code === "AgentUnavailable" ? message + remedy : undefined),
};
const suggestion: AskSuggestion = { label: "Plan", prompt: () => "Plan my day", options: (prompt) => ({ timeout: prompt.length }) };
const askOptions: AskOptions = { restrictTools: true, profile: "staff" };
Object.assign(askBox, { label: "Ask", placeholder: "?" });
askBox.profile = askBox.profile ?? "staff";
askBox.mcpWeb = new McpWeb({ name: "Board" });
askBox.strings = askStrings;
askBox.suggestions = ["Which cards are late?", suggestion];
askBox.options = async () => askOptions;
askBox.context = () => [{ name: "selection", value: 1 }];
askBox.answer = ({ response, value }) => (response ? `${response.arguments}` : `${value}`);
const isAsked: boolean = askBox.ask("?", { timeout: 1 }) || askBox.running;
askBox.addEventListener("mcp-web-ask-start", ({ detail }) => detail.query.uuid + detail.prompt);
askBox.addEventListener("mcp-web-ask-progress", ({ detail }) => detail.event.type);
askBox.addEventListener("mcp-web-ask-cancel", ({ detail }) => detail.query?.uuid);
document.addEventListener("mcp-web-ask-complete", ({ detail }) => detail.result.text);
document.addEventListener("mcp-web-ask-error", ({ detail }) => detail.error);
if (isAsked) askBox.stop();
askBox.clear();
askBox.focus();

const toolCall: ToolCallRequest = { toolName: "add_card", toolInput: { title: "a" } };
const describeEvent = (event: ToolCallEvent): string => {
  switch (event.type) {
    case "progress":
      return event.message ?? `${event.progress} of ${event.total}`;
    case "result":
      return event.result.content.map(({ type }) => type).join();
    case "error":
      return event.error + event.message;
  }
};
describeEvent(JSON.parse(toolCall.toolName) as ToolCallEvent);
