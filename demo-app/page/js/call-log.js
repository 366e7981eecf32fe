/**
 * The calls of this page, newest first, as plain data.
 *
 * @typedef {{ callId: string, kind: string, toolName: string, clientName: string, state: "running" | "done" | "failed" | "cancelled",
 *             input: unknown, result?: unknown, error?: { code?: string, message: string },
 *             startedAt: Date, durationMs?: number }} Call
 */

/** Older calls are removed. */
export const MAX_CALLS = 100;

const STATE_OF_PHASE = {
  started: "running",
  finished: "done",
  failed: "failed",
  cancelled: "cancelled",
};

/**
 * @param {readonly Call[]} calls
 * @param event a `CallEvent` of the SDK
 * @param {Date} now
 * @returns {readonly Call[]}
 */
export function recordCall(calls, event, now) {
  const known = calls.find((call) => call.callId === event.callId);
  const call = { ...(known ?? begun(event, now)), ...outcome(event, known, now) };
  if (known) return calls.map((other) => (other === known ? call : other));
  return [call, ...calls].slice(0, MAX_CALLS);
}

function begun(event, now) {
  return {
    callId: event.callId,
    kind: event.kind,
    toolName: event.name,
    clientName: event.client?.title ?? event.client?.name ?? "unnamed client",
    input: event.input,
    startedAt: now,
  };
}

function outcome(event, known, now) {
  const state = STATE_OF_PHASE[event.phase];
  if (state === "running") return { state };
  const { result, error } = event;
  const durationMs = event.durationMs ?? (known ? now - known.startedAt : undefined);
  return { state, result, error: error && { code: error.code, message: error.message }, durationMs };
}
