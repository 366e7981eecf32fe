// Every block type of the installed packages is rendered, with and without properties.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";

import { readBlockTypes } from "../block-metas.mjs";
import { APP, makeFolder, openSession, startHost, textOf } from "./host.mjs";

const MODULES = new URL("../node_modules", import.meta.url).pathname;

/** Properties that many types have: each takes what it knows. */
const PROPERTIES = {
  title: "Title of it",
  content: "Content of it",
  message: "Message of it",
  html: "<p>Html <b>of</b> it</p>",
  options: ["one", { label: "Two", value: 2 }],
  items: [{ label: "Item", value: "of it" }],
  list: ["first", { label: "second", pageId: "all" }],
  rowData: [{ a: 1, b: "x | y" }],
  columnDefs: [{ headerName: "A", field: "a" }, { headerName: "B", field: "b" }],
  value: 7,
  percent: 40,
  alt: "Picture of it",
  option: { series: [] },
};

/** Types whose text is not given by these properties, or that say nothing: loaders, icons, what is shown by a method only. */
const SILENT = /^(Skeleton.*|Spinner|ProgressBar|Icon|Message|Notification|Modal|Drawer|ConfirmModal|Box|Span|Layout|Affix|Content|Footer|Header|Sider|Label|PageHeaderMenu|PageSiderMenu|GoogleMapsScript|Tooltip|Badge|Html|Carousel|Tabs|Tag)$/;

async function writeApp(t, types) {
  const folder = await makeFolder(t);
  const block = (id, type, properties) => ({ id, type, ...(properties && { properties }), ...(inner(type, id)) });
  const blocks = types.flatMap(({ type }) => [block(`full_${type}`, type, PROPERTIES), block(`bare_${type}`, type)]);
  const app = { lowdefy: "4.0.0-rc.11", name: "All blocks", pages: [{ id: "all", type: "Box", properties: { title: "All" }, blocks }] };
  await writeFile(join(folder, "lowdefy.yaml"), JSON.stringify(app));
  return folder;
}

/** Tabs need an area to open. */
const inner = (type, id) => (type === "Tabs" || type === "Collapse" ? { areas: { one: { blocks: [{ id: `${id}_inner`, type: "Title", properties: { content: "Inside" } }] } } } : {});

test("each type is rendered, and 30 or more have their own text", async (t) => {
  const types = (await readBlockTypes(MODULES)).filter(({ type }) => type !== "QRScanner");
  assert.ok(types.length >= 74, `${types.length} types`);
  const host = await startHost(t, { config: await writeApp(t, types) });
  const { call } = await openSession(host);
  for (const format of ["markdown", "outline"]) {
    const answer = await call("page_snapshot", { format, maxElements: 1000 });
    const text = textOf(answer);
    assert.ok(!answer.isError, text);
    const shown = types.filter(({ type }) => text.includes(format === "outline" ? `[type=${type}]` : `type="${type}"`));
    const missing = types.filter((type) => !shown.includes(type)).map(({ type }) => type);
    assert.deepEqual(missing.filter((type) => !SILENT.test(type)), [], `${format}: ${text}`);
    t.diagnostic(`${format}: ${types.length} types rendered, ${shown.length} shown`);
    assert.ok(shown.length >= 30);
  }
  const state = (await call("get_state")).structuredContent.state;
  const inputs = types.filter(({ category }) => category === "input").map(({ type }) => `full_${type}`);
  assert.deepEqual(inputs.filter((id) => !(id in state)), []);
});

test("the types that the host knows are those of the packages", async () => {
  const { readFile } = await import("node:fs/promises");
  const known = JSON.parse(await readFile(process.env.BLOCK_METAS_FILE, "utf8"));
  for (const { package: name, type, category, valueType } of await readBlockTypes(MODULES)) {
    const meta = known[name]?.[type];
    assert.equal(meta?.category, category, `${name} ${type}`);
    assert.equal(meta?.valueType, valueType ?? undefined, `${name} ${type}`);
  }
});

test("an app with a block type that does not exist is not started", async (t) => {
  const { runCommand } = await import("./host.mjs");
  const folder = await makeFolder(t);
  await writeFile(join(folder, "lowdefy.yaml"), JSON.stringify({ lowdefy: "4.0.0-rc.11", pages: [{ id: "p", type: "Box", blocks: [{ id: "x", type: "Nonsense" }] }] }));
  const command = runCommand(t, ["--config", folder]);
  assert.equal(await command.exited, 1);
  assert.match(command.lines.join("\n"), /cannot be built: .*Nonsense/);
  assert.ok(APP);
});
