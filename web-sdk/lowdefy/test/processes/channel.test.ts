import assert from "node:assert/strict";
import { once } from "node:events";
import { type Duplex, duplexPair } from "node:stream";
import { type TestContext, test } from "node:test";

import { Channel } from "../../src/processes/channel.ts";

/** Opens a channel, and returns the other end and the received messages. */
function open(t: TestContext, { maxBytes = 1000, message = (_: unknown) => {} } = {}) {
  const [near, far] = duplexPair();
  const received: unknown[] = [];
  const closed = Promise.withResolvers<string>();
  const receiver = {
    message(value: unknown) {
      message(value);
      received.push(value);
    },
    closed: closed.resolve,
  };
  const channel = new Channel(near, receiver, { maxBytes });
  t.after(() => channel.close("the test has ended"));
  return { channel, near, far, received, closed: closed.promise };
}

const written = (far: Duplex, text: string | Buffer) => new Promise<void>((resolve) => far.write(text, () => resolve()));

test("messages arrive whole, however their bytes are split", async (t) => {
  const messages = [{ a: "ß\n€" }, [1, null], "text"];
  const bytes = Buffer.from(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  for (const size of [1, 2, 3, 7, 1000]) {
    const { far, received, closed } = open(t);
    for (let at = 0; at < bytes.length; at += size) await written(far, bytes.subarray(at, at + size));
    far.end();
    assert.equal(await closed, "it has closed the channel");
    assert.deepEqual(received, messages, `${size} bytes at once`);
  }
});

test("both ends send", async (t) => {
  const { channel, far, closed } = open(t);
  channel.send({ type: "ping" });
  const [data] = await once(far, "data");
  assert.equal(String(data), '{"type":"ping"}\n');
  far.end();
  await closed;
  channel.send({ type: "dropped" });
});

test("a message that is too large closes the channel before it has arrived", async (t) => {
  const { far, received, closed } = open(t, { maxBytes: 1000 });
  await written(far, `"${"x".repeat(900)}"\n`);
  far.write("x".repeat(1001));
  assert.equal(await closed, "it has sent a message of more than 1000 bytes");
  assert.equal(received.length, 1);
});

test("input that is not JSON closes the channel", async (t) => {
  const { far, closed } = open(t);
  far.write('{"a":\n');
  assert.equal(await closed, "it has sent something that is not JSON");
});

test("a message that the receiver rejects closes the channel, and no later one is received", async (t) => {
  const refuse = (value: unknown) => {
    if (value === "bad") throw new Error("it lies");
  };
  const { far, received, closed } = open(t, { message: refuse });
  far.write('"good"\n"bad"\n"good"\n');
  assert.equal(await closed, "it lies");
  assert.deepEqual(received, ["good"]);
});

test("the channel to a receiver that does not read is closed", async (t) => {
  const { channel, closed } = open(t);
  for (let index = 0; index < 65; index += 1) channel.send(["x".repeat(1024 * 1024)]);
  assert.equal(await closed, "it does not read what it is sent");
});

test("a sender of many messages waits", async (t) => {
  const { near, far, received } = open(t);
  const many = "1\n".repeat(10_000);
  for (let sent = 0; sent < 5 && !near.isPaused(); sent += 1) {
    far.write(many);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(near.isPaused());
  // 32 MiB at 16 KiB for each are 2,048 messages. The time that they take also counts, and the time between them refills
  // the budget.
  assert.ok(received.length > 0 && received.length < 10_000, `${received.length} messages at once`);
});
