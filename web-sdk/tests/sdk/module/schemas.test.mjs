// Schemas of the libraries that the documentation names: the published schema, and the library's own validation.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { parseWith, toJsonSchema } from "../../../js/mcp-web/schemas.ts";

const require = createRequire(new URL("../../../../target/tools/web-sdk-node/node_modules/package.json", import.meta.url));
const z = require("zod");
const mini = require("zod/mini");
const v = require("valibot");
const { toStandardJsonSchema } = require("@valibot/to-json-schema");
const { type } = require("arktype");
const Type = require("typebox").default;

const toLength = (text) => text.length;

/**
 * For each library: a title of at least two characters, a number with a default, and a transform if the library supports
 * one.
 */
const schemas = {
  Zod: z.object({ title: z.string().min(2), n: z.number().default(1), length: z.string().transform(toLength) }),
  "Zod Mini": z.toJSONSchema(
    mini.object({
      title: mini.string().check(mini.minLength(2)),
      n: mini._default(mini.number(), 1),
      length: mini.pipe(mini.string(), mini.transform(toLength)),
    }),
    { io: "input" },
  ),
  Valibot: toStandardJsonSchema(
    v.object({
      title: v.pipe(v.string(), v.minLength(2)),
      n: v.optional(v.number(), 1),
      length: v.pipe(v.string(), v.transform(toLength)),
    }),
  ),
  ArkType: type({ title: "string >= 2", n: "number = 1", length: "string.numeric.parse" }),
};

for (const [library, schema] of Object.entries(schemas)) {
  test(`${library}: the input side is published`, () => {
    const { type, properties, required } = toJsonSchema(schema, "input");
    assert.equal(type, "object");
    assert.equal(properties.title.minLength, 2);
    assert.equal(properties.n.type, "number");
    assert.equal(properties.length.type, "string", "what a client sends is not transformed");
    assert.deepEqual([...required].sort(), ["length", "title"], "what has a default may be missing");
  });

  test(`${library}: defaults and transforms reach the handler`, async () => {
    const input = await parseWith(schema, { title: "ab", length: "12345" }, "InvalidArguments", "invalid");
    assert.deepEqual(input, { title: "ab", n: 1, length: library === "ArkType" ? 12345 : 5 });
  });

  test(`${library}: an error names the path and the rule`, async () => {
    const parsed = parseWith(schema, { title: "a", length: "12345" }, "InvalidArguments", 'the arguments of "t" are invalid');
    await assert.rejects(parsed, { code: "InvalidArguments", message: /^the arguments of "t" are invalid: \/title: .*2/ });
  });
}

test("TypeBox's schemas are JSON Schema", async () => {
  const schema = Type.Object({ title: Type.String({ minLength: 2 }) });
  assert.equal(toJsonSchema(schema, "input"), schema);
  assert.deepEqual(await parseWith(schema, { title: "a" }), { title: "a" }, "the bridge validates it");
});

test("a refinement that JSON Schema cannot express is validated in the page", async () => {
  const schema = z.object({ from: z.number(), to: z.number() }).refine(({ from, to }) => from < to, { message: "from < to", path: ["to"] });
  assert.deepEqual(Object.keys(toJsonSchema(schema, "input").properties), ["from", "to"]);
  await assert.rejects(parseWith(schema, { from: 2, to: 1 }, "InvalidArguments", "invalid"), { message: "invalid: /to: from < to" });
});

test("the output side of a result is published", () => {
  const schema = z.object({ n: z.number().default(1) });
  assert.deepEqual(toJsonSchema(schema, "output").required, ["n"]);
});

test("a library's schema without a conversion has no JSON Schema", () => {
  assert.equal(toJsonSchema(mini.object({}), "input"), undefined);
  assert.equal(toJsonSchema(v.object({}), "input"), undefined);
});
