import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";

const LOG = new URL("../../src/command/log.ts", import.meta.url).href;

/** Runs a script with `logLine`. It ends when its standard input ends. */
function run(t: TestContext, script: string): ChildProcess {
  const source = `import { logLine } from ${JSON.stringify(LOG)}; process.stderr.on("error", () => {}); ${script}`;
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", source], { stdio: ["pipe", "pipe", "pipe"] });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

test("lines are dropped without a reader, and counted for the next one", async (t) => {
  const child = run(
    t,
    `for (let i = 0; i < 50; i++) logLine("x".repeat(200_000));
     console.log(process.stderr.writableLength);
     process.stderr.once("drain", () => logLine("the last"));`,
  );
  const [length] = await once(child.stdout!, "data");
  assert.ok(Number(length) < 1_500_000, `${length} bytes wait`);
  const written = (await text(child.stderr!)).trim().split("\n");
  const lines = written.filter((line) => line.startsWith("x")).length;
  assert.deepEqual(written.slice(lines), [`${50 - lines} lines of the log could not be written`, "the last"]);
});

test("lines that could not be written are counted before the next that can", async (t) => {
  const child = run(
    t,
    `const { write } = process.stderr;
     process.stderr.write = (text, done) => { done(new Error("no room")); return false; };
     logLine("lost"); logLine("lost, too");
     process.stderr.write = write;
     logLine("written"); logLine("the next");`,
  );
  assert.equal(await text(child.stderr!), "2 lines of the log could not be written\nwritten\nthe next\n");
});
