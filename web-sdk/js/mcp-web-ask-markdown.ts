/**
 * Renders the markdown of an answer. Loaded with the first answer of `<mcp-web-ask>`.
 *
 * A model may be manipulated to write an attacker's text, so answers are not trusted. HTML is shown as text. Links are
 * limited to web, mail and telephone. Pictures become links unless the answer contains their data, because loading them
 * would send knowledge of the model as a part of their addresses.
 */

import createPurifier, { type WindowLike } from "dompurify";
import { Marked, type Token, type TokensList } from "marked";
import { invoke, read, write } from "./dom/native.ts";

/** The elements of rendered markdown. All others are removed. */
const TAGS = (
  "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr img li ol p pre strong table tbody td th thead tr ul"
).split(" ");
const ATTRIBUTES = ["align", "alt", "href", "src", "start", "title"];
/** Addresses with these schemes, and relative ones. */
const ADDRESSES = /^(?:(?:https?|mailto|tel):|[^a-z]|[a-z+.-]+(?:[^a-z+.:-]|$))/i;

/** The texts of the renderer. */
export interface MarkdownStrings {
  image(text: string): string;
}

/** A block of the text, such as a paragraph or a list, and its elements. */
interface RenderedBlock {
  source: string;
  nodes: ChildNode[];
}

const escape = (text: string): string => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

/** Renders a growing text into an element: only changed blocks are rendered again. */
export class MarkdownView {
  readonly #element: HTMLDivElement;
  readonly #marked: Marked;
  readonly #visibleText: (text: string) => string;
  #blocks: RenderedBlock[] = [];
  #links = "{}";

  /** `visibleText` makes invisible characters visible. */
  constructor(element: HTMLDivElement, strings: MarkdownStrings, visibleText: (text: string) => string) {
    this.#element = element;
    this.#visibleText = visibleText;
    this.#marked = new Marked({
      gfm: true,
      renderer: {
        html: ({ text }) => (/^<br\s*\/?>\s*$/i.test(text) ? "<br>" : escape(text)),
        checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
        image({ href, text }) {
          if (isPictureData(href)) return false;
          return `<a href="${escape(href)}">${escape(strings.image(text || href))}</a>`;
        },
      },
    });
    element.replaceChildren();
  }

  show(text: string): void {
    const tokens = this.#marked.lexer(text);
    // A link may be defined in another block than the one that uses it.
    const links = JSON.stringify(tokens.links);
    const sources = tokens.map(({ raw }) => raw);
    let same = 0;
    if (links === this.#links) while (same < sources.length && sources[same] === this.#blocks[same]?.source) same++;
    for (const { nodes } of this.#blocks.splice(same)) for (const node of nodes) invoke(node, "remove");
    for (const token of tokens.slice(same)) {
      const nodes = this.#render(token, tokens.links);
      this.#element.append(...nodes);
      this.#blocks.push({ source: token.raw, nodes });
    }
    this.#links = links;
  }

  #render(token: Token, links: TokensList["links"]): ChildNode[] {
    const html = this.#marked.parser(Object.assign([token], { links }));
    const fragment = sanitize(html);
    // Applied to the rendered text, because markdown may contain characters as entities.
    const walker = invoke(document, "createTreeWalker", fragment, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) write(walker.currentNode, "nodeValue", this.#visibleText(read(walker.currentNode, "nodeValue")!));
    for (const name of ["alt", "title"]) {
      for (const element of fragment.querySelectorAll(`[${name}]`)) invoke(element, "setAttribute", name, this.#visibleText(invoke(element, "getAttribute", name)!));
    }
    return [...fragment.childNodes];
  }
}

/** The purifier; created once. */
let purifier: ReturnType<typeof createPurifier> | undefined;

function sanitize(html: string): DocumentFragment {
  if (!purifier) {
    const { DocumentFragment, HTMLTemplateElement, Node, Element, NodeFilter, NamedNodeMap, HTMLFormElement, DOMParser, trustedTypes }: WindowLike = window;
    // An empty document, because elements of the page could hide properties of its document from the purifier.
    const ofDocument = invoke(read(document, "implementation"), "createHTMLDocument", "");
    purifier = createPurifier({ DocumentFragment, HTMLTemplateElement, Node, Element, NodeFilter, NamedNodeMap, HTMLFormElement, DOMParser, trustedTypes, document: ofDocument });
    purifier.addHook("afterSanitizeAttributes", (element) => completeElement(element));
  }
  return purifier.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOWED_URI_REGEXP: ADDRESSES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
}

/** Adds the attributes that keep the page safe and the text readable. */
function completeElement(element: Element): void {
  if (element instanceof HTMLAnchorElement && element.hasAttribute("href")) {
    element.rel = "noopener noreferrer nofollow";
    // A link to another site must not replace the app.
    if (!isOfThisSite(element.getAttribute("href")!)) element.target = "_blank";
  }
  if (element instanceof HTMLImageElement) {
    if (!isPictureData(element.getAttribute("src") ?? "")) element.removeAttribute("src");
  }
  // Code is written from left to right, whatever the language of the page.
  const name = read(element, "localName");
  if (name === "pre") {
    invoke(element, "setAttribute", "dir", "ltr");
    invoke(element, "setAttribute", "tabindex", "0");
  } else if (/^(p|h\d|ul|ol|table|blockquote)$/.test(name)) invoke(element, "setAttribute", "dir", "auto");
}

/** Returns whether the address contains the picture itself. An address of this site may also redirect to another one. */
const isPictureData = (address: string): boolean => /^data:image\//i.test(address);

function isOfThisSite(address: string): boolean {
  try {
    return new URL(address, read(document, "baseURI")).origin === location.origin;
  } catch {
    return false;
  }
}
