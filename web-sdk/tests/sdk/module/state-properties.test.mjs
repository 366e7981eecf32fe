// State tools: properties of any sequence of calls.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Item, appWith, json, require } from "./state/app.mjs";

const z = require("zod");
const fc = require("fast-check");

test("a value that was set is returned", async () => {
  const value = fc.record({ title: fc.string({ minLength: 1 }), rank: fc.integer(), more: fc.record({ a: fc.integer(), b: fc.string() }) });
  await fc.assert(
    fc.asyncProperty(fc.string(), value, value, async (key, first, second) => {
      const app = appWith([], { schema: z.array(Item), expand: true });
      await app.call("add_s", { value: { id: key, ...first } });
      const { value: answered } = await app.call("set_s", { id: key, value: second });
      assert.deepEqual(json(await app.call("get_s", { id: key })), json({ id: key, ...second }));
      assert.deepEqual(json(answered), json({ id: key, ...second }));
    }),
  );
});

test("calls of a list have the effects that they would have on a plain list", async () => {
  const command = fc.oneof(
    fc.record({ op: fc.constant("add"), value: fc.string(), index: fc.option(fc.nat(8), { nil: undefined }) }),
    fc.record({ op: fc.constant("set"), index: fc.nat(8), value: fc.string() }),
    fc.record({ op: fc.constant("delete"), index: fc.nat(8) }),
    fc.record({ op: fc.constant("delete"), all: fc.constant(true) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string(), { maxLength: 4 }), fc.array(command, { maxLength: 20 }), async (initial, commands) => {
      const app = appWith(initial, { schema: z.array(z.string()), expand: true });
      const model = [...initial];
      for (const { op, ...args } of commands) {
        const isRefused = await app.call(`${op}_s`, args).then(() => false, () => true);
        if (op === "add") model.splice(args.index ?? model.length, 0, args.value);
        else if (op === "set" && args.index < model.length) model[args.index] = args.value;
        else if (op === "set") assert.ok(isRefused);
        else if (args.all) model.length = 0;
        else model.splice(args.index, 1);
        assert.deepEqual(app.value, model);
      }
    }),
  );
});

test("calls of a record have the effects that they would have on a map", async () => {
  const key = fc.constantFrom("a", "b", "__proto__", "toString", "");
  const command = fc.oneof(
    fc.record({ op: fc.constant("set"), key, value: fc.integer() }),
    fc.record({ op: fc.constant("delete"), key }),
    fc.record({ op: fc.constant("delete"), all: fc.constant(true) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 20 }), async (commands) => {
      const app = appWith({}, { schema: { type: "object", additionalProperties: { type: "number" } }, expand: true });
      const model = new Map();
      for (const { op, ...args } of commands) {
        await app.call(`${op}_s`, args);
        if (op === "set") model.set(args.key, args.value);
        else if (args.all) model.clear();
        else model.delete(args.key);
        assert.deepEqual(Object.entries(app.value).sort(), [...model].sort());
        assert.equal(Object.getPrototypeOf(app.value), Object.prototype);
      }
    }),
  );
});

test("a rejected call has no effect", async () => {
  const args = fc.dictionary(fc.constantFrom("id", "index", "value", "all", "key", "title"), fc.jsonValue());
  const tool = fc.constantFrom("get_s", "add_s", "set_s", "delete_s");
  await fc.assert(
    fc.asyncProperty(tool, args, async (tool, args) => {
      const initial = [{ id: "a", title: "A", rank: 1, more: { a: 1, b: "b" } }];
      const app = appWith(initial, { schema: z.array(Item).max(2), expand: true });
      const before = JSON.stringify(app.value);
      const refused = await app.call(tool, args).then(() => undefined, (error) => error);
      if (!refused) return;
      assert.equal(app.value, initial);
      assert.equal(app.sets, 0);
      assert.equal(JSON.stringify(app.value), before);
      assert.equal(refused.code, "InvalidArguments");
    }),
    { numRuns: 500 },
  );
});

test("changes of different fields commute and are idempotent", async () => {
  const Shape = z.object({ a: z.number(), n: z.object({ x: z.number(), y: z.object({ z: z.string(), w: z.string() }) }) });
  const initial = { a: 0, n: { x: 0, y: { z: "z", w: "w" } } };
  const first = fc.record({ a: fc.integer(), n: fc.record({ y: fc.record({ z: fc.string() }) }) });
  const second = fc.record({ n: fc.record({ x: fc.integer(), y: fc.record({ w: fc.string() }) }) });
  await fc.assert(
    fc.asyncProperty(first, second, async (first, second) => {
      const run = async (...changes) => {
        const app = appWith(initial, { schema: Shape, expand: true });
        for (const change of changes) await app.call("set_s", change);
        return json(app.value);
      };
      assert.deepEqual(await run(first, second), await run(second, first));
      assert.deepEqual(await run(first, first, second), await run(first, second));
      assert.deepEqual(await run({}), initial);
    }),
  );
});
