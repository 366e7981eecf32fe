/** Computes the parts of a node: its name, its value, its states. */

import {
  getAriaChecked, getAriaDisabled, getAriaExpanded, getAriaInvalid, getAriaLabelledByElements, getAriaLevel, getAriaPressed, getAriaSelected,
  getElementAccessibleDescription, getElementAccessibleErrorMessage, getElementAccessibleName,
} from "ivya/utils";
import { read } from "../../dom/native.ts";
import type { PageNode } from "../driver.ts";
import { type Kind, hasNameSource, isEditingHost, isJoined, isNamedByContent, isSortable } from "./classify.ts";
import { is, isUnreadable } from "./flat-tree.ts";
import { labelsOf, referenced } from "./labels.ts";
import { attributeOf, childNodesOf, contains, findElement, localNameOf, parentElementOf } from "./native.ts";
import { hasKeptBack } from "./private-content.ts";
import { publicText } from "./public-text.ts";
import { isSecret } from "./secret.ts";
import { listOptions } from "./select-options.ts";
import { valueOf } from "./value.ts";

/** Returns the {@link PageNode} of an element, without its handle and its content. */
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
  const value = valueOf(element, role);
  if (value !== undefined) node.value = value;
  if (is(element, "select")) node.options = listOptions(element);
  if (role === "link") put("url", attributeOf(element, "href") ?? undefined);
  if (isClickable) node.events = ["onClick"];
  put("id", attributeOf(element, "id") ?? undefined);
  put("testId", attributeOf(element, "data-testid") ?? undefined);
  return node;
}

/**
 * Returns the accessible name. Rows and cells have one only if it differs from their content, or if they can be clicked.
 * Hidden elements have one only with `isHidden`.
 */
export function nameOf(element: Element, role: string, isHidden = false): string {
  if (isJoined(role) && !hasNameSource(element) && !isSortable(element, role)) return "";
  if (isUnreadable(element)) return attributeOf(element, "aria-label")?.trim() ?? "";
  const naming = namingGroups(element);
  const content = isNamedByContent(role) || isJoined(role) || localNameOf(element) === "summary" ? [element] : [];
  // A secret is not part of the name of its field, unless the field is named by its content.
  if (hasKeptBack([...naming.flat(), ...content], isSecret(element) && !content.length ? element : undefined)) return publicName(element, naming, content);
  try {
    // An area has no style that would show it.
    return getElementAccessibleName(element, isHidden || is(element, "area")) || (is(element, "meter", "progress") ? labelText(element) : "");
  } catch {
    // The fields of a form hide members that the library needs.
    return publicName(element, naming, content);
  }
}

/** Returns a name without the content that is hidden from AI clients. */
function publicName(element: Element, [labelledBy, ...others]: NamingGroups, content: Element[]): string {
  const given = (name: string) => attributeOf(element, name)?.trim();
  const texts = () => [...others, content].map(publicText).find((text) => text);
  return publicText(labelledBy) || given("aria-label") || texts() || given("title") || given("alt") || given("placeholder") || "";
}

/** Returns the text of the labels of a bar, which the library does not support. */
function labelText(element: HTMLMeterElement | HTMLProgressElement): string {
  const texts = labelsOf(element).flatMap((label) => [...childNodesOf(label)].map((node) => (contains(node, element) ? "" : (read(node, "textContent") ?? ""))));
  return texts.join("").replace(/\s+/g, " ").trim();
}

/** The child element that names an element. */
const TITLES = new Map([["fieldset", "legend"], ["figure", "figcaption"], ["table", "caption"]]);

/** The elements that may name another one. A group is used if the groups before it have no text. */
type NamingGroups = [labelledBy: Element[], titles: Element[], labels: Element[]];

function namingGroups(element: Element): NamingGroups {
  const title = "ownerSVGElement" in element ? "title" : TITLES.get(localNameOf(element));
  const child = title && findElement(element, `:scope > ${title}`);
  return [getAriaLabelledByElements(element) ?? [], child ? [child] : [], labelsOf(element)];
}

/** Returns the elements whose text is the name of another one. */
export function namingElements(element: Element): Element[] {
  const [labelledBy, ...others] = namingGroups(element);
  if (labelledBy.length) return labelledBy;
  return attributeOf(element, "aria-label")?.trim() ? [] : (others.find((group) => group.length) ?? []);
}

function putDescription(element: Element, node: PageNode, put: (key: "description" | "error", value: string) => void): void {
  const textOf = (attribute: string, compute: () => string) => {
    const elements = referenced(element, attribute);
    try {
      return elements.length && hasKeptBack(elements) ? publicText(elements) : compute();
    } catch {
      // The same rule as for a name.
      return publicText(elements);
    }
  };
  const description = textOf("aria-describedby", () => getElementAccessibleDescription(element, false));
  const error = textOf("aria-errormessage", () => getElementAccessibleErrorMessage(element));
  const isInvalid = getAriaInvalid(element) !== "false";
  put("error", error || (isInvalid ? description || "invalid" : ""));
  // A title that is already the name is not a description.
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
  const parent = parentElementOf(element);
  if (is(element, "summary") && is(parent, "details")) return parent.open;
  if (is(element, "details")) return undefined;
  const expanded = getAriaExpanded(element);
  return expanded === "none" ? undefined : expanded;
}

const isRequired = (element: Element): boolean => read(element as HTMLInputElement, "required") === true || attributeOf(element, "aria-required") === "true";

/** Returns whether a field cannot be changed, although it is not disabled. */
export function isReadOnly(element: Element): boolean {
  if (attributeOf(element, "aria-readonly") === "true") return true;
  if (is(element, "textarea")) return element.readOnly;
  // The attribute has no meaning on other types of `input`.
  return is(element, "input") && element.readOnly && !/^(checkbox|radio|range|color|file|button|submit|reset|image|hidden)$/.test(element.type);
}

/** Returns whether text can be typed into an element, or a value chosen. */
export const isEditable = (element: Element): boolean => is(element, "textarea", "select") || (is(element, "input") && !/^(button|submit|reset|image|hidden)$/.test(element.type)) || isEditingHost(element);
