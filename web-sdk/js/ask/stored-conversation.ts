/** The conversation of this tab, stored for its next document. */

import type { Turn } from "./turn.ts";

/**
 * Maximum number of stored characters of JSON. The oldest turns are left out. If a single turn is larger, its answer is
 * left out.
 */
export const MAX_STORED_CHARS = 256 * 1024;

/** The stored data. */
export interface StoredConversation {
  /** The conversation of the agent. */
  id?: string | undefined;
  turns: readonly Turn[];
}

const storageKey = (name: string): string => `mcp-web:ask:${name}`;

/** Returns the stored conversation of the element with this name. */
export function loadConversation(name: string): StoredConversation {
  try {
    const { id, turns } = JSON.parse(sessionStorage.getItem(storageKey(name))!);
    if (turns.every(isTurn)) return { id, turns };
  } catch {
    // Nothing is stored, or the data is from another program.
  }
  return { turns: [] };
}

const isTurn = ({ label, prompt, state, blocks }: Turn): boolean =>
  typeof label === "string" && typeof prompt === "string" && typeof state === "string" && Array.isArray(blocks);

/** Stores the conversation. If the page cannot store it, it is lost on a reload. */
export function storeConversation(name: string, { id, turns }: StoredConversation): void {
  try {
    if (!turns.length) return sessionStorage.removeItem(storageKey(name));
    const frame = JSON.stringify({ id, turns: [] });
    const room = MAX_STORED_CHARS - frame.length;
    let texts = newestTexts(turns, room);
    if (!texts.length) texts = newestTexts([{ ...turns.at(-1), blocks: [] }], room);
    sessionStorage.setItem(storageKey(name), `${frame.slice(0, -2)}${texts.join()}]}`);
  } catch {
    // The storage is full or forbidden.
  }
}

/** Returns the JSON of the newest turns, which has at most `room` characters including its commas. */
function newestTexts(turns: readonly object[], room: number): string[] {
  const texts: string[] = [];
  for (const turn of [...turns].reverse()) {
    const text = JSON.stringify(turn);
    room -= text.length + 1;
    if (room < 0) break;
    texts.unshift(text);
  }
  return texts;
}
