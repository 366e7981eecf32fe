/**
 * Whether the person in front of this tab has just done something themselves. Page tools and scripts dispatch events, too, and
 * the browser says which events are those of a person (`isTrusted`).
 */

import { nextTask } from "../mcp-web/next-task.ts";
import { noteScript, scriptCount, scriptedAt } from "./tab.ts";

/** How long an event of the person counts, in milliseconds: as long as the browser's transient activation (HTML, "user activation"). */
const ACTIVATION_MS = 5_000;

/** The events by which a person, or a script in their place, uses a page. */
const INPUT_EVENTS = ["keydown", "keyup", "pointerdown", "pointerup", "mousedown", "mouseup", "touchend", "click", "dblclick", "drop", "change"];

/** The windows that are watched. */
const watched = new WeakSet<object>();
/** When the person last did something in these windows, in milliseconds since 1970. */
let actedAt = -Infinity;
/** How often scripts had acted when the task began that runs, if the person has begun it. */
let ownTask: number | undefined;

/** Begins to watch some windows. Events of the time before are not known. */
export function watchPerson(views: Iterable<Window>): void {
  for (const view of views) {
    if (watched.has(view)) continue;
    watched.add(view);
    for (const type of INPUT_EVENTS) view.addEventListener(type, note, true);
  }
}

/** Whether the task that runs was begun by an event of the person, and no script has acted since. */
export const isOwnTask = (): boolean => ownTask !== undefined && ownTask === scriptCount();

function note({ isTrusted, type }: Event): void {
  // What the person's own event makes the page dispatch is theirs.
  if (!isTrusted) return isOwnTask() ? undefined : noteScript();
  // The browser fires it for clicks of scripts, too.
  if (type === "change") return;
  actedAt = Date.now();
  const own = (ownTask = scriptCount());
  // That is after the task of this event.
  void nextTask().then(() => {
    if (ownTask === own) ownTask = undefined;
  });
}

/**
 * Whether the person acts: in the task of their own event, or shortly after it if no script has acted in the last seconds. An
 * event before `since`, in milliseconds since 1970, does not count.
 */
export function isPersonActing(since = -Infinity): boolean {
  if (since > -Infinity && actedAt <= since) return false;
  return isOwnTask() || (Date.now() - scriptedAt() > ACTIVATION_MS && isActive());
}

function isActive(): boolean {
  const { userActivation } = globalThis.navigator ?? {};
  return userActivation ? userActivation.isActive : Date.now() - actedAt < ACTIVATION_MS;
}
