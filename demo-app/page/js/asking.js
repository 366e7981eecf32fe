/**
 * A question to the AI and how it is answered, as plain data: what the SDK tells goes in, what the
 * page shows comes out.
 *
 * @typedef {{ id: string, tool: string, input: unknown, state: "running" | "done" | "failed" | "cancelled", error?: string }} ToolCall
 * @typedef {{ kind: "text" | "thinking" | "note", text: string } | { kind: "calls", calls: readonly ToolCall[] }} Block
 * @typedef {{ title: string, lines?: string, state: "waiting" | "running" | "complete" | "failed" | "cancelled",
 *             blocks: readonly Block[], plan?: Plan, error?: Failure, startedAt: Date, durationMs?: number }} Asked
 *   `lines` are tool lines that the page wrote for an agent without a language model.
 * @typedef {{ today: readonly string[], reason: string }} Plan titles of cards, and why these
 * @typedef {{ code?: string, message: string, remedy?: string }} Failure
 */

/** @returns {Asked} */
export const asked = ({ title, lines }, now) => ({ title, lines, state: "waiting", blocks: [], startedAt: now });

/** What an event of the query changes. Kinds that are not known here are passed over. @returns {Asked} */
export function heard(question, event) {
  const change = CHANGES[event?.type];
  const blocks = change ? change(question.blocks, event) : question.blocks;
  return { ...question, state: "running", blocks };
}

const CHANGES = {
  text: (blocks, { text }) => continued(blocks, "text", text),
  thinking: (blocks, { text }) => continued(blocks, "thinking", text),
  note: (blocks, { text }) => [...blocks, { kind: "note", text }],
  /** Of an agent that is not ours. */
  progress: (blocks, { content }) => (typeof content === "string" ? [...blocks, { kind: "note", text: content }] : blocks),
  "tool-started": (blocks, { id, tool, arguments: input }) => {
    const call = { id, tool, input, state: "running" };
    const last = blocks.at(-1);
    if (last?.kind !== "calls") return [...blocks, { kind: "calls", calls: [call] }];
    return [...blocks.slice(0, -1), { ...last, calls: [...last.calls, call] }];
  },
  "tool-finished": (blocks, { id, isError, error }) =>
    changedCalls(blocks, (call) => (call.id === id ? { ...call, state: isError ? "failed" : "done", error } : call)),
};

/** The query is complete. @param result of the SDK's query @param {Plan} [plan] @returns {Asked} */
export function answered(question, { text, value, response, toolCalls = [] }, plan, now) {
  const blocks = response ? withLast(question.blocks, toolCalls.at(-1)) : question.blocks;
  const said = text ?? (typeof value === "string" ? value : undefined);
  // An agent that streams has said it already.
  const isNews = said && !blocks.some((block) => block.kind === "text" && block.text.endsWith(said));
  const all = isNews ? [...blocks, { kind: "text", text: said }] : blocks;
  return ended({ ...question, blocks: all, plan }, "complete", now);
}

/** The call that completes a question may be faster than the news that it has begun. */
function withLast(blocks, { tool, arguments: input }) {
  const isKnown = blocks.some(({ calls }) => calls?.some((call) => call.tool === tool && call.state !== "failed"));
  return isKnown ? blocks : CHANGES["tool-started"](blocks, { id: "response", tool, arguments: input });
}

/** @param {Failure} error @returns {Asked} */
export const failed = (question, { code, message, remedy }, now) =>
  ended({ ...question, error: { code, message, remedy } }, "failed", now);

/** @returns {Asked} */
export const cancelled = (question, now) => ended(question, "cancelled", now);

export const isOver = ({ state }) => state !== "waiting" && state !== "running";

/** The tool that completes a question is heard of no more. Other ends cancel what runs. */
function ended(question, state, now) {
  const last = state === "complete" ? "done" : "cancelled";
  const blocks = changedCalls(question.blocks, (call) => (call.state === "running" ? { ...call, state: last } : call));
  return { ...question, blocks, state, durationMs: now - question.startedAt };
}

function continued(blocks, kind, text) {
  const last = blocks.at(-1);
  if (last?.kind !== kind) return [...blocks, { kind, text }];
  return [...blocks.slice(0, -1), { kind, text: last.text + text }];
}

const changedCalls = (blocks, change) =>
  blocks.map((block) => (block.kind === "calls" ? { ...block, calls: block.calls.map(change) } : block));
