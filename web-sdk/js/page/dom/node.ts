/** The parts of a node: its name, its value, its states. */

import {
  getAriaChecked, getAriaDisabled, getAriaExpanded, getAriaInvalid, getAriaLabelledByElements, getAriaLevel, getAriaPressed, getAriaSelected,
  getElementAccessibleDescription, getElementAccessibleErrorMessage, getElementAccessibleName,
} from "ivya/utils";
import type { PageNode } from "../driver.ts";
import { type Kind, hasNameSource, isEditingHost, isJoined, isNamedByContent } from "./classify.ts";
import { is } from "./flat-tree.ts";
import { hasPrivate, publicText, referenced } from "./public-text.ts";
import { valueOf } from "./value.ts";

/** What {@link PageNode} has of an element without its handle and its content. */
export function nodeOf(element: Element, { role, isClickable }: Kind, active: Element | undefined): PageNode {
  const node: PageNode = { role: role || "generic" };
  const put = <Key extends keyof PageNode>(key: Key, value: PageNode[Key] | "" | 0 | undefined) => {
    if (value !== undefined && value !== "" && value !== 0) node[key] = value as PageNode[Key];
  };
  put("name", nameOf(element, role));
  if (role === "heading" || role === "treeitem") put("level", getAriaLevel(element));
  const states = statesOf(element, role);
  if (element === active) states.push("focused");
  if (states.length) node.states = states;
  putDescription(element, node, put);
  const value = hasPrivate([element]) ? undefined : valueOf(element, role);
  if (value !== undefined) node.value = value;
  if (is(element, "select")) node.options = optionsOf(element);
  if (role === "link") put("url", element.getAttribute("href") ?? undefined);
  if (isClickable) node.events = ["onClick"];
  put("id", element.id);
  put("testId", element.getAttribute("data-testid") ?? undefined);
  return node;
}

/** Returns the accessible name. Rows and cells have one only where it is not their content. */
export function nameOf(element: Element, role: string): string {
  if (isJoined(role) && !hasNameSource(element)) return "";
  const naming = namingElements(element);
  if (hasPrivate([element, ...naming])) return element.getAttribute("aria-label")?.trim() || publicText(naming.length ? naming : isNamedByContent(role) ? [element] : []);
  return getElementAccessibleName(element, false) || (is(element, "meter", "progress") ? labelText(element) : "");
}

/** Returns the text of the labels of a bar, which the library does not know. */
function labelText(element: HTMLMeterElement | HTMLProgressElement): string {
  const texts = [...element.labels].flatMap((label) => [...label.childNodes].map((node) => (node.contains(element) ? "" : (node.textContent ?? ""))));
  return texts.join("").replace(/\s+/g, " ").trim();
}

/** More options than a text shows are of no use. */
const MAX_OPTIONS = 100;

function optionsOf({ options }: HTMLSelectElement): { value: string; label: string }[] {
  const shown = [];
  for (let index = 0; index < options.length && index < MAX_OPTIONS; index++) {
    const option = options[index]!;
    shown.push({ value: option.value, label: labelOfOption(option) });
  }
  return shown;
}

export const labelOfOption = (option: HTMLOptionElement): string => option.label || option.text;

/** Returns the elements whose text is the name of another one. */
export function namingElements(element: Element): Element[] {
  const labelledBy = getAriaLabelledByElements(element);
  if (labelledBy?.length) return labelledBy;
  if (element.hasAttribute("aria-label")) return [];
  const title = { fieldset: "legend", figure: "figcaption", table: "caption" }[element.localName];
  const child = title && element.querySelector(`:scope > ${title}`);
  return child ? [child] : [...((element as HTMLInputElement).labels ?? [])];
}

function putDescription(element: Element, node: PageNode, put: (key: "description" | "error", value: string) => void): void {
  const textOf = (attribute: string, read: () => string) => {
    const elements = referenced(element, attribute);
    return hasPrivate(elements) ? publicText(elements) : read();
  };
  const description = textOf("aria-describedby", () => getElementAccessibleDescription(element, false));
  const error = textOf("aria-errormessage", () => getElementAccessibleErrorMessage(element));
  const isInvalid = getAriaInvalid(element) !== "false";
  put("error", error || (isInvalid ? description || "invalid" : ""));
  // A title that is the name already describes nothing.
  if (description !== node.error && description !== node.name) put("description", description);
}

/** Roles that can be required or read-only. */
const isField = (role: string): boolean =>
  ["textbox", "searchbox", "combobox", "spinbutton", "slider", "checkbox", "radio", "radiogroup", "switch", "listbox", "tree", "grid", "treegrid", "gridcell"].includes(role);

function statesOf(element: Element, role: string): string[] {
  const states: string[] = [];
  const add = (state: string, isSo: unknown) => void (isSo && states.push(state));
  if (isField(role)) {
    add("required", isRequired(element));
    add("readonly", isReadOnly(element));
  }
  add("disabled", role && getAriaDisabled(element));
  const checked = getAriaChecked(element);
  add(checked === "mixed" ? "mixed" : "checked", checked);
  add("selected", role === "option" || role === "tab" || role === "row" || role === "treeitem" || role === "gridcell" ? getAriaSelected(element) : false);
  add("pressed", getAriaPressed(element));
  const expanded = expandedState(element);
  add("expanded", expanded === true);
  add("collapsed", expanded === false);
  return states;
}

function expandedState(element: Element): boolean | undefined {
  const { parentElement } = element;
  if (element.localName === "summary" && is(parentElement, "details")) return parentElement.open;
  if (element.localName === "details") return undefined;
  const expanded = getAriaExpanded(element);
  return expanded === "none" ? undefined : expanded;
}

const isRequired = (element: Element): boolean => (element as HTMLInputElement).required === true || element.getAttribute("aria-required") === "true";

/** Whether a field does not take a value now, although it is not disabled. */
export function isReadOnly(element: Element): boolean {
  if (element.getAttribute("aria-readonly") === "true") return true;
  if (is(element, "textarea")) return element.readOnly;
  // The attribute means nothing on other types of `input`.
  return is(element, "input") && element.readOnly && !/^(checkbox|radio|range|color|file|button|submit|reset|image|hidden)$/.test(element.type);
}

/** Whether text can be typed into an element, or a value chosen. */
export const isEditable = (element: Element): boolean => is(element, "textarea", "select") || (is(element, "input") && !/^(button|submit|reset|image|hidden)$/.test(element.type)) || isEditingHost(element);
