/**
 * Whether the person in front of this window has just done something themselves. Page tools and scripts dispatch events, too,
 * and the browser says which events are those of a person (`isTrusted`).
 */

import { noteScript, scriptedAt } from "./tab.ts";

/** How long an event of the person counts, in milliseconds: as long as the browser's transient activation (HTML, "user activation"). */
const ACTIVATION_MS = 5_000;

/** The events by which a person, or a script in their place, uses a page. */
const INPUT_EVENTS = ["keydown", "keyup", "pointerdown", "pointerup", "mousedown", "mouseup", "touchend", "click", "dblclick", "change"];

/** When the person last did something in this window, in milliseconds since 1970; undefined while nothing watches. */
let actedAt: number | undefined;
/** Whether the task that runs was begun by the person. */
let isOwnTask = false;

/** Begins to watch this window. Events of the time before are not known. */
export function watchPerson(): void {
  if (actedAt !== undefined || typeof document !== "object") return;
  actedAt = -Infinity;
  for (const type of INPUT_EVENTS) addEventListener(type, note, true);
}

function note({ isTrusted }: Event): void {
  isOwnTask = isTrusted;
  if (!isTrusted) return noteScript();
  actedAt = Date.now();
  // The task of the message comes after the one of this event.
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    isOwnTask = false;
  };
  port2.postMessage(0);
}

/**
 * Whether the person acts: in the task of their own event, or shortly after it if no script has acted meanwhile. An event
 * before `since`, in milliseconds since 1970, does not count.
 */
export function isPersonActing(since = -Infinity): boolean {
  const { event } = globalThis as { event?: Event | undefined };
  if (event && !event.isTrusted) return false;
  if (since > -Infinity && !(actedAt !== undefined && actedAt > since)) return false;
  return isOwnTask || (Date.now() - scriptedAt() > ACTIVATION_MS && isActive());
}

function isActive(): boolean {
  const { userActivation } = globalThis.navigator ?? {};
  return userActivation ? userActivation.isActive : Date.now() - (actedAt ?? 0) < ACTIVATION_MS;
}
