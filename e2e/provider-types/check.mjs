/**
 * Checks requests of the agent with the types of the official SDKs.
 *
 *     node check.mjs REQUESTS HOME
 *
 * REQUESTS is a folder as `agent/golden/requests`, and HOME contains `node_modules`. Each request becomes
 * a literal that must have the SDK's type of a streaming request. Mutants follow it: the same literal with
 * one fault, which the types must refuse. Prints what they refuse or accept wrongly, and fails if there
 * is any.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { differences } from "./differences.mjs";
import { mutants } from "./mutants.mjs";

const IMPORTS = `
import type { Anthropic } from "@anthropic-ai/sdk";
import type * as google from "@google/genai";
import type { OpenAI } from "openai";

type messages = Anthropic.MessageCreateParamsStreaming;
type betaMessages = Anthropic.Beta.Messages.MessageCreateParamsStreaming;
type responses = OpenAI.Responses.ResponseCreateParamsStreaming;
type chat = OpenAI.ChatCompletionCreateParamsStreaming;

// The SDK has types for the parts of a body, and none for the body. A literal has the values of an enum,
// and never the enum as its type.
type Values<T> = T extends string ? \`\${T}\` : T extends object ? { [K in keyof T]: Values<T[K]> } : T;
type gemini = Values<{
  systemInstruction?: google.Content;
  contents: google.Content[];
  tools?: google.Tool[];
  toolConfig?: google.ToolConfig;
  generationConfig?: google.GenerationConfig;
}>;
`;

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: "es2022",
    module: "nodenext",
    lib: ["es2023", "dom", "dom.asynciterable", "esnext.disposable"],
    types: [],
  },
  files: ["requests.ts"],
};

/** Returns the recorded requests, with the name of the type that each must have. */
function load(folder) {
  const requests = [];
  for (const file of readdirSync(folder).sort()) {
    const [api] = file.split("-");
    const recorded = JSON.parse(readFileSync(join(folder, file), "utf8"));
    for (const [name, { headers, body }] of Object.entries(recorded)) {
      const type = headers["anthropic-beta"] ? "betaMessages" : api;
      requests.push({ name: `${file}, ${name}`, api, type, body });
    }
  }
  return requests;
}

/** Returns a body with all differences made, but one. */
function adapt(request, applying, except) {
  const body = structuredClone(request.body);
  for (const difference of applying) {
    if (difference !== except) {
      difference.adapt(body);
    }
  }
  return body;
}

function applies(difference, { api, body }) {
  if (difference.api !== api) {
    return false;
  }
  const changed = structuredClone(body);
  difference.adapt(changed);
  return JSON.stringify(changed) !== JSON.stringify(body);
}

/** Returns the source with all literals, and what an error in each of its lines means. */
function write(requests) {
  const lines = IMPORTS.split("\n");
  const meanings = new Map();
  const counts = { requests: requests.length, mutants: 0 };
  // A literal is one line, so that the directive before it covers all of it.
  const literal = (body, type, meaning) => {
    lines.push(`(${JSON.stringify(body)}) satisfies ${type};`);
    meanings.set(lines.length, meaning);
  };
  const refused = (body, type, meaning) => {
    lines.push("// @ts-expect-error");
    meanings.set(lines.length, meaning);
    lines.push(`(${JSON.stringify(body)}) satisfies ${type};`);
    counts.mutants += 1;
  };
  const unused = new Set(differences);
  const tried = new Set();
  for (const [number, request] of requests.entries()) {
    const { name, type } = request;
    const applying = differences.filter((difference) => applies(difference, request));
    const body = adapt(request, applying);
    literal(body, type, { problem: "refused", name });
    for (const mutant of mutants(body, type, tried, number)) {
      refused(mutant.body, type, { problem: `accepted with ${mutant.fault}`, name });
    }
    for (const difference of applying.filter((difference) => unused.delete(difference))) {
      const problem = `accepted: remove the difference "${difference.reason}"`;
      refused(adapt(request, applying, difference), type, { problem, name });
    }
  }
  return { source: lines.join("\n"), meanings, counts, unused };
}

/** Compiles the source, and returns the requests by what is wrong with them. */
function compile(home, { source, meanings }) {
  const project = mkdtempSync(join(home, "requests-"));
  writeFileSync(join(project, "requests.ts"), source);
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(TSCONFIG));
  const tsc = join(home, "node_modules/typescript/bin/tsc");
  const run = spawnSync(process.execPath, [tsc, "--pretty", "false", "--project", project], {
    cwd: project,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  rmSync(project, { recursive: true });
  const problems = new Map();
  const add = (problem, name) => {
    problems.set(problem, (problems.get(problem) ?? new Set()).add(name));
  };
  for (const line of run.stdout.split("\n")) {
    const [, number, error] = /^requests\.ts\((\d+),\d+\): (.*)/.exec(line) ?? [];
    const meaning = meanings.get(Number(number));
    if (meaning?.problem === "refused") {
      add(`refused: ${error}`, meaning.name);
    } else if (meaning) {
      add(meaning.problem, meaning.name);
    } else if (line.includes("error TS")) {
      add(line, "all requests");
    }
  }
  if (run.status !== 0 && problems.size === 0) {
    add(`tsc failed: ${run.error ?? run.stdout + run.stderr}`, "all requests");
  }
  return problems;
}

function version(home, name) {
  const file = join(home, "node_modules", name, "package.json");
  return `${name} ${JSON.parse(readFileSync(file, "utf8")).version}`;
}

const [folder, home] = process.argv.slice(2);
const packages = ["@anthropic-ai/sdk", "openai", "@google/genai", "typescript"];
console.log(packages.map((name) => version(home, name)).join(", "));
const written = write(load(folder));
const problems = compile(home, written);
for (const { reason } of written.unused) {
  problems.set(`no request has the difference "${reason}": remove it`, new Set(["all requests"]));
}
for (const [problem, names] of problems) {
  const more = names.size > 3 ? ` and ${names.size - 3} more` : "";
  console.log(`${problem}\n    ${[...names].slice(0, 3).join("; ")}${more}`);
}
const { requests, mutants: count } = written.counts;
console.log(`${requests} requests and ${count} mutants: ${problems.size} problems`);
process.exitCode = problems.size === 0 ? 0 : 1;
