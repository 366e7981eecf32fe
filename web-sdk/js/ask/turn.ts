/** A question and its answer as plain data: it takes the events of the query, and has the content to show. */

import { visibleText } from "../text/visible-text.ts";
import type { AskCallState, AskFailure } from "../types/ask.ts";
import type { Query, QueryEvent, QueryResult } from "../types/query.ts";

/** A call of a tool. */
export interface TurnCall {
  id: string;
  tool: string;
  /** The source of the tool, if it is one of the agent's own. */
  source?: string | undefined;
  state: AskCallState;
  arguments?: unknown;
  /** The beginning of the result of a tool of a source. */
  result?: string | undefined;
  error?: string | undefined;
}

/** A part of an answer. */
export type AnswerBlock = { kind: "text" | "thinking" | "note"; text: string } | { kind: "calls"; calls: readonly TurnCall[] };

/** A question and its answer. A new object for each change. */
export interface Turn {
  readonly label: string;
  readonly prompt: string;
  /** The uuid of the query, once there is one. */
  readonly uuid?: string | undefined;
  readonly state: Query["state"];
  readonly blocks: readonly AnswerBlock[];
  readonly error?: AskFailure | undefined;
}

/** Returns a turn that was just started. */
export const createTurn = (label: string, prompt: string): Turn => ({ label, prompt, state: "waiting", blocks: [] });

/** Returns whether the turn has ended. */
export const isOver = ({ state }: Turn): boolean => state !== "waiting" && state !== "running";

/** Applies an event of the query. Events of types not listed here do not change the answer. */
export const applyEvent = (turn: Turn, event: QueryEvent): Turn => ({ ...turn, state: "running", blocks: changeBlocks(turn.blocks, event) });

function changeBlocks(blocks: readonly AnswerBlock[], event: QueryEvent): readonly AnswerBlock[] {
  switch (event.type) {
    case "text":
    case "thinking":
      return appendText(blocks, event.type, event.text);
    case "note":
      return [...blocks, { kind: "note", text: visibleText(event.text) }];
    case "progress":
      return typeof event.content === "string" ? [...blocks, { kind: "note", text: visibleText(event.content) }] : blocks;
    case "tool-started":
      return setCall(blocks, startCall(event, "running"));
    case "approval-requested":
      return setCall(blocks, startCall(event, "waiting"));
    case "tool-finished": {
      const { id, isError, outcome, error, result } = event;
      // A person who has denied a call already knows that.
      const end: Partial<TurnCall> = outcome === "denied" ? { state: "cancelled" } : { state: isError ? "failed" : "done", error: visible(error), result: visible(result) };
      return changeCalls(blocks, (call) => (call.id === id ? { ...call, ...end } : call));
    }
    default:
      return blocks;
  }
}

const startCall = (event: QueryEvent & { type: "tool-started" | "approval-requested" }, state: AskCallState): TurnCall => ({
  id: event.id,
  tool: visibleText(event.tool),
  source: visible(event.source),
  state,
  arguments: event.arguments,
});

const visible = (text: string | undefined): string | undefined => (text === undefined ? undefined : visibleText(text));

const visibleFailure = (error: AskFailure): AskFailure =>
  Object.fromEntries(Object.entries(error).map(([name, text]) => [name, visible(text)])) as unknown as AskFailure;

/** Completes the turn with the result of the query. `text` is the answer if it is not a text of the model. */
export function completeTurn(turn: Turn, result: QueryResult, text = textOf(result)): Turn {
  const blocks = withResponse(turn.blocks, result);
  // An agent that streams has already sent its text.
  const isNew = text && !blocks.some((block) => block.kind === "text" && block.text.endsWith(text));
  return endTurn({ ...turn, blocks: isNew ? [...blocks, { kind: "text", text }] : blocks }, "complete");
}

/** Marks the turn as failed: the query has failed, or was never sent. */
export const failTurn = (turn: Turn, error: AskFailure): Turn => endTurn({ ...turn, error: visibleFailure(error) }, "failed");

/** Marks the turn as cancelled by the person. */
export const cancelTurn = (turn: Turn): Turn => endTurn(turn, "cancelled");

/** Returns the text of the answer, as markdown. */
export const answerText = ({ blocks }: Turn): string =>
  blocks
    .flatMap((block) => (block.kind === "text" ? [visibleText(block.text.trim())] : []))
    .filter(Boolean)
    .join("\n\n");

/** The call that completes a query may arrive before the event for its start. It is the last call of the page's tools. */
function withResponse(blocks: readonly AnswerBlock[], { response, toolCalls }: QueryResult): readonly AnswerBlock[] {
  const call = response && toolCalls.filter(({ source }) => source === undefined).at(-1);
  if (!call) return blocks;
  const name = visibleText(call.tool);
  const isKnown = (block: AnswerBlock) => block.kind === "calls" && block.calls.some(({ tool, state }) => tool === name && state !== "failed");
  if (blocks.some(isKnown)) return blocks;
  return setCall(blocks, { id: "response", tool: name, state: "done", arguments: call.arguments });
}

function textOf({ text, value }: QueryResult): string | undefined {
  if (text !== undefined || value === undefined) return text;
  return typeof value === "string" ? value : `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}

/** No event reports the end of the call that completes the query. All other ends cancel running calls. */
function endTurn(turn: Turn, state: "complete" | "failed" | "cancelled"): Turn {
  const last = state === "complete" ? "done" : "cancelled";
  const end = (call: TurnCall): TurnCall => (call.state === "running" || call.state === "waiting" ? { ...call, state: last } : call);
  return { ...turn, state, blocks: changeCalls(turn.blocks, end) };
}

function appendText(blocks: readonly AnswerBlock[], kind: "text" | "thinking", text: string): readonly AnswerBlock[] {
  const last = blocks.at(-1);
  if (last?.kind !== kind) return [...blocks, { kind, text }];
  return [...blocks.slice(0, -1), { kind, text: last.text + text }];
}

/** Replaces a call, or adds it to the calls that run in parallel. */
function setCall(blocks: readonly AnswerBlock[], call: TurnCall): readonly AnswerBlock[] {
  if (hasCall(blocks, call.id)) return changeCalls(blocks, (known) => (known.id === call.id ? { ...known, ...call } : known));
  const last = blocks.at(-1);
  if (last?.kind !== "calls") return [...blocks, { kind: "calls", calls: [call] }];
  return [...blocks.slice(0, -1), { kind: "calls", calls: [...last.calls, call] }];
}

const hasCall = (blocks: readonly AnswerBlock[], id: string): boolean =>
  blocks.some((block) => block.kind === "calls" && block.calls.some((call) => call.id === id));

const changeCalls = (blocks: readonly AnswerBlock[], change: (call: TurnCall) => TurnCall): readonly AnswerBlock[] =>
  blocks.map((block) => (block.kind === "calls" ? { ...block, calls: block.calls.map(change) } : block));
