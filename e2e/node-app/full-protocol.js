// An app in Node with everything that the journey `full_protocol` checks.
import { McpWeb } from "mcp-web-sdk/node";

const { BRIDGE_URL, TOKEN } = process.env;
const mcpWeb = new McpWeb({ name: "Notes", bridgeUrl: BRIDGE_URL, authToken: TOKEN });
const form = {
  message: "Who are you?",
  schema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
};

mcpWeb.addTool({
  name: "ask",
  handler: async (_input, ctx) => {
    ctx.progress(1, 2);
    ctx.log("info", { asks: 3 });
    const [elicited, sampled, roots] = await Promise.all([
      ctx.elicit(form),
      ctx.sample({ messages: [{ role: "user", content: { type: "text", text: "say hello" } }], maxTokens: 10 }),
      ctx.listRoots(),
    ]);
    const second = await ctx.elicit(form);
    return { first: [elicited.content.name, sampled.content.text, roots[0].uri], second: second.content.name };
  },
});
mcpWeb.addPrompt({
  name: "greet",
  arguments: [{ name: "whom", required: true, complete: (value) => ["Ada", "Bob"].filter((name) => name.startsWith(value)) }],
  get: async ({ whom }, ctx) => `${(await ctx.elicit(form)).content.name} greets ${whom}`,
});
const notes = mcpWeb.addResource({
  uri: "notes://all",
  name: "all",
  read: () => "every note",
  onSubscribe: () => console.log("subscribed"),
});
mcpWeb.addTool({ name: "update", handler: () => notes.notifyUpdated() });
mcpWeb.addResourceTemplate({
  uriTemplate: "notes://note/{id}",
  name: "note",
  read: (_uri, { id }) => `the note ${id}`,
  complete: { id: (value) => ["1", "12", "2"].filter((id) => id.startsWith(value)) },
});
await mcpWeb.connect();
console.log("connected");
