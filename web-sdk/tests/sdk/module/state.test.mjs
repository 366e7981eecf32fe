// State tools: order and timing, and schemas of several libraries.
import assert from "node:assert/strict";
import { test } from "node:test";
import { addStateTools, createStateTools, groupState, id, state, system } from "../../../../target/sdk/mcp-web-state.js";
import { Item, appWith, json, require } from "./state/app.mjs";

const z = require("zod");
const zMini = require("zod/mini");
const v = require("valibot");
const { toStandardJsonSchema } = require("@valibot/to-json-schema");
const { type } = require("arktype");
const { Type } = require("typebox");

test("calls of one state run one at a time, and none is lost", async () => {
  const app = appWith([], { schema: z.array(z.number()), expand: true });
  const created = createStateTools({
    name: "slow",
    description: "A list that takes its time",
    schema: z.array(z.number()),
    expand: true,
    get: async () => (await Promise.resolve(), app.value),
    set: async (value) => {
      await new Promise((resolve) => setImmediate(resolve));
      app.value = value;
    },
  });
  const add = created.tools.find(({ name }) => name === "add_slow").handler;
  await Promise.all(Array.from({ length: 50 }, (_, index) => add({ value: index })));
  assert.deepEqual(app.value, Array.from({ length: 50 }, (_, index) => index));
});

test("a rejected set is an error of the call, and the next call runs", async () => {
  let isReadOnly = true;
  let value = 1;
  const set = async (next) => {
    if (isReadOnly) throw new Error("read only");
    value = next;
  };
  for (const expand of [false, true]) {
    isReadOnly = true;
    const { setters } = createStateTools({ name: "s", description: "A number", schema: z.number(), get: () => value, set, expand });
    const { handler } = expand ? setters[0] : setters;
    await assert.rejects(handler({ value: 7 }), /read only/);
    assert.notEqual(value, 7);
    isReadOnly = false;
    await handler({ value: 8 });
    assert.equal(value, 8);
  }
});

test("a call that was cancelled while it waited does not run", async () => {
  let release;
  const gate = new Promise((resolve) => (release = resolve));
  const app = appWith(0, { schema: z.number(), expand: true });
  const created = createStateTools({ name: "s", description: "A number", schema: z.number(), get: () => gate.then(() => app.value), set: (next) => (app.value = next) });
  const controller = new AbortController();
  const reading = created.getter.handler({});
  const writing = created.setters.handler({ value: 5 }, { signal: controller.signal });
  controller.abort(new Error("not needed"));
  release();
  await reading;
  await assert.rejects(writing, /not needed/);
  assert.equal(app.value, 0);
});

test("unchanged parts of the state stay the same object", async () => {
  const initial = { a: { x: 1 }, list: [{ t: "a" }, { t: "b" }], r: { k: { t: "k" } } };
  const Shape = z.object({ a: z.object({ x: z.number() }), list: z.array(z.object({ t: z.string() })), r: z.record(z.string(), z.object({ t: z.string() })) });
  const app = appWith(initial, { schema: Shape, expand: true });
  await app.call("set_s_list", { index: 1, value: { t: "c" } });
  assert.notEqual(app.value, initial);
  assert.equal(app.value.a, initial.a);
  assert.equal(app.value.r, initial.r);
  assert.equal(app.value.list[0], initial.list[0]);
});

test("an error has the parameter and the rule, or the path in the state", async () => {
  const app = appWith([], { schema: z.array(Item).max(1), expand: true });
  await assert.rejects(app.call("add_s", { value: { id: "a", title: "" } }), /^Error: \/value\/title: Too small|\/value\/title/);
  await app.call("add_s", { value: { id: "a", title: "A" } });
  await assert.rejects(app.call("add_s", { value: { id: "b", title: "B" } }), /the state would not be valid at \/: Too big/);
  await assert.rejects(app.call("set_s", { id: "x", value: {} }), /s has no item with the id "x"/);
});

test("schemas of every library result in the same tools, with marks by paths", async () => {
  const plain = {
    type: "object",
    properties: {
      cards: {
        type: "array",
        items: {
          type: "object",
          properties: { key: { type: "integer" }, title: { type: "string", minLength: 1 }, at: { type: "string", default: "now" } },
          required: ["key", "title"],
        },
      },
      theme: { enum: ["light", "dark"] },
    },
    required: ["cards", "theme"],
  };
  const marks = { ids: ["cards[].key"], system: ["cards[].at"] };
  const mini = zMini.object({
    cards: zMini.array(zMini.object({ key: zMini.int(), title: zMini.string().check(zMini.minLength(1)), at: zMini._default(zMini.string(), "now") })),
    theme: zMini.enum(["light", "dark"]),
  });
  const libraries = {
    "JSON Schema": state(plain, marks),
    TypeBox: state(
      Type.Object({
        cards: Type.Array(Type.Object({ key: Type.Integer(), title: Type.String({ minLength: 1 }), at: Type.Optional(Type.String({ default: "now" })) })),
        theme: Type.Union([Type.Literal("light"), Type.Literal("dark")]),
      }),
      marks,
    ),
    Zod: z.object({
      cards: z.array(z.object({ key: id(z.int()), title: z.string().min(1), at: system(z.string().default("now")) })),
      theme: z.enum(["light", "dark"]),
    }),
    "Zod Mini": state(mini, { ...marks, jsonSchema: zMini.toJSONSchema(mini, { io: "input" }) }),
    Valibot: state(
      toStandardJsonSchema(
        v.object({
          cards: v.array(v.object({ key: v.pipe(v.number(), v.integer()), title: v.pipe(v.string(), v.minLength(1)), at: v.optional(v.string(), "now") })),
          theme: v.picklist(["light", "dark"]),
        }),
      ),
      marks,
    ),
    ArkType: state(type({ cards: type({ key: "number.integer", title: "string > 0", at: "string = 'now'" }).array(), theme: "'light' | 'dark'" }), marks),
  };
  for (const [library, schema] of Object.entries(libraries)) {
    const app = appWith({ cards: [{ key: 1, title: "A", at: "then" }], theme: "light" }, { schema, expand: true });
    assert.deepEqual(
      app.created.tools.map(({ name }) => name),
      ["get_s", "set_s", "get_s_cards", "add_s_cards", "set_s_cards", "delete_s_cards"],
      library,
    );
    const [, , get, add] = app.created.tools;
    assert.equal(get.inputSchema.properties.id.type, "integer", library);
    assert.deepEqual(Object.keys(add.inputSchema.properties.value.properties), ["key", "title"], library);
    await app.call("set_s_cards", { id: 1, value: { title: "B", at: "forged" } });
    assert.deepEqual(json(app.value.cards), [{ key: 1, title: "B", at: "then" }], library);
    await assert.rejects(app.call("set_s_cards", { id: 1, value: { title: "" } }), /\/value\/title/, library);
    await assert.rejects(app.call("set_s", { theme: "pink" }), /\/theme/, library);
    await assert.rejects(app.call("add_s_cards", { value: { key: 1, title: "C" } }), /is the id of another item/, library);
    assert.deepEqual(await app.call("get_s_cards", { id: 1 }), app.value.cards[0], library);
    const { value: added } = await app.call("add_s_cards", { value: { key: 2, title: "C" } });
    assert.deepEqual(json(added), { key: 2, title: "C", at: "now" }, library);
  }
});

test("published parameters are JSON Schema without marks, which accepts what the tool accepts", () => {
  const { tools } = createStateTools({ name: "s", description: "Items", schema: z.array(Item), get: () => [], set() {}, expand: true });
  const text = JSON.stringify(tools.map(({ inputSchema }) => inputSchema));
  assert.doesNotMatch(text, /x-mcp-web|additionalProperties|\$schema/);
  const set = tools.find(({ name }) => name === "set_s").inputSchema;
  assert.deepEqual(set.required, ["id", "value"]);
  assert.equal(set.properties.value.required, undefined);
  assert.equal(set.properties.value.properties.more.required, undefined);
});

test("references of a recursive schema are resolvable in each tool", () => {
  const Node = z.object({ t: z.string(), get kids() { return z.array(Node); } });
  for (const options of [{ schema: z.array(Node), expand: true }, { schema: Node, expand: true }, { schema: Node }, { schema: z.object({ root: Node }), schemaSplit: ["root"] }]) {
    const { tools } = createStateTools({ name: "s", description: "A tree", get: () => ({}), set() {}, ...options });
    for (const { name, inputSchema = {}, outputSchema = {} } of tools) {
      for (const schema of [inputSchema, outputSchema]) {
        for (const [, reference] of JSON.stringify(schema).matchAll(/"\$ref":"#([^"]*)"/g)) {
          const target = reference.split("/").slice(1).reduce((value, key) => value?.[key.replaceAll("~1", "/")], schema);
          assert.equal(typeof target, "object", `${name}: #${reference}`);
        }
      }
    }
  }
});

test("invalid configurations are rejected when the tools are created", () => {
  const make = (options) => () => createStateTools({ name: "s", description: "A state", get: () => ({}), set() {}, ...options });
  assert.throws(make({ schema: z.object({ session_id: z.string() }) }), /session_id/);
  assert.throws(make({ schema: z.object({ session_id: z.string() }), expand: true }), /session_id/);
  assert.throws(make({ schema: z.object({ a: z.string() }), schemaSplit: ["a", "a"] }), /two of its tools would be called "set_s_a"/);
  assert.throws(make({ schema: z.object({ a: z.object({ x: z.string() }), b: z.object({ x: z.string() }) }), schemaSplit: [["a.x", "b.x"]] }), /two fields "x"/);
  assert.throws(make({ schema: state({ type: "object", properties: {} }, { ids: ["list[].id"] }) }), /has no field "list\[\].id"/);
  assert.throws(make({ schema: "string" }), /schema must be JSON Schema/);
  assert.throws(make({ schema: z.string(), name: "" }), /name must be/);
  assert.throws(make({ schema: z.string(), get: undefined }), /get\(\)/);
  assert.throws(make({ schema: z.string(), description: "" }), /needs a description/);
});

test("many tools cause a warning", (context) => {
  const warn = context.mock.method(console, "warn", () => {});
  const lists = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`list${index}`, z.array(z.string())]));
  createStateTools({ name: "s", description: "Lists", schema: z.object(lists), get: () => ({}), set() {}, expand: true });
  assert.match(warn.mock.calls[0].arguments[0], /has 29 tools: .* at most 25/);
});

test("a group reads and sets its own values, of several libraries", async () => {
  const atoms = { theme: "light", size: 1 };
  const sets = [];
  const group = groupState({
    theme: [() => atoms.theme, (value) => (sets.push("theme"), (atoms.theme = value)), type("'light' | 'dark'")],
    size: [async () => atoms.size, async (value) => (sets.push("size"), (atoms.size = value)), { type: "integer", minimum: 0 }],
  });
  const { getter, setters } = createStateTools({ name: "settings", description: "The settings", ...group });
  assert.deepEqual(await getter.handler({}), { theme: "light", size: 1 });
  await setters.handler({ size: 2 });
  assert.deepEqual(sets, ["size"]);
  await assert.rejects(setters.handler({ theme: "dark", size: -1 }), /\/size/);
  assert.deepEqual(atoms, { theme: "light", size: 2 });
  assert.deepEqual(setters.inputSchema.properties.size, { type: "integer", minimum: 0 });
});

test("the tools and the resource are added, notified of changes once per task, and removed", async () => {
  const added = [];
  let updates = 0;
  const add = (kind) => (definition) => {
    const handle = { kind, definition, remove: () => added.splice(added.indexOf(handle), 1), notifyUpdated: () => updates++ };
    added.push(handle);
    return handle;
  };
  const page = { addTool: add("tool"), addResource: add("resource") };
  let value = [];
  const listeners = new Set();
  const [getter, setters, cleanup, notifyChanged] = addStateTools(page, {
    name: "to do",
    description: "Things to do",
    schema: z.array(z.string()),
    expand: true,
    get: () => value,
    set: (next) => {
      value = next;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  });
  assert.deepEqual(added.map(({ definition }) => definition.name), ["get_to do", "add_to do", "set_to do", "delete_to do", "to do"]);
  assert.equal(getter, added[0]);
  assert.deepEqual(setters, added.slice(1, 4));
  const resource = added[4].definition;
  assert.equal(resource.uri, "state://to%20do");
  await Promise.all([setters[0].definition.handler({ value: "a" }), setters[0].definition.handler({ value: "b" })]);
  assert.deepEqual(await resource.read(), ["a", "b"]);
  const before = updates;
  assert.ok(before >= 1 && before <= 4, `${before} updates`);
  for (let change = 0; change < 10; change++) notifyChanged();
  await Promise.resolve();
  assert.equal(updates, before + 1);
  cleanup();
  assert.deepEqual(added, []);
  assert.equal(listeners.size, 0);
});

test("values that a library drops are rejected, and values that it sorts are stored sorted", async () => {
  const records = appWith({}, { schema: z.record(z.string(), z.object({ n: z.number() })), expand: true });
  await assert.rejects(records.call("set_s", { key: "__proto__", value: {} }), /\/key: the schema does not accept "__proto__"/);
  assert.equal(records.sets, 0);
  const sorted = appWith([2, 3], { schema: z.array(z.number()).overwrite((list) => [...list].sort()), expand: true });
  assert.deepEqual(await sorted.call("add_s", { value: 1 }), { success: true, value: 1 });
  assert.deepEqual(sorted.value, [1, 2, 3]);
});

test("a state that does not match its schema is an error, and class instances keep their fields", async () => {
  class Settings {
    theme = "dark";
    size = 20;
    list = ["a"];
  }
  const schema = z.object({ theme: z.string().default("x"), size: z.number().default(10), list: z.array(z.string()).default([]) });
  const app = appWith(new Settings(), { schema, expand: true });
  await app.call("set_s", { theme: "light" });
  assert.deepEqual({ ...app.value }, { theme: "light", size: 20, list: ["a"] });
  await app.call("add_s_list", { value: "b" });
  assert.deepEqual({ ...app.value }, { theme: "light", size: 20, list: ["a", "b"] });
  for (const value of [new Map([["a", 1]]), [1, 2], "text"]) {
    const wrong = appWith(value, { schema: z.record(z.string(), z.number()), expand: true });
    await assert.rejects(wrong.call("set_s", { key: "b", value: 2 }), /there should be an object/);
    assert.equal(wrong.value, value);
  }
});

test("changes by the app during validation are not lost", async () => {
  let finishValidation;
  let app;
  const validating = new Promise((started) => {
    const validate = () => new Promise((finish) => {
      // The first validation waits; later ones do not.
      if (finishValidation) return finish(true);
      finishValidation = () => finish(true);
      started();
    });
    app = appWith({ l: ["a"] }, { schema: z.object({ l: z.array(z.string()) }).refine(validate), expand: true });
  });
  const adding = app.call("add_s_l", { value: "by a client" });
  await validating;
  app.value = { l: ["a", "by the user"] };
  finishValidation();
  await adding;
  assert.deepEqual(app.value.l, ["a", "by the user", "by a client"]);
});

test("a call that never settles ends when cancelled, and the next one runs", async () => {
  let isStuck = true;
  let value = 1;
  const set = (next) => (isStuck ? new Promise(() => {}) : void (value = next));
  const { getter, setters } = createStateTools({ name: "s", description: "A number", schema: z.number(), get: () => value, set });
  const [first, second] = [new AbortController(), new AbortController()];
  const stuck = setters.handler({ value: 2 }, { signal: first.signal });
  const waiting = setters.handler({ value: 3 }, { signal: second.signal });
  second.abort(new Error("no time"));
  await assert.rejects(waiting, /no time/);
  first.abort(new Error("too long"));
  await assert.rejects(stuck, /too long/);
  isStuck = false;
  await setters.handler({ value: 4 });
  assert.equal(await getter.handler({}), 4);
});

test("the getter adds missing values that have a default", async () => {
  const app = appWith({ a: 1 }, { schema: z.object({ a: z.number(), d: z.string().default("x") }) });
  assert.deepEqual(await app.call("get_s"), { a: 1, d: "x" });
  assert.deepEqual(app.value, { a: 1 });
});

test("defaults that are generated are not published", () => {
  const { tools } = createStateTools({ name: "s", description: "Items", schema: z.array(Item.extend({ id: id(system(z.string().default(() => crypto.randomUUID()))) })), get: () => [], set() {}, expand: true });
  const [get, add] = tools;
  assert.equal(get.inputSchema.properties.id.default, undefined);
  assert.equal(add.inputSchema.properties.value.properties.id, undefined);
  const basic = createStateTools({ name: "s", description: "An id", schema: z.object({ id: z.string().default(() => crypto.randomUUID()), n: z.number().default(1) }), get: () => ({}), set() {} });
  assert.deepEqual(basic.setters.inputSchema.properties, { id: { type: "string" }, n: { default: 1, type: "number" } });
});

test("a change may omit required fields of the whole value", async () => {
  const item = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, dependentRequired: { a: ["b"] }, minProperties: 2 };
  const app = appWith([{ a: 1, b: 2 }], { schema: { type: "array", items: item }, expand: true });
  const parameters = app.created.tools.find(({ name }) => name === "set_s").inputSchema.properties.value;
  assert.deepEqual([parameters.dependentRequired, parameters.minProperties], [undefined, undefined]);
  await app.call("set_s", { index: 0, value: { a: 2 } });
  assert.deepEqual(app.value, [{ a: 2, b: 2 }]);
  await assert.rejects(app.call("add_s", { value: { a: 1 } }), /\/value/);
});

test("plain JSON Schema: patterns, undefined fields, frozen schemas, identifiers and old tuples", async () => {
  const patterns = appWith({ "a-1": 1 }, { schema: { type: "object", patternProperties: { "^a": { type: "number" }, "^b": { type: "string" } }, additionalProperties: false }, expand: true });
  await patterns.call("set_s", { key: "b-1", value: "y" });
  assert.deepEqual(patterns.value, { "a-1": 1, "b-1": "y" });
  await assert.rejects(patterns.call("set_s", { key: "b-1", value: 1 }));

  const frozen = Object.freeze({ type: "object", properties: Object.freeze({ a: Object.freeze({ type: "number" }), due: Object.freeze({ type: "string" }) }), required: ["a"] });
  const app = appWith({ a: 1, due: undefined }, { schema: frozen, expand: true });
  await app.call("set_s", { a: 2 });
  assert.equal(app.value.a, 2);

  const schema = {
    $id: "https://app.example/tree",
    type: "object",
    properties: { root: { $ref: "#node" }, other: { $ref: "https://app.example/tree#/$defs/Node" }, pair: { items: [{ type: "string" }, { type: "number" }], type: "array" } },
    $defs: { Node: { $anchor: "node", type: "object", properties: { t: { type: "string" }, next: { $ref: "#node" } } } },
  };
  const tree = appWith({ root: { t: "a" } }, { schema, expand: true });
  await tree.call("set_s", { root: { next: { t: "b" } }, pair: ["x", 1] });
  assert.deepEqual(tree.value, { root: { t: "a", next: { t: "b" } }, pair: ["x", 1] });
  await assert.rejects(tree.call("set_s", { pair: [1, "x"] }), /\/pair/);
  await assert.rejects(tree.call("set_s", { other: { next: 1 } }), /\/other/);
});

test("values outside of all parts have tools, and a union is a separate part", () => {
  const Game = z.object({ score: z.object({ red: z.number(), black: z.number() }), u: z.union([z.string(), z.number()]), turn: z.string() });
  const { tools } = createStateTools({ name: "s", description: "A game", schema: Game, get: () => ({}), set() {}, schemaSplit: ["score.red", "u"], expand: true });
  assert.deepEqual(tools.map(({ name }) => name), ["get_s", "get_s_score-red", "set_s_score-red", "get_s_u", "set_s_u", "set_s"]);
  assert.deepEqual(Object.keys(tools.at(-1).inputSchema.properties), ["score", "turn"]);
});

test("the second element is a list exactly if the state is divided", () => {
  const make = (schema, options) => createStateTools({ name: "s", description: "A state", schema, get: () => ({}), set() {}, ...options });
  const shape = z.object({ a: z.number() });
  for (const [schema, options, isDivided] of [
    [shape, {}, false],
    [shape, { schemaSplit: ["a"] }, true],
    [shape, { schemaSplit: [] }, true],
    [shape.nullable(), { schemaSplit: ["a"] }, true],
    [z.record(z.string(), z.number()), { schemaSplit: ["a"] }, false],
    [shape, { expand: true }, true],
  ]) {
    const { isExpanded, setters } = make(schema, options);
    assert.equal(isExpanded, isDivided, JSON.stringify(options));
    assert.equal(Array.isArray(setters), isDivided);
  }
});

test("fields of the app below unions, tuples and lists cannot be set, and keep their values", async () => {
  const made = { default: () => `made-${++count}` };
  let count = 0;
  const key = () => id(system(z.string().default(made.default)));
  const Shape = z.object({
    u: z.discriminatedUnion("k", [z.object({ k: z.literal("a"), key: system(z.string().default(made.default)), x: z.number() }), z.object({ k: z.literal("b"), y: z.number() })]),
    pair: z.tuple([z.object({ key: system(z.string().default(made.default)), n: z.number() }), z.number()]),
    subs: z.object({ list: z.array(z.object({ id: key(), t: z.string() })) }),
  });
  const initial = { u: { k: "a", key: "u1", x: 1 }, pair: [{ key: "p1", n: 1 }, 2], subs: { list: [{ id: "s1", t: "a" }, { id: "s2", t: "b" }] } };
  const app = appWith(initial, { schema: Shape, expand: true });
  await app.call("set_s", { u: { k: "a", key: "forged", x: 2 }, pair: [{ key: "forged", n: 2 }, 3], subs: { list: [{ id: "s2", t: "c" }, { id: "forged", t: "new" }] } });
  assert.deepEqual(app.value.u, { k: "a", key: "u1", x: 2 });
  assert.deepEqual(app.value.pair, [{ key: "p1", n: 2 }, 3]);
  assert.equal(app.value.subs.list[0].id, "s2");
  assert.match(app.value.subs.list[1].id, /^made-/);
});

test("a divided group calls the setters of the changed values", async () => {
  const sets = [];
  const atoms = { a: 1, constructor: "c" };
  const group = groupState({
    a: [() => atoms.a, (value) => (sets.push("a"), (atoms.a = value)), z.number()],
    constructor: [() => atoms.constructor, (value) => (sets.push("constructor"), (atoms.constructor = value)), z.string()],
  });
  const { setters } = createStateTools({ name: "s", description: "A group", ...group, expand: true });
  await setters[0].handler({ a: 5 });
  assert.deepEqual(sets, ["a"]);
  assert.equal(atoms.a, 5);
});

test("tools are added all or none, and listeners that throw fail no call", async (context) => {
  const added = [];
  const add = (definition) => {
    const handle = { definition, remove: () => added.splice(added.indexOf(handle), 1), notifyUpdated() {} };
    added.push(handle);
    return handle;
  };
  const page = { addTool: add, addResource: add };
  const options = { name: "s", description: "A number", schema: z.number(), get: () => 1, set() {} };
  assert.throws(() => addStateTools(page, { ...options, subscribe: () => { throw new Error("no store"); } }), /no store/);
  assert.deepEqual(added, []);
  const errors = context.mock.method(console, "error", () => {});
  const created = createStateTools(options);
  let notifications = 0;
  created.onChange(() => { throw new Error("broken"); });
  created.onChange(() => notifications++);
  await created.setters.handler({ value: 2 });
  assert.equal(notifications, 1);
  assert.equal(errors.mock.callCount(), 1);
});
