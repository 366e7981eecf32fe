/** A query as the app holds it: at once, while what it does (`mcp-web-query.js`) is still being loaded. */

/** A UUID of version 4, also on plain http pages, where `crypto.randomUUID` is missing. */
export const uuidOf = (hex) => hex.replace(/(.{8})(.{4}).(.{3}).(.{3})(.{12})/, "$1-$2-4$3-a$4-$5");

export class Query {
  /** A promise of what it does. */
  #begun;
  #run;
  #result;
  #watched = false;
  /** The reason, as a list, once the app has cancelled. */
  #cancelled;

  /** `page`: a promise of what `begin` needs, which makes a run of it. */
  constructor(uuid, page, begin) {
    this.uuid = uuid;
    const begun = (needs) => {
      this.#run = begin(...needs);
      // Before anything of it goes out.
      if (this.#cancelled) this.#run.cancel(...this.#cancelled);
      return this.#run;
    };
    this.#begun = page.then(begun);
    this.#begun.catch(() => (this.#run = { state: "failed", cancel() {} }));
    this.#result = this.#begun.then((run) => run.result);
    // A failure that nobody has asked for is not unheard.
    this.#result.catch(({ message }) => {
      if (!this.#watched && this.state === "failed") console.error(`mcp-web: the query failed: ${message}`);
    });
  }

  get state() {
    return this.#run?.state ?? (this.#cancelled ? "cancelled" : "waiting");
  }

  get result() {
    this.#watched = true;
    return this.#result;
  }

  cancel(reason) {
    this.#cancelled = [reason];
    this.#run?.cancel(reason);
  }

  async *[Symbol.asyncIterator]() {
    this.#watched = true;
    yield* (await this.#begun).events();
  }
}
