// Compiled, never run: the types that the handler of a tool gets from schemas of libraries.
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { McpWeb } from "mcp-web-sdk";
import Type from "typebox";
import * as v from "valibot";
import * as z from "zod";
import * as zm from "zod/mini";

const mcpWeb = new McpWeb({ name: "Board" });

/** Whether two types are equal. */
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles only if the type is `true`. */
function check<_Result extends true>(): void {}

mcpWeb.addTool({
  name: "zod",
  inputSchema: z.object({ title: z.string(), n: z.number().default(1), length: z.string().transform((text) => text.length) }),
  handler: (input) => check<Equal<typeof input, { title: string; n: number; length: number }>>(),
});
mcpWeb.addTool({ name: "zod result", outputSchema: z.object({ n: z.number().default(1) }), handler: () => ({}) });
// @ts-expect-error the result contradicts the schema
mcpWeb.addTool({ name: "zod wrong", outputSchema: z.object({ n: z.number() }), handler: () => ({ n: "1" }) });
mcpWeb.addTool({
  name: "zod mini",
  inputSchema: z.toJSONSchema(zm.object({ title: zm.string(), n: zm._default(zm.number(), 1) }), { io: "input" }),
  handler: (input) => check<Equal<typeof input, { title: string; n: number }>>(),
});
mcpWeb.addTool({
  name: "valibot",
  inputSchema: toStandardJsonSchema(v.object({ title: v.string(), n: v.optional(v.number(), 1) })),
  handler: (input) => check<Equal<typeof input, { title: string; n: number }>>(),
});
mcpWeb.addTool({
  name: "arktype",
  inputSchema: type({ title: "string", n: "number = 1" }),
  handler: (input) => check<Equal<typeof input, { title: string; n: number }>>(),
});
mcpWeb.addTool({
  name: "typebox",
  inputSchema: Type.Object({
    title: Type.String(),
    n: Type.Optional(Type.Number()),
    column: Type.Union([Type.Literal("todo"), Type.Literal("done")]),
    tags: Type.Array(Type.String()),
  }),
  handler: (input) =>
    check<Equal<typeof input, { title: string; n?: number; column: "todo" | "done"; tags: string[] }>>(),
});
