// Each marked line must not compile, and the compiler's message must contain the text after `//~`.
import { McpWeb, content } from "mcp-web-sdk";

const mcpWeb = new McpWeb({ name: "Board" });
const inputSchema = { type: "object", properties: { title: { type: "string" } }, required: ["title"] } as const;
const outputSchema = { type: "object", properties: { count: { type: "integer" } }, required: ["count"] } as const;

// milliseconds, not words
mcpWeb.addTool({ name: "slow", timeout: "5 min", handler() {} }); //~ Type 'string' is not assignable to type 'number'
// a query needs a prompt
mcpWeb.query({}); //~ Property 'prompt' is missing
// an item of context has a value, or is a tool
mcpWeb.query({ prompt: "?", context: [{ name: "board" }] }); //~ Property 'value' is missing
// who is asked is a yes or no
mcpWeb.query({ prompt: "?", approvalDialog: "always" }); //~ Type 'string' is not assignable to type 'boolean | undefined'
// the state is the module's to change
mcpWeb.query({ prompt: "?" }).state = "complete"; //~ Cannot assign to 'state' because it is a read-only property
// there is no such level
mcpWeb.addTool({ name: "log", handler: (_, ctx) => ctx.log("loud", 1) }); //~ '"loud"' is not assignable to parameter of type 'LogLevel'
// an app has one page
mcpWeb.addApp({ name: "two", html: "", url: "", handler() {} }); //~ Types of property 'url' are incompatible
// an elicitation needs a schema or an address
mcpWeb.addTool({ name: "elicit", handler: (_, ctx) => ctx.elicit({ message: "?" }) }); //~ Property 'url' is missing in type '{ message: string; }'
// a resource without a reader
mcpWeb.addResource({ uri: "a:b", name: "b" }); //~ Property 'read' is missing
// a tool without a handler
mcpWeb.addTool({ name: "idle" }); //~ Property 'handler' is missing
// an app without a name
new McpWeb({}); //~ Property 'name' is missing
// the status is the module's to change
mcpWeb.status = { state: "idle" }; //~ Cannot assign to 'status' because it is a read-only property

// a misspelled field of a definition
mcpWeb.addTool({ name: "a", handlr: () => 1 }); //~ Did you mean to write 'handler'?
mcpWeb.addTool({ name: "a", descripton: "b", handler: () => 1 }); //~ Did you mean to write 'description'?
mcpWeb.addPrompt({ name: "a", arguments: [{ name: "b", requird: true }], get: () => "" }); //~ Did you mean to write 'required'?
mcpWeb.addResource({ uri: "a:b", name: "b", mimetype: "c", read: () => "" }); //~ Did you mean to write 'mimeType'?
// a property that the schema does not name
mcpWeb.addTool({ name: "a", inputSchema, handler: (input) => input.titel }); //~ Did you mean 'title'?
mcpWeb.addTool({ name: "a", inputSchema, handler: ({ title }) => title.toFixed() }); //~ Property 'toFixed' does not exist on type 'string'
mcpWeb.addTool({ name: "a", handler: (input) => input.title.length }); //~ 'input.title' is of type 'unknown'
mcpWeb.addTool({ name: "a", webmcp: "no", handler: () => 1 }); //~ Type 'string' is not assignable to type 'boolean'
new McpWeb({ name: "a", webmcp: { imports: true } }); //~ 'imports' does not exist in type 'WebMcpOptions'
// an annotation that contradicts the schema
mcpWeb.addTool({ name: "a", inputSchema, handler: (input: { title: number }) => input.title }); //~ is not assignable
// a result that contradicts the schema
mcpWeb.addTool({ name: "a", outputSchema, handler: () => ({ count: "7" }) }); //~ Type 'string' is not assignable to type 'number'
mcpWeb.addTool({ name: "a", outputSchema, handler: async () => ({}) }); //~ is not assignable
mcpWeb.addTool({ name: "a", outputSchema, handler: () => ({ content: [content.text("7")] }) }); //~ is not assignable
// what JSON cannot carry
mcpWeb.addTool({ name: "a", handler: () => new Map() }); //~ a Map has no JSON: return Object.fromEntries(map)
mcpWeb.addTool({ name: "a", handler: () => ({ tags: new Set([1]) }) }); //~ a Set has no JSON: return [...set]
mcpWeb.addTool({ name: "a", handler: async () => [1n] }); //~ a bigint has no JSON: return a number, or String(value)
mcpWeb.addTool({ name: "a", handler: () => ({ f: () => 1 }) }); //~ a function has no JSON: call it, and return its result
mcpWeb.addTool({ name: "a", handler: () => ({ later: Promise.resolve(1) }) }); //~ a promise has no JSON: await it
mcpWeb.addTool({ name: "a", handler: () => new Error("b") }); //~ this object has no JSON: return its fields
// variables and arguments that are not there
mcpWeb.addResourceTemplate({ uriTemplate: "a://{id}", name: "b", read: (_uri, { card }) => card }); //~ Property 'card' does not exist
mcpWeb.addResourceTemplate({ uriTemplate: "a://{id}", name: "b", read: () => "", complete: { card: () => [] } }); //~ 'card' does not exist
mcpWeb.addPrompt({ name: "a", arguments: [{ name: "card" }], get: ({ tone }) => tone }); //~ Property 'tone' does not exist
mcpWeb.addPrompt({ name: "a", arguments: [{ name: "card" }], get: ({ card }) => card.trim() }); //~ 'card' is possibly 'undefined'
