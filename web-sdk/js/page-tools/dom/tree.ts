/**
 * Reads the page as a tree of roles, names and states, in two steps. First, a walk over the shown elements creates drafts,
 * up to the requested number, and counts the others without names. Then the texts are joined, without those that name
 * controls.
 */

import { read } from "../../dom/native.ts";
import type { PageNode, PageTree, TreeOptions } from "../driver.ts";
import { type Kind, type Surroundings, classify, isDialogRole, isEditingHost } from "./classify.ts";
import { BREAK, type Draft, finishNode } from "./draft.ts";
import { deepActiveElement, flatChildren, frameDocument, isElement, isFrame, isPersonOnly } from "./flat-tree.ts";
import type { Handles } from "./handles.ts";
import { look } from "./look.ts";
import { isBehind, openModal } from "./modal.ts";
import { attributeOf, bodyOf, documentOf, hasAttribute, localNameOf, nodeTypeOf, rootElementOf } from "./native.ts";
import { namingElements, nodeOf } from "./node.ts";
import { isKeptBack } from "./private-content.ts";
import { noteSecret } from "./secret.ts";
import { getStyle, shownPart } from "./shown.ts";
import { inSlices } from "./slices.ts";
import { hidingName } from "./unreadable.ts";
import { editableText } from "./value.ts";

/** Maximum depth of elements: a deeper page is not plausible, and a walk needs stack. */
const MAX_DEPTH = 2_000;

/** Number of elements read in one step. */
const STEP = 16;

/** A longer name is cut in the page's text, so the text that it came from is kept. */
const MAX_NAME = 200;

/** Elements whose content is their value or is drawn by the browser. */
const LEAVES = new Set(["select", "textarea", "input", "video", "audio", "progress", "meter", "object", "canvas"]);

/** Reads a page, or the content of one element. Nothing outside of `visible` is shown. */
export function readTree(root: Element, visible: Element, handles: Handles, options: TreeOptions): PageTree | Promise<PageTree> {
  return inSlices(new Walk(root, handles, options).run(), (run) => look(visible, () => handles.batch(run)));
}

class Walk {
  readonly #root: Element;
  readonly #handles: Handles;
  readonly #options: TreeOptions;
  readonly #active = deepActiveElement();
  /** Elements whose text is the name of a shown control. */
  readonly #naming = new Set<Element>();
  #visited = 0;
  #elements = 0;
  #shown = 0;

  constructor(root: Element, handles: Handles, options: TreeOptions) {
    this.#root = root;
    this.#handles = handles;
    this.#options = options;
  }

  /** Each step reads several elements. */
  *run(): Generator<void, PageTree> {
    const { within } = this.#options;
    const draft: Draft = { element: this.#root, node: { role: "generic" }, children: [], isCut: false };
    const surroundings = { isInControl: false, isPointer: false };
    const hiding = hidingName(rootElementOf(documentOf(this.#root))!);
    if (hiding) draft.children.push({ text: unreadable("page", "an element", hiding), element: this.#root });
    else if (isKeptBack(this.#root)) {
      draft.node = { role: "private" };
      this.#elements = this.#shown = 1;
    } else if (within) {
      yield* this.#visit(this.#root, draft, surroundings, undefined, 0);
      const [only] = draft.children;
      const root = only && "node" in only && draft.children.length === 1 ? only : draft;
      return this.#finish(root);
    } else {
      this.#handles.assign(this.#root, true);
      yield* this.#visitChildren(this.#root, draft, surroundings, openModal(this.#root), 0);
    }
    return this.#finish(draft);
  }

  #finish(draft: Draft): PageTree {
    const root = finishNode(draft, this.#naming, this.#options.interactive ?? false);
    this.#giveHandles(draft);
    // Some nodes turned out to be empty, or only lead to others.
    const shown = countNodes(root) - (root.role === "generic" && !root.ref ? 1 : 0);
    return { root, elements: this.#elements + shown - this.#shown, shown };
  }

  /** Gives handles to containers that were cut, so that `within` can refer to them. */
  #giveHandles(draft: Draft): void {
    for (const child of draft.children) if ("node" in child) this.#giveHandles(child);
    if (draft.isCut && draft.node.role !== "generic") draft.node.ref ??= this.#handles.assign(draft.element);
  }

  /** Reads one element. `parent` is the draft of its parent node; `undefined` if elements are only counted. */
  *#visit(element: Element, parent: Draft | undefined, around: Surroundings, modal: Element | undefined, depth: number): Generator<void> {
    if (++this.#visited % STEP === 0) yield;
    if (isPersonOnly(element)) return;
    const style = getStyle(element);
    const part = shownPart(element, style);
    if (part === "none" || depth > MAX_DEPTH || (modal && isBehind(modal, element))) return;
    const name = localNameOf(element);
    if (name === "br") return void parent?.children.push({ text: "\n", element });
    if (hasAttribute(element, "data-mcp-private")) return this.#add(element, { role: "private" }, parent);
    // From now on its field is known, whatever the page changes.
    if (name === "input") noteSecret(element);
    const hiding = name === "form" && hidingName(element);
    if (hiding) return this.#add(element, { role: "form", name: attributeOf(element, "aria-label") ?? "" }, parent, unreadable("form", "a field", hiding));
    const isPointer = style.cursor === "pointer";
    const kind = part === "all" ? classify(element, style, around) : undefined;
    const shown = kind && this.#options.everyText ? withHandle(kind, element) : kind;
    const draft = shown?.isNode ? this.#draft(element, shown, parent) : parent;
    if (shown?.isNode && parent && !draft) parent.isCut = true;
    const inner = { isInControl: around.isInControl || !!(kind?.hasHandle && !kind.isClickable && isControlOfItself(kind)), isPointer };
    const isBlock = !!draft && draft === parent && !style.display.startsWith("inline") && style.display !== "contents";
    if (isBlock) draft.children.push(BREAK);
    yield* this.#visitInside(element, kind, draft, inner, modal, depth);
    if (isBlock) draft.children.push(BREAK);
  }

  *#visitInside(element: Element, kind: Kind | undefined, draft: Draft | undefined, around: Surroundings, modal: Element | undefined, depth: number): Generator<void> {
    if (LEAVES.has(localNameOf(element))) return;
    // The text of an editable element is its value, and that of a picture is its name.
    if (kind && (isEditingHost(element) || (kind.role === "img" && kind.isNode))) return;
    if (!isFrame(element)) return yield* this.#visitChildren(element, draft, around, modal, depth);
    const inner = frameDocument(element);
    const outermost = inner && rootElementOf(inner);
    const body = inner && bodyOf(inner);
    const hiding = outermost && hidingName(outermost);
    if (hiding) draft?.children.push({ text: unreadable("frame", "an element", hiding), element });
    else if (body) yield* this.#visitChildren(body, draft, { isInControl: false, isPointer: false }, openModal(body), depth);
    else if (draft) (draft.node.states ??= []).push("foreign");
  }

  *#visitChildren(element: Element, draft: Draft | undefined, around: Surroundings, modal: Element | undefined, depth: number): Generator<void> {
    // The page may change them in between.
    const children = Array.from(flatChildren(element));
    for (const child of children) {
      if (isElement(child)) yield* this.#visit(child, draft, around, modal, depth + 1);
      else if (draft && nodeTypeOf(child) === Node.TEXT_NODE && !this.#options.interactive) addText(child as Text, element, draft);
    }
  }

  /** Returns the draft of an element, if it is among the requested ones. */
  #draft(element: Element, kind: Kind, parent: Draft | undefined): Draft | undefined {
    const counts = !this.#options.interactive || kind.hasHandle;
    if (counts) this.#elements++;
    if (!parent || (counts && this.#shown >= this.#options.limit)) return undefined;
    const node = nodeOf(element, kind, this.#active);
    if (kind.hasHandle) node.ref = this.#handles.assign(element, isDialogRole(kind.role) || isFrame(element));
    if (kind.isOnlyText) node.isOnlyText = true;
    if (counts) this.#shown++;
    if (node.name && node.name.length <= MAX_NAME) for (const naming of namingElements(element)) this.#naming.add(naming);
    const draft: Draft = { element, node, children: [], isCut: false };
    parent.children.push(draft);
    return draft;
  }

  #add(element: Element, node: Draft["node"], parent: Draft | undefined, text?: string): void {
    if (this.#options.interactive) return;
    this.#elements++;
    if (!parent) return;
    if (this.#shown >= this.#options.limit) parent.isCut = true;
    else {
      this.#shown++;
      parent.children.push({ element, node, children: text ? [{ text, element }] : [], isCut: false });
    }
  }
}

/** Gives a handle to elements that have a text, or a role. */
function withHandle(kind: Kind, element: Element): Kind {
  const hasText = Array.from(flatChildren(element)).some((child) => nodeTypeOf(child) === Node.TEXT_NODE && read(child as Text, "data").trim());
  return kind.isNode || hasText ? { ...kind, isNode: true, hasHandle: true, isOnlyText: !kind.hasHandle } : kind;
}

/** Returns the note that explains why an element is not shown. */
const unreadable = (what: string, part: string, name: string): string => `This ${what} cannot be read: it has ${part} with the name ${JSON.stringify(name)}.`;

const countNodes = (node: PageNode): number =>
  node.role === "text" ? 0 : (node.children ?? []).reduce((count, child) => count + countNodes(child), 1);

/** Returns whether an element is a control by itself, so that clickable-looking elements inside are only parts of it. */
const isControlOfItself = ({ role }: Kind): boolean => role !== "" && role !== "iframe" && !isDialogRole(role);

function addText(text: Text, element: Element, draft: Draft): void {
  if (!text.data.trim() && !draft.children.length) return;
  if (draft.node.role === "combobox" && draft.node.value === editableText(draft.element)) return;
  if (getStyle(element).visibility === "visible") draft.children.push({ text: text.data, element });
}
