/** Nodes during the walk of the page: texts are joined when it is known which of them are names. */

import type { PageNode } from "../driver.ts";
import { isJoined, isNamedByContent } from "./classify.ts";
import { flatParent, is } from "./flat-tree.ts";
import { attributeOf, findElements } from "./native.ts";
import { getStyle } from "./shown.ts";

/** The end of a text, because a block begins or ends. */
export const BREAK = { isBreak: true };

/** A node with its content, in order. */
export interface Draft {
  element: Element;
  node: PageNode;
  children: (Draft | TextPiece | typeof BREAK)[];
  /** Whether elements inside it are only counted. */
  isCut: boolean;
}

/** A text of the page, and the element that contains it. */
interface TextPiece {
  text: string;
  element: Element;
}

/** Returns the node of a draft with its content. With `isInteractive`, without branches that contain no handle. */
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

/** Returns whether a node has no content. An empty cell does have content: its column. */
const isEmpty = ({ role, name, ref, value, children, states }: PageNode): boolean =>
  !name && !ref && value === undefined && !children && !states && role !== "private" && !isJoined(role);

/** Returns whether a text is in an element that names a control. */
function isIn(element: Element, naming: Set<Element>, outermost: Element): boolean {
  if (!naming.size) return false;
  for (let current: Element | undefined = element; current && current !== outermost; current = flatParent(current)) {
    if (naming.has(current)) return true;
  }
  return naming.has(outermost);
}

/** Joins texts as they are displayed: several spaces become one, unless the page preserves them. */
function joinTexts(texts: TextPiece[]): string {
  const text = texts.map((piece) => piece.text).join("");
  if (!text.trim()) return "";
  const isKept = texts.some((piece) => piece.text.includes("\n") && /^(pre|break-spaces)/.test(getStyle(piece.element).whiteSpace));
  return (isKept ? text.replace(/[^\S\n]+$/gm, "").replace(/^\n+/, "") : text.replace(/\s+/g, " ")).trim();
}

/** Returns whether the name of a node contains its text. A sign such as × also counts if the name is longer. */
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
