/** Tracks the requests that an action starts: which are pending, and which have failed. */

import { read } from "../../dom/native.ts";
import type { View } from "./flat-tree.ts";
import type { Patches } from "./patch.ts";

export class Requests {
  readonly #warn: (warning: string) => void;
  readonly #signal: AbortSignal;
  #pending = new Map<object, string>();
  /** The time when the last one ended. */
  endedAt = 0;

  constructor(warn: (warning: string) => void, signal: AbortSignal) {
    this.#warn = warn;
    this.#signal = signal;
  }

  /** Requests that have not ended, such as `GET /api/orders`. */
  get pending(): string[] {
    return [...this.#pending.values()];
  }

  /** Counts the requests of a window. */
  install(view: View, patches: Patches): void {
    patches.replace(view, "fetch", (original) => this.#countFetch(view, original));
    this.#countXhr(view, patches);
  }

  #countFetch(view: View, original: typeof fetch): typeof fetch {
    const requests = this;
    return function (this: unknown, ...args: Parameters<typeof fetch>) {
      const promise = Reflect.apply(original, this ?? view, args) as Promise<Response>;
      const [input, init] = args;
      const request = typeof input === "object" && "url" in input ? input : undefined;
      const end = requests.#begin(view, init?.method ?? request?.method ?? "GET", request?.url ?? String(input));
      promise.then(
        ({ status }) => end(status >= 400 ? `failed with ${status}` : ""),
        (error) => end(error?.name === "AbortError" ? "" : `failed: ${error?.message ?? error}`),
      );
      return promise;
    };
  }

  #countXhr(view: View, patches: Patches): void {
    const requests = this;
    const { prototype } = view.XMLHttpRequest;
    const addresses = new WeakMap<XMLHttpRequest, [method: string, url: string]>();
    patches.replace(prototype, "open", (original) => {
      return function (this: XMLHttpRequest, ...args: [method: string, url: string | URL]) {
        addresses.set(this, [args[0], String(args[1])]);
        return Reflect.apply(original, this, args);
      } as typeof original;
    });
    patches.replace(prototype, "send", (original) => {
      return function (this: XMLHttpRequest, ...args: Parameters<XMLHttpRequest["send"]>) {
        // Added before it is sent, because a synchronous request ends meanwhile.
        const end = requests.#begin(view, ...(addresses.get(this) ?? ["GET", this.responseURL]));
        const ended = () => end(this.status >= 400 ? `failed with ${this.status}` : "");
        this.addEventListener("error", () => end("failed"), { signal: requests.#signal });
        this.addEventListener("loadend", ended, { signal: requests.#signal });
        try {
          return Reflect.apply(original, this, args);
        } catch (error) {
          end("");
          throw error;
        }
      };
    });
  }

  #begin(view: View, method: string, url: string): (failure: string) => void {
    const key = {};
    const name = `${String(method).toUpperCase()} ${shortAddress(url, view)}`;
    this.#pending.set(key, name);
    return (failure) => {
      if (!this.#pending.delete(key) || this.#signal.aborted) return;
      this.endedAt = performance.now();
      if (failure) this.#warn(`request ${name} ${failure}`);
    };
  }
}

/** Returns an address without its query, which may contain secrets, and without the origin of the page. */
function shortAddress(url: string, view: View): string {
  try {
    const { origin, pathname } = new URL(url, read(view.document, "baseURI"));
    return `${origin === location.origin ? "" : origin}${pathname}`;
  } catch {
    return "an invalid URL";
  }
}
