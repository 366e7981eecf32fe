// Tests of the check of the SDK's reads of documents and elements, in a separate project.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { equal } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const SCRIPT = here("../../../../e2e/xtask/src/lint/clobbering/reads.mjs");
const PACKAGES = here("../../../../target/tools/web-sdk-node/node_modules");

const CONFIG = { compilerOptions: { strict: true, target: "es2022", lib: ["es2023", "dom", "dom.iterable"], types: [], noEmit: true }, include: ["js"] };

/** Returns the report of the check on a source: the names with the types of their owners. */
async function reads(source, name = "source.ts") {
  const folder = await mkdtemp(join(tmpdir(), "mcp-web-lint-"));
  try {
    await mkdir(join(folder, "js"));
    await writeFile(join(folder, "js", name), source);
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(CONFIG));
    const { stdout } = await promisify(execFile)("node", [SCRIPT, PACKAGES, join(folder, "tsconfig.json"), "native.ts"]);
    return stdout.split("\n").filter(Boolean);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const named = (lines) => lines.map((line) => /^js\/source\.ts:\d+: (.*?): use/.exec(line)[1]);

test("a report has the file, the line and the replacement", async () => {
  equal((await reads("export const now = () => {\n  return document.title;\n};")).join(), 'js/source.ts:2: title of Document: use read, write or invoke(document, "title")');
});

test("reads, writes, calls and patterns on possible documents and forms are found", async () => {
  const found = await reads(`
    interface Shown extends Document { extra?: string }
    export function all(shown: Shown, mixed: Element & { own: string }, maybe: HTMLElement | undefined, target: EventTarget) {
      const { id, title: { length } } = mixed as HTMLElement;
      document.title = "x";
      for (const { localName } of document.querySelectorAll("a")) console.log(localName);
      return [shown.extra, mixed.own, maybe?.id, document["forms"], target.addEventListener, (mixed as Element as HTMLInputElement).form, maybe!.click(), id, length];
    }
    export const generic = <One extends Element>(one: One) => one.id;`);
  equal(named(found).join("; "), [
    "id of Element", "title of Element", "title of Document", "querySelectorAll of Document", "extra of Document", "own of Element", "id of HTMLElement",
    "forms of Document", "addEventListener of EventTarget", "form of Element", "click of HTMLElement", "id of Element",
  ].join("; "));
});

test("members that no element can hide are not reported", async () => {
  const found = await reads(`
    class Own extends HTMLElement { get it() { return 1; } }
    export const all = (own: Own, input: HTMLInputElement & { more: 1 }, root: ShadowRoot, known: Map<Element, string>, one: Element) =>
      [own.it, input.value, root.host, known.get(one), window.document, HTMLElement.prototype.click, location.href, one instanceof HTMLFormElement];`);
  equal(found.join("\n"), "");
});

test("the module that reads by prototypes is exempt", async () => {
  equal((await reads("export const title = () => document.title;", "native.ts")).join(), "");
});
