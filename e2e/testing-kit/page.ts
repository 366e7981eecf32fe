/** A page with one item of each kind that clients can use. */

import type { McpWeb } from "mcp-web-sdk";

/** The actions of the scenario in the page, and the events that it receives. */
export interface PageState {
  /** The page's session. */
  session: string;
  /** Fulfilled when the handler of `slow` runs. */
  whenStarted(): Promise<void>;
  /** Fulfilled when the handler of `slow` is cancelled. */
  whenCancelled(): Promise<string>;
  addLateTool(): void | Promise<void>;
  changeBoard(): void | Promise<void>;
}

/** Runs in the page. It must not use anything of this module: a test sends its source to a browser. */
export function addItems(mcpWeb: McpWeb): PageState {
  const started = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<string>();
  mcpWeb.addTool({
    name: "add",
    title: "Add",
    description: "Adds two numbers",
    inputSchema: {
      type: "object",
      properties: { a: { type: "integer", minimum: 0 }, b: { type: "integer" } },
      required: ["a", "b"],
      additionalProperties: false,
    },
    outputSchema: { type: "object", properties: { sum: { type: "integer", maximum: 100 } }, required: ["sum"] },
    annotations: { readOnlyHint: true },
    handler: ({ a, b }) => ({ sum: a + b }),
  });
  mcpWeb.addTool({ name: "text", handler: () => "text" });
  mcpWeb.addTool({ name: "nothing", handler: () => undefined });
  mcpWeb.addTool({ name: "list", handler: () => [1, { two: 2 }, null] });
  mcpWeb.addTool({ name: "picture", handler: () => new Blob([new Uint8Array([1, 2, 3])], { type: "image/png" }) });
  mcpWeb.addTool({
    name: "throws",
    handler: () => {
      throw new Error("it does not work");
    },
  });
  mcpWeb.addTool({
    name: "slow",
    handler: (_input, { signal }) =>
      new Promise((_resolve, reject) => {
        started.resolve();
        signal.addEventListener("abort", () => {
          cancelled.resolve("the handler was cancelled");
          reject(signal.reason);
        });
      }),
  });
  mcpWeb.addTool({
    name: "timeout",
    timeout: 1000,
    handler: () => new Promise(() => {}),
  });
  mcpWeb.addTool({
    name: "report",
    handler: (_input, ctx) => {
      ctx.progress(1, 2, "half");
      ctx.progress(2, 2);
      ctx.log("debug", { step: 1 });
      ctx.log("warning", "careful", "report");
      return `${ctx.client?.name} via ${ctx.caller.via}`;
    },
  });
  mcpWeb.addTool({
    name: "ask",
    handler: async (_input, ctx) => {
      const schema = { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] } as const;
      const { action, content } = await ctx.elicit({ message: "Sure?", schema });
      const sample = await ctx.sample({ prompt: "Say something", maxTokens: 10 });
      const roots = await ctx.listRoots();
      return { action, content, sample: sample.content, roots };
    },
  });
  mcpWeb.addResource({
    uri: "board://all",
    name: "board",
    description: "The board",
    mimeType: "application/json",
    read: () => ({ cards: 1 }),
  });
  mcpWeb.addResource({
    uri: "board://broken",
    name: "broken",
    read: () => {
      throw new Error("cannot read");
    },
  });
  mcpWeb.addResourceTemplate({
    uriTemplate: "board://cards/{id}",
    name: "card",
    read: (_uri, { id }) => (id === "c1" ? `card ${id}` : null),
    complete: { id: (value) => ["c1", "c2", "d1"].filter((id) => id.startsWith(value)) },
  });
  mcpWeb.addPrompt({
    name: "plan",
    description: "Plans a day",
    arguments: [{ name: "day", required: true, complete: (value) => ["monday", "tuesday"].filter((day) => day.startsWith(value)) }],
    get: ({ day }) => `Plan ${day}`,
  });
  return {
    session: mcpWeb.sessionId!,
    whenStarted: () => started.promise,
    whenCancelled: () => cancelled.promise,
    addLateTool: () => void mcpWeb.addTool({ name: "late", handler: () => "late" }),
    changeBoard: () => mcpWeb.notifyResourceUpdated("board://all"),
  };
}
