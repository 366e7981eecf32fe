// An app with a state, for the tests of state tools.
import { createRequire } from "node:module";
import { createStateTools, id } from "../../../../../target/sdk/mcp-web-state.js";

/** Loads one of the packages that the SDK is tested with. */
export const require = createRequire(new URL("../../../../../target/tools/web-sdk-node/package.json", import.meta.url));

const z = require("zod");

/** An app with one value, and the handlers of its tools. */
export function appWith(initial, options) {
  const app = { value: initial, sets: 0 };
  const created = createStateTools({
    name: "s",
    description: "The state",
    get: () => app.value,
    set: (value) => {
      app.value = value;
      app.sets++;
    },
    ...options,
  });
  const call = (tool, args = {}, context) => created.tools.find(({ name }) => name === tool).handler(args, context);
  return Object.assign(app, { created, call });
}

/** The schema of an item that has an id. */
export const Item = z.object({ id: id(z.string()), title: z.string().min(1), rank: z.number().default(0), more: z.object({ a: z.number(), b: z.string() }).default({ a: 0, b: "" }) });
export const json = (value) => JSON.parse(JSON.stringify(value));
