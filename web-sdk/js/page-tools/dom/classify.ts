/** Classifies elements for the page's tree: a node with a role, or only a container of its content. */

import { getAriaRole } from "ivya/utils";
import { read } from "../../dom/native.ts";
import { is, isFrame, isUnreadable, viewOf } from "./flat-tree.ts";
import { attributeOf, boxOf, childNodesOf, findElement, hasAttribute, isRendered, localNameOf, parentElementOf } from "./native.ts";
import { hasNoViewport, isScrollable } from "./shown.ts";

/** The facts about an element without its name. */
export interface Kind {
  /** The ARIA role; empty if the element has none. */
  role: string;
  /** Whether it is a node. If not, its content belongs to the element around it. */
  isNode: boolean;
  /** Whether it can be acted on. */
  hasHandle: boolean;
  /** Whether it can be clicked although its role does not imply that. */
  isClickable: boolean;
  /** Whether it has a handle only because all elements with a text have one. */
  isOnlyText?: boolean;
}

/** The properties that the elements around one imply. */
export interface Surroundings {
  /** It is in a control that can be clicked. */
  isInControl: boolean;
  /** The cursor looks clickable around it. */
  isPointer: boolean;
}

/** Roles of elements that can be acted on. */
const CONTROLS = new Set([
  "button", "link", "checkbox", "radio", "switch", "textbox", "searchbox", "combobox", "spinbutton", "slider", "option", "tab",
  "menuitem", "menuitemcheckbox", "menuitemradio", "treeitem",
]);

/** Roles that only describe the look of a text or the location of a part of a table: only their content counts. */
const TRANSPARENT = new Set([
  "", "none", "presentation", "generic", "rowgroup", "strong", "emphasis", "code", "mark", "time", "subscript", "superscript", "caption",
  "suggestion", "separator", "document",
]);

/** Roles that have a meaning only with a name. */
const NAMED = new Set(["img", "group", "figure"]);

/** Roles whose name is their content. */
const NAMED_BY_CONTENT = new Set([
  "button", "checkbox", "heading", "link", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "radio", "switch", "tab", "tooltip",
  "treeitem",
]);

/** Elements with a role that ARIA does not have. */
const OWN_ROLES: Record<string, string> = { video: "video", audio: "audio", iframe: "iframe", frame: "iframe" };

/** Roles whose nodes are joined or repeated, so that their own name would repeat their content. */
const JOINED = new Set(["row", "cell", "gridcell", "columnheader", "rowheader"]);

export const isControlRole = (role: string): boolean => CONTROLS.has(role);
export const isNamedByContent = (role: string): boolean => NAMED_BY_CONTENT.has(role);
export const isJoined = (role: string): boolean => JOINED.has(role);
export const isDialogRole = (role: string): boolean => role === "dialog" || role === "alertdialog";

/** Returns the classification of an element. `style` is its current style. */
export function classify(element: Element, style: CSSStyleDeclaration, around: Surroundings): Kind {
  const role = roleOf(element);
  const isControl = CONTROLS.has(role) || localNameOf(element) === "select" || role in OWN_ROLES;
  const isClickable = !isControl && !around.isInControl && ((style.cursor === "pointer" && !around.isPointer) || hasClickHandler(element)) && !isLabelOfControl(element);
  const hasHandle = isControl || isClickable || canBeUsed(element, style) || isDialogRole(role) || isSortable(element, role);
  const isNode = hasHandle || (!TRANSPARENT.has(role) && (!NAMED.has(role) || hasNameSource(element)));
  return { role, isNode, hasHandle, isClickable };
}

/** Returns the ARIA role of an element, or our own role if ARIA has none; empty if there is none. */
export function roleOf(element: Element): string {
  if (isUnreadable(element)) return is(element, "form") ? "form" : "";
  const role = getAriaRole(element);
  if (role) return role === "none" || role === "presentation" ? "" : role;
  const localName = localNameOf(element);
  if (localName === "summary" && is(parentElementOf(element), "details")) return "button";
  if (isEditingHost(element)) return "textbox";
  return OWN_ROLES[localName] ?? "";
}

/** Returns whether an element is an `input` for any text or a number. */
export const isTextInput = (element: Element): element is HTMLInputElement => is(element, "input") && /^(text|search|url|tel|email|password|number)$/.test(element.type);

/** Returns whether text can be typed into an element that is not a form control. */
export function isEditingHost(element: Element): boolean {
  const editable = attributeOf(element, "contenteditable");
  const parent = parentElementOf(element);
  return editable !== null && editable !== "false" && !(parent && read(parent, "isContentEditable") === true);
}

/** Returns whether an element may have a name, without computing it. */
export function hasNameSource(element: Element): boolean {
  const localName = localNameOf(element);
  if (["aria-label", "aria-labelledby", "title", "alt"].some((name) => attributeOf(element, name)?.trim())) return true;
  if (localName === "svg") return !!findElement(element, ":scope > title");
  return (localName === "fieldset" && !!findElement(element, ":scope > legend")) || (localName === "figure" && !!findElement(element, ":scope > figcaption"));
}

/** Returns whether an element accepts the keyboard, scrolls, or can be dragged. */
function canBeUsed(element: Element, style: CSSStyleDeclaration): boolean {
  const tabIndex = attributeOf(element, "tabindex");
  if (tabIndex !== null && read(element as HTMLElement, "tabIndex") >= 0) return !isFocusGuard(element);
  if (attributeOf(element, "draggable") === "true" || isFrame(element)) return true;
  return !isPageItself(element) && isScrollable(element, style);
}

/** Returns whether a click on a column header sorts by it: ARIA allows `aria-sort` only on such headers. */
export const isSortable = (element: Element, role: string): boolean => role === "columnheader" && hasAttribute(element, "aria-sort");

/** Returns whether an element only catches the focus at the end of a dialog or grid: it is empty and invisible. */
function isFocusGuard(element: Element): boolean {
  if (childNodesOf(element).length || hasNoViewport(viewOf(element))) return false;
  const { width, height } = boxOf(element);
  return width * height === 0;
}

const isPageItself = (element: Element): boolean => /^(body|html)$/.test(localNameOf(element));

const hasClickHandler = (element: Element): boolean => !isPageItself(element) && typeof read(element as HTMLElement, "onclick") === "function" && !isRootOfReact(element);

/** Returns whether React has rendered its app into an element, which gives it a handler without an effect. */
const isRootOfReact = (element: Element): boolean => Object.keys(element).some((name) => name.startsWith("__reactContainer$"));

/** Returns whether an element is the label of a visible control: a click on it is a click on the control. */
const isLabelOfControl = (element: Element): boolean => is(element, "label") && !!element.control && isRendered(element.control);
