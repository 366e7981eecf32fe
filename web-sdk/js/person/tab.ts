/**
 * The state of the person in front of this tab: the open questions, and when a script last acted on the person's behalf. It
 * is shared by all copies of the SDK in all windows of the tab that have the same origin.
 */

import { nextTask } from "../mcp-web/next-task.ts";
import { outermostWindow } from "./outermost-window.ts";

const TAB = Symbol.for("mcp-web.tab");

/** The state of a tab. It is plain data, because copies of several versions use it. */
interface Tab {
  /** The open questions, the oldest first. */
  readonly questions: Set<{ text: string }>;
  /** Called when the last open question has been answered. */
  readonly waiting: Set<() => void>;
  /** The running actions of page tools. */
  readonly actions: Set<object>;
  /** The number of times that scripts have acted on the person's behalf. */
  scripts: number;
  /** When a script last acted on the person's behalf, in milliseconds since 1970. */
  scriptedAt: number;
}

function tab(): Tab {
  const owner = outermostWindow() as { [TAB]?: Tab };
  return (owner[TAB] ??= { questions: new Set(), waiting: new Set(), actions: new Set(), scripts: 0, scriptedAt: -Infinity });
}

/** Returns a function that runs `end` once. In a frame, it runs at the latest when the frame is removed. */
function endsWithWindow(end: () => void): () => void {
  if (outermostWindow() === (globalThis as unknown)) return end;
  const ended = new AbortController();
  const once = () => {
    ended.abort();
    end();
  };
  globalThis.addEventListener?.("pagehide", once, { signal: ended.signal });
  return once;
}

/** Registers a question to the person, and returns a function that ends it. Page tools wait until then. */
export function openQuestion(text: string): () => void {
  const { questions, waiting } = tab();
  const question = { text };
  questions.add(question);
  return endsWithWindow(() => {
    if (!questions.delete(question) || questions.size) return;
    for (const resume of waiting) resume();
    waiting.clear();
  });
}

/** Returns the question that has been open for the longest time. */
export const openedQuestion = (): string | undefined => [...tab().questions][0]?.text;

/** Fulfilled when no question is open, or the signal fires; never in the task of the answer, which is the person's own. */
export async function whenAnswered(signal: AbortSignal): Promise<void> {
  const { questions, waiting } = tab();
  while (questions.size && !signal.aborted) {
    await new Promise<void>((resolve) => {
      waiting.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await nextTask();
  }
}

/** Registers an action of page tools, and returns a function that ends it. */
export function beginAction(): () => void {
  const { actions } = tab();
  const action = {};
  actions.add(action);
  noteScript();
  return endsWithWindow(() => {
    actions.delete(action);
    noteScript();
  });
}

/** Records that a script acts on the person's behalf. */
export function noteScript(): void {
  const state = tab();
  state.scripts += 1;
  state.scriptedAt = Date.now();
}

/** Returns how often scripts have acted on the person's behalf. */
export const scriptCount = (): number => tab().scripts;

/** Returns when a script last acted on the person's behalf, in milliseconds since 1970. */
export function scriptedAt(): number {
  const { actions, scriptedAt } = tab();
  return actions.size ? Infinity : scriptedAt;
}
