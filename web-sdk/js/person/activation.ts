/**
 * Detects whether the person in front of this tab has just acted. Page tools and scripts also dispatch events, but the
 * browser marks those of a person (`isTrusted`).
 */

import { nextTask } from "../mcp-web/next-task.ts";
import { noteScript, scriptCount, scriptedAt } from "./tab.ts";

/**
 * How long an event of the person counts, in milliseconds: as long as the browser's transient activation (HTML, "user
 * activation").
 */
const ACTIVATION_MS = 5_000;

/** The events with which a person, or a script on their behalf, uses a page. */
const INPUT_EVENTS = ["keydown", "keyup", "pointerdown", "pointerup", "mousedown", "mouseup", "touchend", "click", "dblclick", "drop", "change"];

/** The watched windows. */
const watched = new WeakSet<object>();
/** The time of the person's latest event in these windows, in milliseconds since 1970. */
let actedAt = -Infinity;
/** The count of script events at the start of the current task, if the person has started it. */
let ownTask: number | undefined;

/** Begins to watch some windows. Earlier events are unknown. */
export function watchPerson(views: Iterable<Window>): void {
  for (const view of views) {
    if (watched.has(view)) continue;
    watched.add(view);
    for (const type of INPUT_EVENTS) view.addEventListener(type, note, true);
  }
}

/** Returns whether an event of the person has started the current task, and no script has acted since. */
export const isOwnTask = (): boolean => ownTask !== undefined && ownTask === scriptCount();

function note({ isTrusted, type }: Event): void {
  // Events that the page dispatches during the person's own event also count as theirs.
  if (!isTrusted) return isOwnTask() ? undefined : noteScript();
  // The browser also fires it for clicks of scripts.
  if (type === "change") return;
  actedAt = Date.now();
  const own = (ownTask = scriptCount());
  // Runs after the task of this event.
  void nextTask().then(() => {
    if (ownTask === own) ownTask = undefined;
  });
}

/**
 * Returns whether the person acts: in the task of their event, or shortly after it if no script has acted in the last
 * seconds. An event before `since`, in milliseconds since 1970, does not count.
 */
export function isPersonActing(since = -Infinity): boolean {
  if (since > -Infinity && actedAt <= since) return false;
  return isOwnTask() || (Date.now() - scriptedAt() > ACTIVATION_MS && isActive());
}

function isActive(): boolean {
  const { userActivation } = globalThis.navigator ?? {};
  return userActivation ? userActivation.isActive : Date.now() - actedAt < ACTIVATION_MS;
}
