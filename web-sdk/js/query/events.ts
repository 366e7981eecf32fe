/** What a query tells of its progress: kept for those who look later, within bounds. */

/** As much as a bridge keeps for a page that is away, in characters of JSON. */
export const KEPT = 256 * 1024;

const MISSED = Object.freeze({ type: "note", text: "Earlier progress is not kept." });

/** The texts that make an event one of ours. Other agents tell what they like. */
const OURS = new Map([
  ["text", ["text"]],
  ["thinking", ["text"]],
  ["note", ["text"]],
  ["tool-started", ["id", "tool"]],
  ["tool-finished", ["id", "tool"]],
]);

export function eventOf(content) {
  const isOurs = OURS.get(content?.type)?.every((field) => typeof content[field] === "string");
  return Object.freeze(isOurs ? content : { type: "progress", content });
}

/**
 * A list that each reader goes through at its own pace. What is dropped at its beginning is freed as soon as no reader
 * stands before it.
 */
export class Events {
  /** Stands before the first event that is kept: an empty place, or the last one that was dropped. */
  #before = {};
  #last = this.#before;
  #size = 0;
  #over;
  #news = settleable();

  push(content) {
    const event = eventOf(content);
    const size = JSON.stringify(event).length;
    this.#last = this.#last.next = { event, size };
    this.#size += size;
    while (this.#size > KEPT && this.#before.next !== this.#last) this.#drop();
    this.#wake();
  }

  #drop() {
    const dropped = this.#before.next;
    this.#size -= dropped.size;
    dropped.event = undefined;
    this.#before = dropped;
  }

  /** `error`: why, unless all is well. */
  end(error) {
    this.#over = { error };
    this.#wake();
  }

  #wake() {
    const { resolve } = this.#news;
    this.#news = settleable();
    resolve();
  }

  async *all() {
    let at = this.#before;
    let missed = "size" in at;
    for (;;) {
      for (; at.next; ) {
        at = at.next;
        if (at.event) {
          if (missed) yield MISSED;
          missed = false;
          yield at.event;
        } else missed = true;
      }
      if (this.#over) break;
      await this.#news.promise;
    }
    if (this.#over.error !== undefined) throw this.#over.error;
  }
}

function settleable() {
  let resolve;
  const promise = new Promise((settle) => (resolve = settle));
  return { promise, resolve };
}
