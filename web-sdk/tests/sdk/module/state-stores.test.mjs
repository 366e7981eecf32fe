// State tools with the stores that docs/state.md names: each line of its table is in this file.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { addStateTools } from "../../../../target/sdk/mcp-web-state.js";

const require = createRequire(new URL("../../../../target/tools/web-sdk-node/package.json", import.meta.url));
const { atom, createStore: createJotaiStore } = require("jotai/vanilla");
const { createPinia, defineStore, setActivePinia } = require("pinia");
const { legacy_createStore: createReduxStore } = require("redux");
const { createStore: createZustandStore } = require("zustand/vanilla");
const { get, writable } = await import(require.resolve("svelte/store").replace("index-server", "index-client"));

const schema = { type: "array", items: { type: "string" } };

/** Uses the tools and the subscription of a state, and changes it from outside. */
async function check(options, changeOutside) {
  const added = [];
  let updates = 0;
  const add = (definition) => {
    const handle = { definition, remove() {}, notifyUpdated: () => updates++ };
    added.push(handle);
    return handle;
  };
  const page = { addTool: add, addResource: add };
  const [getter, [addItem], cleanup] = addStateTools(page, { name: "todos", description: "Things to do", schema, expand: true, ...options });
  await addItem.definition.handler({ value: "milk" });
  assert.deepEqual([...(await getter.definition.handler({}))], ["milk"]);
  await new Promise((resolve) => setImmediate(resolve));
  const before = updates;
  await changeOutside(["milk", "bread"]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(updates, before + 1, "the listener was called once for the change");
  assert.deepEqual([...(await getter.definition.handler({}))], ["milk", "bread"]);
  cleanup();
  await changeOutside([]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(updates, before + 1, "the listener is not called any more");
}

test("Zustand", async () => {
  const store = createZustandStore(() => ({ todos: [] }));
  const options = { get: () => store.getState().todos, set: (todos) => store.setState({ todos }), subscribe: store.subscribe };
  await check(options, (todos) => store.setState({ todos }));
});

test("Jotai", async () => {
  const store = createJotaiStore();
  const todosAtom = atom([]);
  const options = { get: () => store.get(todosAtom), set: (todos) => store.set(todosAtom, todos), subscribe: (listener) => store.sub(todosAtom, listener) };
  await check(options, (todos) => store.set(todosAtom, todos));
});

test("Redux", async () => {
  const replaceTodos = (todos) => ({ type: "todos/replaced", todos });
  const store = createReduxStore((state = { todos: [] }, action) => (action.type === "todos/replaced" ? { todos: action.todos } : state));
  const options = { get: () => store.getState().todos, set: (todos) => store.dispatch(replaceTodos(todos)), subscribe: store.subscribe };
  await check(options, (todos) => store.dispatch(replaceTodos(todos)));
});

test("Pinia", async () => {
  setActivePinia(createPinia());
  const store = defineStore("app", { state: () => ({ todos: [] }) })();
  const options = { get: () => store.todos, set: (todos) => store.$patch({ todos }), subscribe: (listener) => store.$subscribe(listener) };
  await check(options, (todos) => store.$patch({ todos }));
});

test("Svelte stores", async () => {
  const todos = writable([]);
  const options = { get: () => get(todos), set: todos.set, subscribe: (listener) => todos.subscribe(listener) };
  await check(options, (value) => todos.set(value));
});

test("the guide contains the lines of this file", () => {
  const here = readFileSync(new URL(import.meta.url), "utf8");
  const guide = readFileSync(new URL("../../../../docs/state.md", import.meta.url), "utf8");
  const rows = [...guide.matchAll(/^\| (Zustand|Jotai|Redux|Pinia|Svelte stores) \| `(.*)` \|$/gm)];
  assert.equal(rows.length, 5);
  for (const [, store, options] of rows) assert.ok(here.includes(options), `${store}: ${options}`);
});
