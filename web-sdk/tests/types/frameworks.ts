// Compiled, never run: the hooks for frameworks infer the same types as `addTool` and the other methods.
import { McpWeb } from "mcp-web-sdk";
import { McpWeb as InlineMcpWeb } from "mcp-web-sdk/inline";
import * as react from "mcp-web-sdk/react";
import * as svelte from "mcp-web-sdk/svelte";
import * as vue from "mcp-web-sdk/vue";
import wasm from "mcp-web-sdk/mcp_web_core_bg.wasm";
import { ref } from "vue";

const mcpWeb: McpWeb = new InlineMcpWeb({ name: "Board", wasm });
declare const isReady: boolean;
declare const columns: string[];

const tool = {
  name: "add_card",
  inputSchema: {
    type: "object",
    properties: { title: { type: "string" }, column: { enum: ["todo", "done"] } },
    required: ["title"],
  },
} as const;

react.McpWebProvider({ mcpWeb, children: "text" });
react.useTool({
  name: "add_card",
  inputSchema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
  handler: ({ title }) => title.toUpperCase(),
});
react.useTool(isReady ? { ...tool, handler: ({ title, column }) => `${title.trim()} ${column satisfies "todo" | "done" | undefined}` } : null);
react.useTool({
  name: "move_card",
  // Values that are known only while the app runs.
  inputSchema: { type: "object", properties: { column: { enum: columns } }, required: ["column"] },
  handler: ({ column }) => column.trim(),
});
const published: string | undefined = react.useTool(undefined).publishedName;
react.useResource({ uri: "board://cards", name: "cards", read: () => [published] }).notifyUpdated();
react.useResourceTemplate({ uriTemplate: "board://cards/{id}", name: "card", read: (_, { id }) => id.trim() });
react.usePrompt({ name: "review", arguments: [{ name: "card" }], get: ({ card }) => `Review ${card}` });
const { ask, state, text, error } = react.useQuery<{ ids: string[] }>();
const asked: Promise<string[] | undefined> = ask({ prompt: "?" }).result.then(({ response }) => response?.arguments.ids);
const shown: string = `${state satisfies "idle" | "waiting" | "running" | "complete" | "failed" | "cancelled"} ${error?.code ?? text}`;

vue.useTool(() => (isReady ? { ...tool, handler: ({ title }) => title.trim() } : null));
vue.useTool(ref({ name: "now", handler: () => Date.now() }));
const clients: string[] = vue.useMcpWeb().clients.value.map(({ name }) => name);
vue.usePrompt({ name: "review", get: () => [shown, asked, clients].length.toString() });
const answer: string = vue.useQuery().query.value.text;

svelte.setMcpWeb(mcpWeb);
svelte.useTool(() => ({ ...tool, handler: ({ column }) => ({ column: column ?? answer }) }));
svelte.useResourceTemplate(() => ({ uriTemplate: "board://{column}", name: "column", read: (_, { column }) => column.trim() }));
const reason: string | undefined = svelte.useQuery().error?.message ?? svelte.useMcpWeb().status.state;

// @ts-expect-error: there is no such column
react.useTool({ ...tool, handler: ({ column }) => column === "doing" });
// @ts-expect-error: a tool needs a handler
vue.useTool({ name: "idle", description: reason });
// @ts-expect-error: a misspelled field
svelte.useTool({ name: "idle", handlr: () => 1 });
