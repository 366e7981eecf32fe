/** The conversation of this tab, for its next document. */

import type { Turn } from "./turn.ts";

/** So many characters of JSON are stored. The oldest turns are left out. */
export const MAX_STORED_CHARS = 256 * 1024;

/** What is stored. */
export interface StoredConversation {
  /** The conversation of the agent. */
  id?: string | undefined;
  turns: readonly Turn[];
}

const storageKey = (name: string): string => `mcp-web:ask:${name}`;

/** Returns the conversation that the element with this name has had. */
export function loadConversation(name: string): StoredConversation {
  try {
    const { id, turns } = JSON.parse(sessionStorage.getItem(storageKey(name))!);
    if (turns.every(isTurn)) return { id, turns };
  } catch {
    // Nothing is stored, or something else has stored it.
  }
  return { turns: [] };
}

const isTurn = ({ label, prompt, state, blocks }: Turn): boolean =>
  typeof label === "string" && typeof prompt === "string" && typeof state === "string" && Array.isArray(blocks);

/** Stores the conversation. A page that may not store anything has none after a reload. */
export function storeConversation(name: string, { id, turns }: StoredConversation): void {
  try {
    if (!turns.length) return sessionStorage.removeItem(storageKey(name));
    let first = 0;
    let json: string;
    do json = JSON.stringify({ id, turns: turns.slice(first++) });
    while (json.length > MAX_STORED_CHARS && first < turns.length);
    sessionStorage.setItem(storageKey(name), json);
  } catch {
    // The storage is full or forbidden.
  }
}
