/** Texts as they are displayed, without content that the page hides from AI clients. */

import { read } from "../../dom/native.ts";
import { flatChildren, isElement } from "./flat-tree.ts";
import { localNameOf, nodeTypeOf } from "./native.ts";
import { isKeptBack } from "./private-content.ts";
import { isSecret } from "./secret.ts";
import { getStyle, isMarkedPrivate, shownPart } from "./shown.ts";

/** Returns the text of elements as one line. */
export function publicText(elements: Iterable<Element>): string {
  const texts = [...elements].filter((element) => !isKeptBack(element) && !isSecret(element)).map((element) => new Lines(/^(inline|contents)$/).read(element));
  return texts.join(" ").replace(/\s+/g, " ").trim();
}

/** Returns the text of an element with its lines, including empty ones. */
export const publicLines = (element: Element): string => new Lines(/^(inline|contents)/).read(element).trim();

/** The lines of a text during the walk of its elements. */
class Lines {
  /** The values of `display` that do not end the line before an element. */
  readonly #inline: RegExp;
  #text = "";
  /** Whether the current line has content. */
  #isBegun = false;

  constructor(inline: RegExp) {
    this.#inline = inline;
  }

  read(element: Element): string {
    this.#add(element);
    return this.#text.replaceAll("\u00a0", " ");
  }

  #add(element: Element): void {
    const name = localNameOf(element);
    if (name === "br") return this.#endLine(true);
    // The content of a control is not text.
    if (isMarkedPrivate(element) || /^(select|textarea)$/.test(name)) return;
    const style = getStyle(element);
    if (shownPart(element, style) === "none") return;
    const isBlock = !this.#inline.test(style.display);
    if (isBlock) this.#endLine(false);
    this.#addChildren(element, style);
    if (isBlock) this.#endLine(false);
  }

  #addChildren(element: Element, style: CSSStyleDeclaration): void {
    const children = flatChildren(element);
    const isKept = /^(pre|break-spaces)/.test(style.whiteSpace);
    for (let index = 0; index < children.length; index++) {
      const child = children[index]!;
      if (isElement(child)) isSecret(child) || this.#add(child);
      else if (nodeTypeOf(child) === Node.TEXT_NODE && style.visibility === "visible") this.#write(read(child as Text, "data"), isKept);
    }
  }

  #write(text: string, isKept: boolean): void {
    // AI clients do not get these characters, and editors put some of them into empty lines.
    const shown = text.replace(/[^\P{Default_Ignorable_Code_Point}\u200c\u200d\ufe0e\ufe0f]/gu, "");
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

  /** Ends a line. The end of a block ends the line of its content, and adds none. */
  #endLine(isForced: boolean): void {
    if (!isForced && !this.#isBegun) return;
    if (this.#text.endsWith(" ")) this.#text = this.#text.slice(0, -1);
    this.#text += "\n";
    this.#isBegun = false;
  }
}
