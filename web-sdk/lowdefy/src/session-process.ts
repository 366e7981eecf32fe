/**
 * The program of a session process. It starts without a user, and then has one. `processes/process-handle.ts` starts it.
 *
 * It ends with its channel, however its host ends.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Socket } from "node:net";

import { redirectConsole, textOf } from "./engine/activity.ts";
import { guardActions, guardOperators } from "./engine/known-texts.ts";
import { loadPagePlugins } from "./engine/plugins.ts";
import { CHANNEL_FD, Channel } from "./processes/channel.ts";
import { type HostCall, type HostMessage, type ProcessMessage, type ProcessSettings,  errorOf, failureOf } from "./processes/messages.ts";
import { LiveSessions } from "./session-process/live-sessions.ts";
import { removeProcessApis } from "./session-process/process-apis.ts";

/** Maximum time for a cancelled call to finish its action, so that it is saved. */
const MAX_CANCELLED_MS = 5_000;

interface OpenHostCall {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

let sessions: LiveSessions | undefined;
const cancelled = new Map<number, AbortController>();
const hostCalls = new Map<number, OpenHostCall>();
let lastHostCall = 0;

const receiver = { message: (message: unknown) => received(message as HostMessage), closed: () => process.exit() };
const channel = new Channel(new Socket({ fd: CHANNEL_FD, readable: true, writable: true }), receiver, { maxBytes: Infinity, isTrusted: true });
const send = (message: ProcessMessage) => channel.send(message);

redirectConsole((text) => send({ type: "log", text }));
// An unhandled rejection in code of the app must not end a session.
process.on("unhandledRejection", (reason) => console.error(reason));
process.on("uncaughtException", (error) => console.error(error));

function received(message: HostMessage): void {
  switch (message.type) {
    case "start":
      void start(message.settings);
      return;
    case "ping":
      return send({ type: "pong", id: message.id });
    case "call":
      void call(message);
      return;
    case "cancel":
      return cancelled.get(message.id)?.abort();
    case "forget":
      return sessions?.forget(message.sessionId);
    case "hostResult":
      hostCalls.get(message.id)?.resolve(message.value);
      return void hostCalls.delete(message.id);
    case "hostFailure":
      hostCalls.get(message.id)?.reject(errorOf(message.failure));
      return void hostCalls.delete(message.id);
  }
}

/** Loads the app, and removes functions that no page needs. */
async function start(settings: ProcessSettings): Promise<void> {
  try {
    const { plugins: modules, maxStateBytes, maxListItems, format, page } = settings;
    const loaded = await loadPagePlugins(modules);
    const rules = { known: new Set(settings.knownTexts), dynamic: settings.dynamicOperators };
    const plugins = { ...loaded, operators: guardOperators(loaded.operators, modules.operators, rules), actions: guardActions(loaded.actions, modules.actions, rules) };
    const pageTools = { format, limits: page, wasm: readPageWasm() };
    sessions = new LiveSessions({ plugins, limits: { maxStateBytes, maxListItems }, pageTools, callHost });
    removeProcessApis();
    send({ type: "started" });
  } catch (error) {
    send({ type: "failed", message: (error as Error).message });
  }
}

async function call({ id, call }: HostMessage & { type: "call" }): Promise<void> {
  const controller = new AbortController();
  cancelled.set(id, controller);
  try {
    const { signal } = controller;
    send({ type: "result", id, value: await Promise.race([sessions!.run(call, signal), cancelledLong(signal)]) });
  } catch (error) {
    const { isLost } = error as { isLost?: boolean };
    const message = textOf(error);
    send({ type: "failure", id, failure: { ...failureOf(error), message, ...(isLost && { isLost }) } });
  } finally {
    cancelled.delete(id);
  }
}

/** Rejected some time after a call was cancelled. */
function cancelledLong(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => setTimeout(reject, MAX_CANCELLED_MS, new Error("the call was cancelled")));
  });
}

function callHost(call: HostCall): Promise<unknown> {
  const id = ++lastHostCall;
  send({ type: "hostCall", id, ...call });
  return new Promise((resolve, reject) => hostCalls.set(id, { resolve, reject }));
}

function readPageWasm(): Uint8Array {
  const { resolve } = createRequire(import.meta.url);
  return readFileSync(resolve("mcp-web-sdk/mcp_web_page_bg.wasm"));
}
