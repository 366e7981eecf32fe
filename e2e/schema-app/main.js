// The same tool with each library: a title that is trimmed and has two characters at least and no digits (a refinement,
// which JSON Schema does not have), a column with a default, and a text of which the handler gets something else.
import { McpWeb } from "mcp-web-sdk";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import Type from "typebox";
import * as v from "valibot";
import * as z from "zod";
import * as mini from "zod/mini";

const parameters = new URLSearchParams(location.search);
window.mcpWeb = new McpWeb({
  name: "Schemas",
  bridgeUrl: parameters.get("bridge"),
  authToken: parameters.get("token"),
});

const hasNoDigit = (title) => !/[0-9]/.test(title);
const NO_DIGITS = "a title has no digits";

const schemas = {
  zod: z.object({
    title: z.string().min(2).refine(hasNoDigit, NO_DIGITS),
    column: z.enum(["todo", "done"]).default("todo"),
    tags: z.string().transform((tags) => tags.split(",")),
  }),
  zod_mini: z.toJSONSchema(
    mini.object({
      title: mini.string().check(mini.minLength(2), mini.refine(hasNoDigit, NO_DIGITS)),
      column: mini._default(mini.enum(["todo", "done"]), "todo"),
      tags: mini.pipe(mini.string(), mini.transform((tags) => tags.split(","))),
    }),
    { io: "input" },
  ),
  valibot: toStandardJsonSchema(
    v.object({
      title: v.pipe(v.string(), v.minLength(2), v.regex(/^\D*$/, NO_DIGITS)),
      column: v.optional(v.picklist(["todo", "done"]), "todo"),
      tags: v.pipe(v.string(), v.transform((tags) => tags.split(","))),
    }),
  ),
  arktype: type({
    title: type("/^\\D{2,}$/").describe(NO_DIGITS),
    column: "'todo' | 'done' = 'todo'",
    tags: type("string").pipe((tags) => tags.split(",")),
  }),
  typebox: Type.Object({
    title: Type.String({ minLength: 2, pattern: "^\\D*$" }),
    column: Type.Optional(Type.Enum(["todo", "done"], { default: "todo" })),
    tags: Type.String(),
  }),
};

for (const [library, inputSchema] of Object.entries(schemas)) {
  mcpWeb.addTool({ name: library, description: `A schema of ${library}`, inputSchema, handler: (input) => input });
}
