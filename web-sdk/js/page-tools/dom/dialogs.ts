/** Answers dialogs of the browser while an action runs, because they would block the page. */

import { isOwnTask } from "../../person/activation.ts";
import type { View } from "./flat-tree.ts";
import type { Patches } from "./patch.ts";

/** Further dialogs of one action are only counted. */
const MAX_LOGGED = 5;

export class Dialogs {
  readonly #answer: boolean | string;
  #log: string[] = [];
  #more = 0;

  constructor(answer: boolean | string = false) {
    this.#answer = answer;
  }

  /** Answers the dialogs of a window. */
  install(view: View, patches: Patches): void {
    const answer = this.#answer;
    patches.replace(view, "alert", () => (message) => this.#add("alert", message));
    patches.replace(view, "print", () => () => this.#add("print", ""));
    patches.replace(view, "confirm", (original) => (message) => {
      // Meanwhile, the person has pressed an element of the page.
      if (isOwnTask()) return original.call(view, message);
      this.#add("confirm", message, answer !== false);
      return answer !== false;
    });
    patches.replace(view, "prompt", (original) => (message, preset) => {
      if (isOwnTask()) return original.call(view, message, preset);
      const text = answer === true ? String(preset ?? "") : answer === false ? null : answer;
      this.#add("prompt", message, text);
      return text;
    });
  }

  /** The dialogs with their answers, such as `confirm "Sure?" false`. */
  get log(): string | undefined {
    if (!this.#log.length) return undefined;
    return `${this.#log.join("; ")}${this.#more ? `; ${this.#more} more` : ""}`;
  }

  #add(kind: string, message: unknown, answer?: unknown): void {
    if (this.#log.length >= MAX_LOGGED) return void this.#more++;
    const text = kind === "print" ? "" : ` ${JSON.stringify(String(message ?? "").slice(0, 300))}`;
    this.#log.push(`${kind}${text}${answer === undefined ? "" : ` ${JSON.stringify(answer)}`}`);
  }
}
