/** Observes changes of the page: of its document, its open shadow roots and its frames. */

import { read } from "../../dom/native.ts";
import { flatElements, frameDocument, isElement, isFrame } from "./flat-tree.ts";
import { documentOf, parentElementOf, rootElementOf, shadowRootOf } from "./native.ts";

/** Attributes that describe the state or content of an element; others describe its look. */
const SAYS_STATE = /^(aria-|data-state$|disabled$|checked$|open$|hidden$|value$|href$|readonly$|required$|selected$|title$|inert$|alt$)/;

export class Mutations {
  readonly #observer: MutationObserver;
  readonly #observed = new WeakSet<Node>();
  readonly #note: ((element: Element) => void) | undefined;
  /** The time of the latest change. */
  lastAt = 0;

  /** Observes a page. `note` is called with changed elements. */
  constructor(root: Element, note?: (element: Element) => void) {
    this.#note = note;
    this.#observer = new MutationObserver((records) => this.#take(records));
    this.#observe(documentOf(root));
    this.#observeInside(rootElementOf(documentOf(root))!);
  }

  /** Reads the changes that were not reported yet. */
  flush(): void {
    const records = this.#observer.takeRecords();
    if (records.length) this.#take(records);
  }

  stop(): void {
    this.#observer.disconnect();
  }

  #observe(node: Node): void {
    if (this.#observed.has(node)) return;
    this.#observed.add(node);
    this.#observer.observe(node, { subtree: true, childList: true, characterData: true, attributes: true });
  }

  #observeInside(root: Element): void {
    for (const element of flatElements(root)) {
      const shadowRoot = shadowRootOf(element);
      if (shadowRoot) this.#observe(shadowRoot);
      const inner = isFrame(element) ? frameDocument(element) : undefined;
      if (inner) this.#observe(inner);
    }
  }

  #take(records: MutationRecord[]): void {
    this.lastAt = performance.now();
    for (const { type, target, attributeName, addedNodes } of records) {
      for (const node of addedNodes) if (isElement(node)) this.#observeInside(node);
      if (!this.#note || (type === "attributes" && !SAYS_STATE.test(attributeName ?? ""))) continue;
      const element = isElement(target) ? target : (read(target as ShadowRoot, "host") ?? parentElementOf(target));
      if (element) this.#note(element);
    }
  }
}
