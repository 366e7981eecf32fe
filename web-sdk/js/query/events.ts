/** The progress of a query, stored for later readers, within a limit. */

import { parse } from "partial-json";

import type { QueryEvent } from "../types/query.ts";

/** The same amount that a bridge stores for a disconnected page, in characters of JSON. */
export const MAX_STORED_CHARS = 256 * 1024;

const MISSED: QueryEvent = Object.freeze({ type: "note", text: "Earlier progress is not kept." });

/** The text fields of this project's events, by their type. Other agents may send any fields. */
const KNOWN_EVENTS = new Map<unknown, string[]>([
  ["text", ["text"]],
  ["thinking", ["text"]],
  ["note", ["text"]],
  ["tool-started", ["id", "tool"]],
  ["tool-finished", ["id", "tool"]],
  ["tool-arguments", ["id", "tool", "delta"]],
  ["approval-requested", ["id", "tool"]],
  ["usage", []],
]);

/** The optional text fields of this project's events, which tools of the agent itself have. */
const OPTIONAL_TEXTS = ["source", "result"];

/** Returns the event for the content of a `query_progress` message. */
export function parseEvent(content: any): QueryEvent {
  const isText = (field: string) => typeof content[field] === "string";
  const isKnown =
    KNOWN_EVENTS.get(content?.type)?.every(isText) && OPTIONAL_TEXTS.every((field) => content[field] === undefined || isText(field));
  return isKnown ? content : { type: "progress", content };
}

/** The arguments of calls while the model writes them: the pieces of their texts, by the ids of the calls. */
class WrittenArguments {
  readonly #pieces = new Map<string, string[]>();

  /**
   * Completes an event. All events of a call share its pieces, and the value is parsed only when it is read: a text or a
   * value per event would need memory that grows with the square of the text.
   */
  complete(event: QueryEvent): QueryEvent {
    if (event.type === "tool-started") this.#pieces.delete(event.id);
    if (event.type !== "tool-arguments") return event;
    const pieces = this.#pieces.get(event.id) ?? [];
    this.#pieces.set(event.id, pieces);
    const count = pieces.push(event.delta);
    const get = () => parseWritten(pieces.slice(0, count).join(""));
    return Object.defineProperty(event, "arguments", { get, enumerable: false });
  }

  /** Discards the pieces when no more will follow. Stored events still have theirs. */
  clear(): void {
    this.#pieces.clear();
  }
}

/** Parses the arguments written so far; an empty object if there are none. */
function parseWritten(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return {};
  }
}

/** A stored event, and a link to the next one. The first entry has no size, and dropped entries have no event. */
interface Entry {
  event?: QueryEvent | undefined;
  size?: number;
  next?: Entry;
}

/**
 * A linked list that each reader traverses at its own pace. Entries dropped at its beginning are freed as soon as all
 * readers have passed them.
 */
export class QueryEvents {
  /** The entry before the first stored event: an empty one, or the last dropped one. */
  #before: Entry = {};
  #last: Entry = this.#before;
  #size = 0;
  readonly #arguments = new WrittenArguments();
  #end: { error: unknown } | undefined;
  #changed = signal();

  /** Stores the event, and returns it. */
  push(content: unknown): QueryEvent {
    const event = Object.freeze(this.#arguments.complete(parseEvent(content)));
    const size = JSON.stringify(event).length;
    this.#last = this.#last.next = { event, size };
    this.#size += size;
    while (this.#size > MAX_STORED_CHARS && this.#before.next !== this.#last) this.#drop();
    this.#notify();
    return event;
  }

  #drop(): void {
    const dropped = this.#before.next!;
    this.#size -= dropped.size!;
    dropped.event = undefined;
    this.#before = dropped;
  }

  /** `error` is the reason if the query failed. */
  end(error?: unknown): void {
    this.#end = { error };
    this.#arguments.clear();
    this.#notify();
  }

  #notify(): void {
    const { resolve } = this.#changed;
    this.#changed = signal();
    resolve();
  }

  async *all(): AsyncGenerator<QueryEvent, void, undefined> {
    let at = this.#before;
    let hasMissed = "size" in at;
    for (;;) {
      for (; at.next; ) {
        at = at.next;
        if (at.event) {
          if (hasMissed) yield MISSED;
          hasMissed = false;
          yield at.event;
        } else hasMissed = true;
      }
      if (this.#end) break;
      await this.#changed.promise;
    }
    if (this.#end.error !== undefined) throw this.#end.error;
  }
}

/** Creates a promise that is fulfilled from outside. */
function signal(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}
