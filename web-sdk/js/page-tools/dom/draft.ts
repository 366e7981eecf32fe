/** Nodes while the page is walked: texts are joined when it is known which of them are names. */

import type { PageNode } from "../driver.ts";
import { isJoined, isNamedByContent } from "./classify.ts";
import { flatParent, is } from "./flat-tree.ts";
import { attributeOf, findElements } from "./native.ts";
import { getStyle } from "./shown.ts";

/** Where a text ends because a block begins or ends. */
export const BREAK = { isBreak: true };

/** A node, and what is inside it, in order. */
export interface Draft {
  element: Element;
  node: PageNode;
  children: (Draft | TextPiece | typeof BREAK)[];
  /** Whether there are elements inside it that are only counted. */
  isCut: boolean;
}

/** A text as it is in the page, and what it is in. */
interface TextPiece {
  text: string;
  element: Element;
}

/** Returns the node of a draft, with what is inside it. With `isInteractive`, without what leads to nothing that has a handle. */
export function finishNode(draft: Draft, naming: Set<Element>, isInteractive: boolean): PageNode {
  const { node } = draft;
  const children: PageNode[] = [];
  let texts: TextPiece[] = [];
  const flush = () => {
    const text = joinTexts(texts);
    if (text && !isSaid(text, node)) children.push({ role: "text", text });
    texts = [];
  };
  for (const child of draft.children) {
    if ("text" in child) {
      if (!isIn(child.element, naming, draft.element)) texts.push(child);
      continue;
    }
    flush();
    if (!("node" in child)) continue;
    const inner = finishNode(child, naming, isInteractive);
    if (isInteractive ? inner.ref || inner.children : !isEmpty(inner)) children.push(inner);
  }
  flush();
  if (children.length) node.children = children;
  if (/^(table|grid|treegrid)$/.test(node.role)) node.rows = { shown: countRows(node), total: totalRows(draft.element) };
  return node;
}

/** Whether a node says nothing. An empty cell does: it has a column. */
const isEmpty = ({ role, name, ref, value, children, states }: PageNode): boolean =>
  !name && !ref && value === undefined && !children && !states && role !== "private" && !isJoined(role);

/** Whether a text is in an element that names a control. */
function isIn(element: Element, naming: Set<Element>, outermost: Element): boolean {
  if (!naming.size) return false;
  for (let current: Element | undefined = element; current && current !== outermost; current = flatParent(current)) {
    if (naming.has(current)) return true;
  }
  return naming.has(outermost);
}

/** Joins texts as they are shown: spaces are one, but where the page keeps them. */
function joinTexts(texts: TextPiece[]): string {
  const text = texts.map((piece) => piece.text).join("");
  if (!text.trim()) return "";
  const isKept = texts.some((piece) => piece.text.includes("\n") && /^(pre|break-spaces)/.test(getStyle(piece.element).whiteSpace));
  return (isKept ? text.replace(/[^\S\n]+$/gm, "").replace(/^\n+/, "") : text.replace(/\s+/g, " ")).trim();
}

/** Whether the name of a node says what the text in it says: or it is a sign, such as ×, where a name says more. */
function isSaid(text: string, { role, name }: PageNode): boolean {
  if (!name || !isNamedByContent(role)) return false;
  return !/[\p{L}\p{N}]/u.test(text) || name.replace(/\s+/g, "").includes(text.replace(/\s+/g, ""));
}

function countRows(node: PageNode): number {
  let rows = 0;
  for (const child of node.children ?? []) rows += child.role === "row" ? 1 : countRows(child);
  return rows;
}

function totalRows(element: Element): number {
  const given = Number(attributeOf(element, "aria-rowcount"));
  if (given > 0) return given;
  return is(element, "table") ? element.rows.length : findElements(element, "[role=row], tr").length;
}
