// A page that shares tools with the browser, whose API has the pitfalls of Chromium's.
import assert from "node:assert/strict";
import { Calls } from "../../../../js/mcp-web/calls.ts";
import { Definitions } from "../../../../js/mcp-web/definitions.ts";
import { WebMcp } from "../../../../js/mcp-web-model-context.ts";
import { FakeModelContext } from "./model-context.mjs";

/** The pages of the current document. */
const pages = [];

/**
 * Creates a page with the browser's API, without a bridge. It is in a new document, unless it is `another` of the current
 * one.
 */
export function createPage({ options = true, context = new FakeModelContext(), forms = [], elicitInPage, another = false } = {}) {
  if (!another) for (const { shared, webMcp } of pages.splice(0)) (shared.options = false), webMcp.update();
  const listeners = {};
  // A browser has all of this on prototypes.
  globalThis.document = Object.create({
    modelContext: context,
    querySelectorAll: (selector) => (selector.startsWith("form[toolname]") ? forms : []),
  });
  globalThis.addEventListener = (type, listener) => (listeners[type] = listener);
  const definitions = new Definitions({ resourceUpdated() {}, failure() {} });
  const port = { connection: assert.fail, elicitInPage: () => elicitInPage, importImages() {}, dialog: async () => ({ action: "accept", content: {} }) };
  const calls = new Calls((key) => definitions.get(key), port);
  const page = { addTool: (definition, more) => definitions.add("tool", definition, more) };
  const shared = { options };
  const webMcp = new WebMcp(page, definitions, calls.hostBindings, () => shared.options);
  webMcp.update();
  pages.push({ shared, webMcp });
  return { context, definitions, calls, page, webMcp, shared, listeners };
}

/** Waits until the work that the SDK schedules in one task is done in the next one. */
export const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Waits until the API has been asked for its tools once more, and the effects are complete. */
export async function listed(context) {
  const { getTools } = context;
  await new Promise((resolve) => {
    context.getTools = () => {
      context.getTools = getTools;
      const tools = getTools.call(context);
      tools.then(resolve, resolve);
      return tools;
    };
    for (const { webMcp } of pages) webMcp.update();
  });
  await settled();
}

export async function call(context, name, input, options) {
  const tool = (await context.getTools()).find((tool) => tool.name === name);
  return context.executeTool(tool, input, options);
}

export const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };
export const imported = (definitions) => definitions.all.filter(({ definition }) => definition._meta?.["mcp-web/webmcp"]);
export const importedNames = (definitions) => imported(definitions).map(({ id }) => id);
export const browserTool = (name, more) => ({ name, description: `Does ${name}`, execute: () => name, ...more });
