/** Renders the texts of answers: as markdown once its module is loaded, and as plain text before that or without it. */

import { visibleText } from "../text/visible-text.ts";
import type { MarkdownStrings, MarkdownView } from "../mcp-web-ask-markdown.ts";

/** Shows a growing text. */
export type RenderText = (text: string) => void;

interface MarkdownModule {
  MarkdownView: typeof MarkdownView;
}

/** The module, for all elements of the page. */
let loading: Promise<MarkdownModule | undefined> | undefined;

/** Loads the module. A page without it shows answers as plain text. */
function loadMarkdown(): Promise<MarkdownModule | undefined> {
  return (loading ??= import("../mcp-web-ask-markdown.ts").catch((error) => {
    console.warn("mcp-web: answers are shown as plain text, because mcp-web-ask-markdown.js could not be loaded", error);
    return undefined;
  }));
}

export class TextRenderer {
  readonly #strings: MarkdownStrings;
  readonly #isPlain: boolean;
  #module: MarkdownModule | undefined;

  constructor(strings: MarkdownStrings, isPlain: boolean) {
    this.#strings = strings;
    this.#isPlain = isPlain;
  }

  /**
   * Loads the module for markdown. Call this when a question is sent, so that the module is loaded before the answer
   * arrives.
   */
  async prepare(): Promise<void> {
    if (!this.#isPlain) this.#module = await loadMarkdown();
  }

  /** Returns a function that shows the text of a block in an element. */
  create(element: HTMLDivElement): RenderText {
    let view: MarkdownView | undefined;
    let latest: string | undefined;
    const render = () => {
      if (!view && this.#module) {
        element.classList.remove("plain");
        view = new this.#module.MarkdownView(element, this.#strings, visibleText);
      }
      if (view) view.show(latest!);
      else {
        element.classList.add("plain");
        element.dir = "auto";
        element.textContent = visibleText(latest!);
      }
    };
    if (!this.#isPlain && !this.#module) void this.prepare().then(() => latest !== undefined && this.#module && render());
    return (text) => {
      if (text === latest) return;
      latest = text;
      render();
    };
  }
}
