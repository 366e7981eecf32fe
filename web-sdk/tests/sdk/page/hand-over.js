/** Calls that outlive their document: the state that a handler arms, and a document that is shown again. */

import { assert, equal } from "./assert.js";
import { Bridge } from "./bridge.js";

/** The page of the previous test: all pages receive the events of the document. */
let former;

/** A connected page with the tool `t`. */
async function withTool(handler) {
  await former?.disconnect();
  const bridge = new Bridge();
  const mcpWeb = (former = await bridge.page());
  mcpWeb.addTool({ name: "t", handler });
  await bridge.register();
  return { bridge, mcpWeb };
}

/** Starts a call of `t` whose handler never returns, and returns its context. */
async function running() {
  const started = Promise.withResolvers();
  const page = await withTool((_input, ctx) => {
    started.resolve(ctx);
    return new Promise(() => {});
  });
  const id = page.bridge.start({ type: "tool-call", toolName: "t", toolInput: {} });
  return { ...page, id, ctx: await started.promise };
}

function thrownBy(action) {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error("it did not throw");
}

const happens = (event, init) => dispatchEvent(new PageTransitionEvent(event, init));

export default {
  async "a handler arms its call, renews the state and disarms it"() {
    const { bridge, id, ctx } = await running();
    assert(ctx.continuation === undefined);
    for (const [given, sent] of [[{ step: 1 }, { step: 1 }], ["é", "é"], [0, 0], [false, false], [undefined, null], [null, null]]) {
      ctx.handOver(given);
      equal(await bridge.next("call-hand-over"), { type: "call-hand-over", requestId: id, state: sent });
    }
    ctx.handOver();
    equal((await bridge.next("call-hand-over")).state, null);
    happens("pagehide");
    equal(await bridge.next("leaving"), { type: "leaving", handsOver: [] });
  },

  async "a page that is unloaded names the armed calls"() {
    const { bridge, id, ctx } = await running();
    ctx.handOver(1);
    happens("pagehide");
    equal(await bridge.next("leaving"), { type: "leaving", handsOver: [id] });
  },

  async "a state is limited to 64 KiB of JSON"() {
    const { bridge, ctx } = await running();
    ctx.handOver("x".repeat(65_534));
    equal((await bridge.next("call-hand-over")).state.length, 65_534);
    for (const state of ["x".repeat(65_535), "é".repeat(32_768)]) {
      const error = thrownBy(() => ctx.handOver(state));
      assert(error instanceof RangeError && error.message.includes("64 KiB"), String(error));
    }
  },

  async "a state that is not JSON is rejected"() {
    const { ctx } = await running();
    const circular = {};
    circular.self = circular;
    for (const state of [circular, () => {}, Symbol("s"), 1n]) {
      assert(thrownBy(() => ctx.handOver(state)) instanceof TypeError);
    }
  },

  async "a call that has ended cannot be armed"() {
    let context;
    const { bridge } = await withTool((_input, ctx) => {
      context = ctx;
      return "done";
    });
    await bridge.tool("t");
    const error = thrownBy(() => context.handOver(1));
    assert(error instanceof TypeError && error.message.includes("has ended"), String(error));
  },

  async "the next document gets the state"() {
    const { bridge } = await withTool((_input, { continuation }) => ({ continuation }));
    const { result } = await bridge.tool("t", {}, { continuation: { step: 1 }, handOvers: 1 });
    equal(result, { continuation: { step: 1 } });
  },

  async "a document that is shown again continues its own call, and drops the result of its former handler"() {
    /** The runs of the handler: its context, and what ends it. */
    const runs = [Promise.withResolvers(), Promise.withResolvers()];
    let count = 0;
    const { bridge, mcpWeb } = await withTool(
      (_input, ctx) => new Promise((end) => runs[count++].resolve({ ctx, end })),
    );
    const call = { type: "tool-call", requestId: "c1", toolName: "t", toolInput: {} };
    bridge.start(call);
    const first = await runs[0].promise;
    first.ctx.handOver({ step: 1 });
    happens("pagehide", { persisted: true });
    equal((await bridge.next("leaving")).handsOver, ["c1"]);
    assert(first.ctx.signal.aborted);
    happens("pageshow", { persisted: true });
    await bridge.accept();
    await mcpWeb.connect();
    await bridge.register();
    bridge.start({ ...call, context: { continuation: { step: 1 }, handOvers: 1 } });
    const next = await runs[1].promise;
    equal(next.ctx.continuation, { step: 1 });
    first.end("too late");
    next.end("in time");
    equal((await bridge.next("call-response", "call-error")).result, "in time");
  },
};
