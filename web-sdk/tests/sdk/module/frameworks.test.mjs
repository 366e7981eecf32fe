// The common behaviour of the hooks of all frameworks, with a page that records calls.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Binding } from "../../../js/frameworks/binding.ts";
import { pageStore } from "../../../js/frameworks/page-store.ts";
import { QueryStore } from "../../../js/frameworks/query-store.ts";

const handler = () => {};

/** A page that records the operations of components. */
function createPage() {
  const log = [];
  const addTool = (definition) => {
    const { name, description = "" } = definition;
    if (!name) throw new TypeError("no name");
    log.push(`add ${name} ${description}`);
    return {
      publishedName: name,
      registered: Promise.resolve(),
      update: async (changes) => log.push(`update ${name} ${Object.keys(changes).map((key) => `${key}=${typeof changes[key]}`)}`),
      remove: () => log.push(`remove ${name} ${description}`),
    };
  };
  return { log, page: { addTool } };
}

test("only a changed definition is updated, and missing fields are removed", () => {
  const { log, page } = createPage();
  const binding = new Binding("addTool");
  binding.commit(page, { name: "a", description: "A", handler });
  binding.commit(page, { name: "a", description: "A", handler });
  assert.deepEqual(log.splice(0), ["add a A"]);
  binding.commit(page, { name: "a", handler });
  assert.deepEqual(log.splice(0), ["update a name=string,handler=function,description=undefined"]);
  assert.equal(binding.publishedName, "a");
});

test("a tool with another name is added, and the first one stays", () => {
  const { log, page } = createPage();
  const binding = new Binding("addTool");
  binding.commit(page, { name: "a", handler });
  binding.commit(page, { name: "b", handler });
  binding.commit(page, null);
  binding.commit(page, undefined);
  assert.deepEqual(log, ["add a ", "remove a ", "add b ", "remove b "]);
  assert.equal(binding.registered, undefined);
});

test("a component that is mounted again in the same task sends nothing", async () => {
  const { log, page } = createPage();
  const binding = new Binding("addTool");
  const definition = { name: "a", handler };
  binding.commit(page, definition);
  binding.release();
  binding.commit(page, definition);
  await Promise.resolve();
  assert.deepEqual(log, ["add a "]);
  binding.release();
  await Promise.resolve();
  assert.deepEqual(log, ["add a ", "remove a "]);
});

test("a component whose page changes to another user leaves nothing at the former one", () => {
  const [ada, bob] = [createPage(), createPage()];
  const binding = new Binding("addTool");
  binding.commit(ada.page, { name: "a", handler });
  binding.commit(bob.page, { name: "a", handler });
  assert.deepEqual([ada.log, bob.log], [["add a ", "remove a "], ["add a "]]);
});

test("the latest of several mounted components is offered, and then the one before it", async () => {
  const { log, page } = createPage();
  const [first, second, third] = [1, 2, 3].map(() => new Binding("addTool"));
  first.commit(page, { name: "a", description: "first", handler });
  second.commit(page, { name: "a", description: "second", handler });
  third.commit(page, { name: "a", description: "third", handler });
  first.commit(page, { name: "a", description: "first, later", handler });
  assert.deepEqual(log.splice(0), ["add a first", "add a second", "add a third"]);
  second.release();
  await Promise.resolve();
  assert.deepEqual(log.splice(0), [], "it was not offered");
  third.release();
  await Promise.resolve();
  assert.deepEqual(log.splice(0), ["add a first, later"], "in place of the other");
  first.release();
  await Promise.resolve();
  assert.deepEqual(log, ["remove a first, later"]);
});

test("an invalid definition is an error each time, and leaves nothing behind", () => {
  const { log, page } = createPage();
  const binding = new Binding("addTool");
  assert.throws(() => binding.commit(page, { handler }), TypeError);
  assert.throws(() => binding.commit(page, { handler }), TypeError);
  binding.commit(page, { name: "a", handler });
  assert.deepEqual(log, ["add a "]);
});

test("the snapshot of a page is the same object until it changes", () => {
  const listeners = new Set();
  const page = {
    status: { state: "loading" },
    clients: [],
    onStatusChange: (listener) => (listeners.add(listener), () => listeners.delete(listener)),
    onClientsChange: (listener) => (listeners.add(listener), () => listeners.delete(listener)),
  };
  const store = pageStore(page);
  assert.equal(pageStore(page), store);
  const snapshot = store.snapshot();
  assert.equal(store.snapshot(), snapshot);
  const unsubscribe = store.subscribe(() => {});
  page.status = { state: "connected" };
  assert.notEqual(store.snapshot(), snapshot);
  unsubscribe();
  assert.equal(listeners.size, 0);
});

/** A query whose events and end are controlled by the test. */
function createQuery() {
  const end = Promise.withResolvers();
  end.promise.catch(() => {});
  const events = [];
  return {
    state: "running",
    events,
    end,
    cancelled: [],
    get result() {
      return end.promise;
    },
    cancel(reason) {
      this.cancelled.push(reason);
    },
    async *[Symbol.asyncIterator]() {
      yield* events;
      await end.promise;
    },
  };
}

test("the latest query is shown, and the one before it is cancelled", async () => {
  const queries = [createQuery(), createQuery()];
  const store = new QueryStore({ query: () => queries.find((query) => !query.isAsked && (query.isAsked = true)) });
  assert.equal(store.snapshot().state, "idle");
  store.ask({ prompt: "?" });
  queries[1].events.push({ type: "text", text: "Two " }, { type: "note", text: "busy" }, { type: "text", text: "words" });
  store.ask({ prompt: "??" });
  assert.equal(queries[0].cancelled.length, 1);
  queries[0].end.reject(new Error("cancelled"));
  queries[1].state = "complete";
  queries[1].end.resolve({ text: "Two words", toolCalls: [] });
  const done = Promise.withResolvers();
  store.subscribe(() => store.snapshot().result && done.resolve());
  await done.promise;
  const { state, text, events, result, error } = store.snapshot();
  assert.deepEqual([state, text, events.length, result.text, error], ["complete", "Two words", 3, "Two words", undefined]);
});

test("a query is cancelled with its component, and a failure is shown", async () => {
  const query = createQuery();
  const store = new QueryStore({ query: () => query });
  store.ask({ prompt: "?" });
  store.release();
  store.retain();
  await Promise.resolve();
  assert.equal(query.cancelled.length, 0, "the component was mounted again");
  const failed = Promise.withResolvers();
  store.subscribe(() => store.snapshot().error && failed.resolve());
  query.state = "failed";
  query.end.reject(Object.assign(new Error("the model is busy"), { code: "ModelUnavailable" }));
  await failed.promise;
  assert.equal(store.snapshot().error.code, "ModelUnavailable");
  store.release();
  await Promise.resolve();
  assert.equal(query.cancelled.length, 1);
});
