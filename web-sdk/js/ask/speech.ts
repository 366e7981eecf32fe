/** The announcements of an answer to a screen reader: whole sentences, each once, instead of single pieces. */

import type { CompleteAskStrings } from "./strings.ts";
import { type AnswerBlock, type TurnCall, type Turn, answerText, isOver } from "./turn.ts";

/** Shorter pieces wait for the next one, because a number with a decimal point is not a sentence. */
const MIN_SENTENCE_CHARS = 24;

/** The end of a sentence. */
const SENTENCE_END = /[.!?…:][)\]"'”’*_`]*\s|[。！？]|\n/g;

/**
 * Returns the texts to announce for a change of a turn. `spoken` is the length of the part of the answer that was announced
 * before.
 */
export function announcements(
  before: Turn | undefined,
  after: Turn,
  spoken: number,
  strings: CompleteAskStrings,
): { texts: string[]; spoken: number } {
  const texts = [...callTexts(callsOf(before), callsOf(after), strings), ...textsOf(after, "note").slice(textsOf(before, "note").length)];
  const isNewState = before?.state !== after.state;
  if (isNewState && after.state === "waiting") texts.push(strings.waiting);
  const answer = answerText(after);
  const end = isOver(after) ? answer.length : Math.max(spoken, lastSentenceEnd(answer, spoken));
  const words = plainText(answer.slice(spoken, end));
  if (words) texts.push(words);
  if (isNewState && after.state === "complete" && !answer) texts.push(strings.done);
  if (isNewState && after.state === "cancelled") texts.push(strings.cancelled);
  if (isNewState && after.error) texts.push(strings.failure(after.error));
  return { texts, spoken: end };
}

/** Returns the end of the last whole sentence, or `from` if there is none. */
function lastSentenceEnd(text: string, from: number): number {
  let end = from;
  for (const { 0: mark, index } of text.slice(from).matchAll(SENTENCE_END)) {
    if (index + mark.length >= MIN_SENTENCE_CHARS) end = from + index + mark.length;
  }
  return end;
}

function callTexts(before: readonly TurnCall[], after: readonly TurnCall[], { tool, callState, approval, sourceTool }: CompleteAskStrings): string[] {
  const known = new Map(before.map(({ id, state }) => [id, state]));
  const changed = after.filter(({ id, state }) => known.get(id) !== state);
  return changed.flatMap((call) => {
    const name = tool(call.tool, call.source);
    if (call.state === "waiting") return [approval(name), call.source === undefined ? [] : sourceTool(call.source)].flat();
    if (call.state === "done") return [];
    const text = `${name}: ${callState(call.state)}`;
    return call.error ? `${text}. ${call.error}` : text;
  });
}

const callsOf = (turn: Turn | undefined): TurnCall[] =>
  turn?.blocks.flatMap((block) => (block.kind === "calls" ? [...block.calls] : [])) ?? [];

const textsOf = (turn: Turn | undefined, kind: AnswerBlock["kind"]): string[] =>
  turn?.blocks.flatMap((block) => (block.kind === kind && "text" in block ? [block.text] : [])) ?? [];

/** Returns markdown without its syntax characters. */
export const plainText = (markdown: string): string =>
  markdown
    .replace(/^\s*(```|~~~).*$/gm, "")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/^\s*(#{1,6}|>|[-*+])\s+/gm, "")
    .replace(/\*+|`+|~~/g, "")
    .replace(/(?<!\w)_+|_+(?!\w)/g, "")
    .replace(/\s+/g, " ")
    .trim();
