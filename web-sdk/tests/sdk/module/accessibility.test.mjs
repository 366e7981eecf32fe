// Roles, names and states of the DOM driver equal those of the browser's accessibility tree.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withChromium } from "./chromium.mjs";
import { connect } from "./devtools.mjs";

/** Known differences: the reason, the element, the fact, ours and Chromium's. */
const EXCEPTIONS = [
  ...["date Date", "time InputTime", "moment DateTime", "month DateTime", "week DateTime", "color ColorWell"].map((pair) => [
    "ARIA has no role for it, and its value is set as that of a text field", pair.split(" ")[0], "role", "textbox", pair.split(" ")[1],
  ]),
  ["whether its list of options is open is of no use: an option is set by its name", "select", "states", "", "collapsed"],
  ["ARIA has no role for it, and it is used as a button", "summary", "role", "button", "DisclosureTriangle"],
  ["the name of a cell is its content, which is inside it", "column", "name", "", "Article"],
  ["the name of a cell is its content, which is inside it", "cell", "name", "", "bolt"],
  ["the depth of a list is seen from what it is in", "li", "level", "0", "1"],
  ["ARIA gives a term no name from its content, which is inside it", "dt", "name", "", "Term"],
  ["HTML-AAM names a figure by its caption, and Chromium does not", "figure", "name", "Caption", ""],
  ["the name of ARIA's draft", "iframe", "role", "iframe", "Iframe"],
  ["ARIA has no role for it", "video", "role", "video", "Video"],
  ["a medium without a source is disabled in Chromium, and is named by that", "video", "name", "Film", "Unable to play media."],
  ["a medium without a source is disabled in Chromium, and is named by that", "video", "states", "", "disabled"],
  ["ARIA has no role for it", "audio", "role", "audio", "Audio"],
  ["a medium without a source is disabled in Chromium, and is named by that", "audio", "name", "Song", "Unable to play media."],
  ["a medium without a source is disabled in Chromium, and is named by that", "audio", "states", "", "disabled"],
  ["text is typed into it", "editable", "role", "textbox", "generic"],
  ["the page says so, and its attribute counts", "a-textbox", "states", "readonly", ""],
  ["the name of a row is its cells, which are inside it", "a-row", "name", "", "1"],
  ["the name of a cell is its content, which is inside it", "a-gridcell", "name", "", "1"],
];

/** Chromium's names for roles of ARIA. */
const ROLES = { image: "img" };

const { ours, theirs } = await withChromium("accessibility.html", ["--remote-debugging-port=0"], async (browser) => {
  const call = await connect(browser, "Native controls and widgets of ARIA");
  const evaluate = async (expression) => (await call("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true })).result.value;
  while (!(await evaluate("document.readyState === 'complete' && !!globalThis.readNodes")));
  return { ours: await evaluate("readNodes()"), theirs: await accessibilityTree(call) };
});

/** The nodes of Chromium's tree by the id of their element. */
async function accessibilityTree(call) {
  await call("Accessibility.enable");
  const { root } = await call("DOM.getDocument", { depth: -1 });
  const ids = new Map();
  const visit = ({ backendNodeId, attributes = [], children = [] }) => {
    const at = attributes.findIndex((name, index) => index % 2 === 0 && name === "id");
    if (at >= 0) ids.set(backendNodeId, attributes[at + 1]);
    children.forEach(visit);
  };
  visit(root);
  const { nodes } = await call("Accessibility.getFullAXTree");
  return new Map(nodes.filter(({ backendDOMNodeId }) => ids.has(backendDOMNodeId)).map((node) => [ids.get(node.backendDOMNodeId), node]));
}

/** The facts of a node of Chromium that the driver also has. */
function factsOf({ role, name, description, properties = [] }) {
  const has = Object.fromEntries(properties.map(({ name: key, value }) => [key, value.value]));
  const states = [];
  const add = (state, isSo) => isSo && states.push(state);
  add("required", has.required);
  add("readonly", has.readonly);
  add("disabled", has.disabled);
  add(has.checked === "mixed" ? "mixed" : "checked", has.checked === "true" || has.checked === "mixed");
  add("selected", has.selected);
  add("pressed", has.pressed === "true");
  add("expanded", has.expanded === true);
  add("collapsed", has.expanded === false);
  return { role: ROLES[role.value] ?? role.value, name: name?.value ?? "", description: description?.value ?? "", level: has.level ?? 0, states };
}

const ourFacts = ({ role, name = "", description = "", error, level = 0, states = [] }) => ({ role, name, description: description || (error === "invalid" ? "" : (error ?? "")), level, states: states.filter((state) => state !== "focused") });

/** The differences, as `[id, fact, ours, theirs]`. */
const differences = ours
  .filter(({ id }) => id)
  .flatMap((node) => {
    const expected = theirs.get(node.id);
    if (!expected || expected.ignored) return [[node.id, "node", "shown", "ignored"]];
    const [left, right] = [ourFacts(node), factsOf(expected)];
    return Object.keys(left).flatMap((key) => (String(left[key]) === String(right[key]) ? [] : [[node.id, key, String(left[key]), String(right[key])]]));
  });

test("roles, names and states equal those of Chromium", () => {
  assert(ours.length > 100);
  assert.deepEqual(differences, EXCEPTIONS.map(([, ...difference]) => difference));
});

test("focusable elements of Chromium have a handle", () => {
  const handles = new Set(ours.filter(({ ref }) => ref).map(({ id }) => id));
  const focusable = [...theirs].filter(([, { ignored, properties = [] }]) => !ignored && properties.some(({ name, value }) => name === "focusable" && value.value));
  assert.deepEqual(focusable.map(([id]) => id).filter((id) => !handles.has(id)), []);
});
