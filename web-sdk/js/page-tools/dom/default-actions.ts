/**
 * The elements that the browser itself affects when an element is used: its default actions, as HTML, DOM and UI Events
 * define them. All rules about permitted actions concern these elements. Listeners of the app may react to an event in any
 * way; the rules do not cover that.
 */

import { invoke, read } from "../../dom/native.ts";
import { flatAncestors, flatClosest, flatElements, frameDocument, is, isElement, isFrame, isPersonOnly } from "./flat-tree.ts";
import type { Held } from "./key-names.ts";
import { attributeOf, documentOf, elementById, elementsOf, findElement, findElements, hasAttribute, isRendered, matches, parentElementOf, rootElementOf, rootNodeOf, shadowRootOf, windowOf } from "./native.ts";
import { type AffectedElement, isForbidden } from "./permission.ts";

type Some = Element | null | undefined | false;

/** Returns elements as changed ones. */
export const changed = (...elements: Some[]): AffectedElement[] => elements.flatMap((element) => (element ? [{ element }] : []));

/** Returns an element as a used one. */
export const used = (element: Element): AffectedElement => ({ element, isUsed: true });

/** Returns the elements that a click on an element affects: an icon activates the button that contains it. */
export const effectsOfClick = (element: Element): AffectedElement[] => [...changed(element), ...activatedBy(element).flatMap(effectsOfActivation)];

/**
 * Returns the elements that a click on an element activates: the nearest one that can be activated, and the links and
 * buttons around it.
 */
function activatedBy(element: Element): Element[] {
  const [nearest, ...others] = [...flatAncestors(element)].filter(isActivatable);
  // A label and a summary leave a click to the controls inside them.
  return nearest ? [nearest, ...others.filter((one) => !is(one, "label", "summary"))] : [];
}

/** Returns whether the browser reacts to a click on an element (DOM, "activation behavior"). */
const isActivatable = (element: Element): boolean => is(element, "label", "input") || isButton(element);

function effectsOfActivation(element: Element): AffectedElement[] {
  if (is(element, "label")) {
    const { control } = element;
    return [...changed(element), ...(control ? [used(control), ...effectsOfFocus(control), ...effectsOfActivation(control)] : [])];
  }
  if (is(element, "summary")) return [used(element), ...effectsOfToggle(parentElementOf(element))];
  if (is(element, "a", "area")) return [used(element), ...framesNamed(attributeOf(element, "target"), element)];
  if (!is(element, "button", "input")) return [];
  const { form } = element;
  const own = [used(element), ...effectsOfCommand(element)];
  if (form && isSubmitButton(element)) return [...own, ...effectsOfSubmit(form, element)];
  if (form && element.type === "reset") return [...own, ...effectsOfReset(form)];
  return is(element, "input") && element.type === "radio" ? [...own, ...changed(...radiosOf(element))] : own;
}

/** Returns whether Enter and Space click an element. */
export const isButton = (element: Element): boolean =>
  is(element, "button", "summary") || matches(element, ":any-link") || (is(element, "input") && /^(button|submit|reset|image)$/.test(element.type));

/** Returns whether Space clicks an element. */
export const isBox = (element: Element): element is HTMLInputElement => is(element, "input") && /^(checkbox|radio)$/.test(element.type);

/** Returns whether a click on an element submits its form. */
const isSubmitButton = (element: Element): element is HTMLButtonElement | HTMLInputElement =>
  (is(element, "button") && element.type === "submit") || (is(element, "input") && /^(submit|image)$/.test(element.type));

/** Returns the button that Enter in a single-line field presses. */
export function submitButtonOf(field: Element): HTMLButtonElement | HTMLInputElement | undefined {
  if (!is(field, "input") || isButton(field) || field.type === "file") return undefined;
  return field.form ? submitButtonsOf(field.form)[0] : undefined;
}

/** Returns the buttons that submit a form. The list of its elements does not contain image buttons. */
const submitButtonsOf = (form: HTMLFormElement): HTMLInputElement[] =>
  (inTree(form, "button, input[type=submit], input[type=image]") as HTMLInputElement[]).filter((one) => one.form === form && isSubmitButton(one));

/** Returns the radio buttons of a group. */
export const radiosOf = (element: HTMLInputElement): HTMLInputElement[] =>
  (inTree(element, "input[type=radio]") as HTMLInputElement[]).filter((one) => one === element || (element.name && one.name === element.name && one.form === element.form));

/** Returns the radio button that an arrow key selects. */
export function radioAfter(element: HTMLInputElement, key: string): HTMLInputElement | undefined {
  const radios = radiosOf(element).filter((one) => !one.disabled && !effectsOfClick(one).some(isForbidden));
  const step = /^Arrow(Right|Down)$/.test(key) ? 1 : -1;
  return radios[(radios.indexOf(element) + step + radios.length) % radios.length];
}

/** Among those with one name, the open one is closed. */
function effectsOfToggle(details: Element | null): AffectedElement[] {
  const name = details && attributeOf(details, "name");
  return changed(details, ...(name ? inTree(details, "details[open]").filter((one) => attributeOf(one, "name") === name) : []));
}

/**
 * Returns the elements that the submission of a form affects, including the dialog that it closes, and the first invalid
 * field, which gets the focus. Without a submitter, the app is asked about the button with which a person would submit it.
 */
export function effectsOfSubmit(form: HTMLFormElement, submitter?: Element): AffectedElement[] {
  const given = (name: string) => (submitter && attributeOf(submitter, `form${name}`)) ?? attributeOf(form, name);
  const isChecked = !hasAttribute(form, "novalidate") && !(submitter && hasAttribute(submitter, "formnovalidate"));
  const dialog = given("method")?.toLowerCase() === "dialog" && flatClosest(form, (one) => is(one, "dialog"));
  const buttons = submitButtonsOf(form);
  const users = submitter ? [submitter] : [form, ...buttons.slice(0, 1)];
  // A form that only the person may submit must not be submitted by another button.
  const personal = buttons.filter((one) => flatClosest(one, isPersonOnly));
  return [...users.map(used), ...changed(form, ...(isChecked ? invalidFieldsOf(form) : []), dialog, ...personal), ...framesNamed(given("target"), form)];
}

/**
 * Returns the invalid fields that prevent the submission of a form, up to the one that gets the focus: the first visible
 * one.
 */
function invalidFieldsOf(form: HTMLFormElement): Element[] {
  if (!matches(form, ":invalid")) return [];
  const fields = [...elementsOf(form)].filter((one) => !is(one, "fieldset") && matches(one, ":invalid"));
  const focused = fields.findIndex((one) => isRendered(one));
  return fields.slice(0, focused === -1 ? undefined : focused + 1);
}

/**
 * Returns the elements that the reset of a form affects. Without a button, the app is asked about the one that a person
 * would use.
 */
export function effectsOfReset(form: HTMLFormElement): AffectedElement[] {
  const elements = [...elementsOf(form)];
  const button = elements.find((one) => is(one, "button", "input") && one.type === "reset");
  return [form, ...(button ? [button] : [])].map(used).concat(changed(...elements));
}

/** Returns the elements that a button opens, closes or commands. */
function effectsOfCommand(button: HTMLButtonElement | HTMLInputElement): AffectedElement[] {
  const named = ["popovertarget", "commandfor"].map((name) => elementById(rootNodeOf(button), attributeOf(button, name) ?? ""));
  const { popoverTargetElement, commandForElement } = button as { popoverTargetElement?: Element | null; commandForElement?: Element | null };
  return [...new Set([...named, popoverTargetElement, commandForElement])].flatMap((one) => (one ? [used(one), ...effectsOfShowing(one)] : []));
}

/**
 * Returns the elements that are affected when a dialog or a popover is shown or hidden: others are dismissed, and an
 * element inside may get the focus.
 */
export function effectsOfShowing(element: Element): AffectedElement[] {
  const around = new Set(flatAncestors(element));
  const dismissed = inDocument(element, ":popover-open").filter((one) => !around.has(one) && attributeOf(one, "popover") !== "manual");
  return changed(element, ...dismissed, !matches(element, "[open], :popover-open") && focusedInside(element));
}

function focusedInside(element: Element): Element | undefined {
  const inside = [...flatElements(element, true)];
  return inside.find((one) => hasAttribute(one, "autofocus")) ?? (is(element, "dialog") ? inside.find(isStop) : undefined);
}

const isStop = (element: Element): boolean => read(element as HTMLElement, "tabIndex") >= 0 && !matches(element, ":disabled, input[type=hidden]");

/**
 * Returns the elements that are affected when an element gets the focus: a label passes it to its control, and a shadow
 * root may pass it to an element inside.
 */
export function effectsOfFocus(element: Element): AffectedElement[] {
  if (is(element, "label")) return changed(element, element.control);
  const isDelegating = shadowRootOf(element)?.delegatesFocus;
  return changed(element, isDelegating && [...flatElements(element, true)].find((one) => one !== element && isStop(one)));
}

/**
 * Returns the elements that are affected when an element receives a key. Without a focused element, the page itself
 * receives keys. A key with Alt does not press an `accesskey`: only a person's key does.
 */
export function effectsOfKey(element: Element, key: string, held: Held): AffectedElement[] {
  const own = changed(...(is(element, "body") && !isEditor(element) ? [] : [element]));
  if (key === "Escape") return [...own, ...changed(topOf(element))];
  if (isEditor(element)) return [...own, ...effectsOfEdit(element, key, held)];
  if (held.ctrlKey || held.metaKey || held.altKey) return own;
  if (key === "Enter" && is(element, "input") && !isButton(element)) return [...own, ...effectsOfEnter(element)];
  if (/^Arrow/.test(key) && is(element, "input") && element.type === "radio") {
    const next = radioAfter(element, key);
    return next ? [...own, ...effectsOfClick(next)] : own;
  }
  return /^(Enter| )$/.test(key) && (isButton(element) || isBox(element)) ? [...own, ...effectsOfClick(element)] : own;
}

/** Returns whether an element is edited as a document: it is `contenteditable`, or inside such an element. */
export const isEditor = (element: Element): boolean => !is(element, "input", "textarea") && read(element as HTMLElement, "isContentEditable") === true;

function effectsOfEnter(field: HTMLInputElement): AffectedElement[] {
  const button = submitButtonOf(field);
  if (button) return button.disabled ? [] : effectsOfClick(button);
  return field.form ? effectsOfSubmit(field.form) : [];
}

/** Keys that do not change an editor's content. */
const MOVES = /^(Arrow(Up|Down|Left|Right)|Home|End|Page(Up|Down)|Tab|Shift|Control|Alt|Meta)$/;

/** Returns the content that a key changes in an editor: the selection, or the content beside the caret. */
function effectsOfEdit(editor: Element, key: string, { ctrlKey, metaKey }: Held): AffectedElement[] {
  if (MOVES.test(key) || ((ctrlKey || metaKey) && /^[ac]$/i.test(key))) return [];
  const selection = invoke(documentOf(editor), "getSelection");
  const range = selection?.rangeCount ? selection.getRangeAt(0) : undefined;
  if (!range || (range.collapsed && /^(Backspace|Delete)$/.test(key))) return [{ element: editor, isWhole: true }];
  const { commonAncestorContainer: around, collapsed } = range;
  const selected = collapsed ? [] : [...flatElements(editor, true)].filter((one) => range.intersectsNode(one));
  return changed(isElement(around) ? around : parentElementOf(around), ...selected);
}

/** Returns the dialog or the popover that Escape closes: the front one. */
export function topOf(element: Element): HTMLElement | undefined {
  const popover = inDocument(element, "[popover]:popover-open").at(-1);
  return (popover && attributeOf(popover, "popover") !== "manual" ? popover : inDocument(element, "dialog:modal").at(-1)) as HTMLElement | undefined;
}

/** Returns the frames that a link or a form with a target loads. */
function framesNamed(target: string | null | undefined, element: Element): AffectedElement[] {
  const base = findElement(documentOf(element), "base[target]");
  const name = target || (base && attributeOf(base, "target"));
  return name ? changed(...[...flatElements(rootElementOf(document)!, true)].filter((one) => namesOfFrame(one).includes(name))) : [];
}

/** Returns the names of the window in an element: that of its attribute, and one that a script has set. */
function namesOfFrame(element: Element): (string | null | undefined)[] {
  if (!isFrame(element) && !is(element, "object", "embed")) return [];
  const inner = frameDocument(element as HTMLIFrameElement);
  return [attributeOf(element, "name"), inner && windowOf(inner)?.name];
}

/** Returns the elements of the document or shadow root that an element is in. */
const inTree = (element: Element, selector: string): Element[] => [...findElements(rootNodeOf(element) as ParentNode, selector)];

/** Returns the elements of the document of an element, including those in shadow roots. */
const inDocument = (element: Element, selector: string): Element[] =>
  [...flatElements(rootElementOf(documentOf(element))!, true)].filter((one) => documentOf(one) === documentOf(element) && matches(one, selector));
