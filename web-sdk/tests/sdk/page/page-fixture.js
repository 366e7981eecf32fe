/** Creates a part of a page, and runs the DOM driver on it. */

import { DomDriver } from "./page-tools/dom/driver.ts";

const NEVER = new AbortController().signal;

/** Runs a test with a driver whose root contains some HTML, and removes it afterwards. */
export const withPage = (html, run, options) => async () => {
  const root = document.createElement("main");
  root.setAttribute("role", "none");
  root.innerHTML = html;
  document.body.append(root);
  const driver = new DomDriver({ root, ...options });
  try {
    await run(new Page(driver, root));
  } finally {
    driver.dispose();
    root.remove();
  }
};

/** A driver, with the operations of the executor. */
export class Page {
  constructor(driver, root) {
    Object.assign(this, { driver, root });
  }

  $(selector) {
    return this.root.querySelector(selector);
  }

  tree(options) {
    return treeAtOnce(this.driver, { limit: 200, ...options });
  }

  /** The tree as lines, such as `- button "Save" [disabled]`, without handles. */
  lines(options) {
    return (this.tree(options).root.children ?? []).flatMap((node) => linesOf(node, ""));
  }

  /** The handle of an element that the page shows. */
  ref(selector) {
    const element = typeof selector === "string" ? this.$(selector) : selector;
    const nodes = nodesOf(this.tree({ limit: 1000 }).root);
    const node = nodes.find(({ ref }) => ref && this.driver.element(ref) === element);
    if (!node) throw new Error(`${selector} has no handle`);
    return node.ref;
  }

  inspect(selector, action = { type: "triggerEvent", event: "onClick" }) {
    return this.driver.inspect(this.ref(selector), action);
  }

  /** Performs an action as the executor does, on the element with a selector. */
  async act(action, selector, to, { isBrief = false, signal = NEVER } = {}) {
    const ref = selector === undefined ? undefined : this.ref(selector);
    const toRef = to === undefined ? undefined : this.ref(to);
    this.driver.beginAction(action);
    let failure;
    let readBack;
    try {
      await this.driver.apply(action, ref, toRef, signal);
      await this.driver.rest(isBrief, signal);
      if (ref) readBack = this.driver.readBack(ref, action);
    } catch (error) {
      failure = error;
    }
    const outcome = this.driver.endAction();
    return { ...outcome, ...(failure && { code: typeof failure.code === "string" ? failure.code : failure.name, error: failure.message }), readBack };
  }

  click(selector) {
    return this.act({ type: "triggerEvent", event: "onClick" }, selector);
  }

  set(selector, value) {
    return this.act({ type: "setValue", value }, selector);
  }

  press(key, selector, modifiers) {
    return this.act({ type: "pressKey", key, modifiers }, selector);
  }
}

/** Reads a page while its clock stands still: in one part, however slow the machine is. */
export function treeAtOnce(driver, options) {
  performance.now = () => 0;
  try {
    return driver.tree(options);
  } finally {
    delete performance.now;
  }
}

export const nodesOf = (node) => [node, ...(node.children ?? []).flatMap(nodesOf)];

function linesOf(node, indent) {
  if (node.role === "text") return [`${indent}- text: ${node.text}`];
  const name = node.name ? ` ${JSON.stringify(node.name)}` : "";
  const level = node.level ? ` [level=${node.level}]` : "";
  const states = (node.states ?? []).filter((state) => state !== "focused").map((state) => ` [${state}]`).join("");
  const error = node.error ? ` [error=${JSON.stringify(node.error)}]` : "";
  const description = node.description ? ` [description=${JSON.stringify(node.description)}]` : "";
  const rows = node.rows ? ` [rows=${node.rows.shown} of ${node.rows.total}]` : "";
  const events = node.events ? ` [events=${node.events}]` : "";
  const value = node.value === undefined ? "" : `: ${JSON.stringify(node.value)}`;
  return [`${indent}- ${node.role}${name}${level}${states}${error}${description}${rows}${events}${value}`, ...(node.children ?? []).flatMap((child) => linesOf(child, `${indent}  `))];
}

/** Records the events of an element, in order. */
export function eventsOf(target, types) {
  const events = [];
  for (const type of types) target.addEventListener(type, () => events.push(type));
  return events;
}
