/** Texts as they are shown, without what the page keeps from AI clients. */

import { flatChildren, isElement } from "./flat-tree.ts";
import { attributeOf, hasAttribute, localNameOf, nodeTypeOf } from "./native.ts";
import { isKeptBack } from "./private-content.ts";
import { getStyle, shownPart } from "./shown.ts";
import { hidingField } from "./unreadable.ts";

/** Controls, whose content is no text. */
const CONTROLS = new Set(["input", "textarea", "select"]);

/** What a text is for: in a name, an element with a label and a picture are what they are called. */
type Purpose = "text" | "name" | "lines";

/** Returns the text of elements in one line. */
export function publicText(elements: Iterable<Element>, purpose: Purpose = "text"): string {
  const texts = [...elements].filter((element) => !isKeptBack(element)).map((element) => new Lines(purpose).read(element));
  return texts.join(" ").replace(/\s+/g, " ").trim();
}

/** Returns the text of an element, lines as lines: also those that are empty. */
export const publicLines = (element: Element): string => new Lines("lines").read(element).trim();

/** The lines of a text while its elements are walked. */
class Lines {
  readonly #purpose: Purpose;
  #text = "";
  /** Whether the line that is written has begun. */
  #isBegun = false;

  constructor(purpose: Purpose) {
    this.#purpose = purpose;
  }

  read(element: Element): string {
    this.#add(element);
    return this.#text.replaceAll("\u00a0", " ");
  }

  #add(element: Element): void {
    const name = localNameOf(element);
    if (name === "br") return this.#endLine(true);
    if (hasAttribute(element, "data-mcp-private") || CONTROLS.has(name) || hidingField(element)) return;
    const style = getStyle(element);
    if (shownPart(element, style) === "none") return;
    const { display } = style;
    const isBlock = !/^(inline|contents|table-cell|ruby)/.test(display);
    const isWord = !isBlock && (display === "table-cell" || (this.#purpose !== "lines" && display !== "inline" && display !== "contents"));
    if (isBlock) this.#endLine(false);
    else if (isWord) this.#text += " ";
    const label = this.#purpose === "name" && (attributeOf(element, "aria-label") ?? (name === "img" ? attributeOf(element, "alt") : undefined));
    if (label) this.#write(label, false);
    else this.#addChildren(element, style);
    if (isBlock) this.#endLine(false);
    else if (isWord) this.#text += " ";
  }

  #addChildren(element: Element, style: CSSStyleDeclaration): void {
    const children = flatChildren(element);
    const isKept = /^(pre|break-spaces)/.test(style.whiteSpace);
    for (let index = 0; index < children.length; index++) {
      const child = children[index]!;
      if (isElement(child)) this.#add(child);
      else if (nodeTypeOf(child) === Node.TEXT_NODE && style.visibility === "visible") this.#write((child as Text).data, isKept);
    }
  }

  #write(text: string, isKept: boolean): void {
    // Editors put characters without a width into lines that are empty.
    const shown = text.replace(/[\u200b\ufeff]/g, "");
    if (!isKept) return this.#writeWords(shown.replace(/[ \t\r\n\f]+/g, " "));
    for (const [index, line] of shown.split("\n").entries()) {
      if (index > 0) this.#endLine(true);
      if (line) this.#writeWords(line, true);
    }
  }

  #writeWords(text: string, isKept = false): void {
    const words = !isKept && (!this.#isBegun || this.#text.endsWith(" ")) ? text.replace(/^ /, "") : text;
    if (!words) return;
    this.#text += words;
    this.#isBegun = true;
  }

  /** Ends a line. A block that ends, ends the line of what is in it, and adds none. */
  #endLine(isForced: boolean): void {
    if (!isForced && !this.#isBegun) return;
    if (this.#text.endsWith(" ")) this.#text = this.#text.slice(0, -1);
    this.#text += "\n";
    this.#isBegun = false;
  }
}
