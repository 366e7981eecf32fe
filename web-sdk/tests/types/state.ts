// Compiled, never run: the types of state tools follow from the schema of the state.
import { type } from "arktype";
import { McpWeb } from "mcp-web-sdk";
import { addStateTools, createStateTools, groupState, id, state, system } from "mcp-web-sdk/state";
import * as z from "zod";

const mcpWeb = new McpWeb({ name: "Board" });

/** Whether two types are equal. */
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles only if the type is `true`. */
function check<_Result extends true>(): void {}

const Todo = z.object({ id: id(system(z.string().default("x"))), value: z.string() });
let todos: z.infer<typeof Todo>[] = [];
const shared = { name: "todos", description: "Things to do" } as const;

// One setter, or a list of tools.
const [getter, setter, cleanup, notifyChanged] = addStateTools(mcpWeb, {
  ...shared,
  schema: z.array(Todo),
  get: () => todos,
  set: (value) => {
    check<Equal<typeof value, { id: string; value: string }[]>>();
    todos = value;
  },
});
check<Equal<typeof setter, typeof getter>>();
cleanup();
notifyChanged();
const [, setters] = addStateTools(mcpWeb, { ...shared, schema: z.array(Todo), get: async () => todos, set() {}, expand: true });
setters.map(({ name }) => name);
const [, parts] = addStateTools(mcpWeb, {
  ...shared,
  schema: { type: "object", properties: { a: { type: "number" }, b: { type: "string" } }, required: ["a"] },
  get: () => ({ a: 1 }),
  set: (value) => check<Equal<typeof value, { a: number; b?: string }>>(),
  schemaSplit: ["a", ["b"]],
});
parts.length.toFixed();

// Marks by paths do not change types.
addStateTools(mcpWeb, {
  ...shared,
  schema: state({ type: "array", items: { type: "string" } }, { ids: [] }),
  get: () => ["a"],
  set: (value) => check<Equal<typeof value, string[]>>(),
});
addStateTools(mcpWeb, { ...shared, schema: type("'light' | 'dark'"), get: () => "light" as const, set: (value) => check<Equal<typeof value, "light" | "dark">>() });

// @ts-expect-error the state contradicts the schema
addStateTools(mcpWeb, { ...shared, schema: z.number(), get: () => "x", set() {} });
// @ts-expect-error a misspelled option
addStateTools(mcpWeb, { ...shared, schema: z.number(), get: () => 1, set() {}, expnad: true });
// @ts-expect-error no description
addStateTools(mcpWeb, { name: "todos", schema: z.number(), get: () => 1, set() {} });

const settings = groupState({
  theme: [() => "light" as const, (value) => check<Equal<typeof value, "light" | "dark">>(), z.enum(["light", "dark"])],
  size: [async () => 1, (value) => value.toFixed(), z.number()],
});
addStateTools(mcpWeb, { ...shared, ...settings });

const created = createStateTools({ ...shared, schema: z.number(), get: () => 1, set: (value) => value.toFixed() });
created.setters.handler;
created.tools.map(({ name }) => name);
addStateTools(mcpWeb, created)[1].remove();
