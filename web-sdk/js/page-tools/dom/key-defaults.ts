/** The default actions of keys, which the browser performs for a person but not for a script. */

import { invoke, read } from "../../dom/native.ts";
import { effectsOfClick, effectsOfFocus, isBox, isButton, radioAfter, radiosOf, topOf } from "./default-actions.ts";
import { dispatch } from "./dispatch.ts";
import { edit } from "./editable.ts";
import { flatClosest, flatElements, is, viewOf } from "./flat-tree.ts";
import { focusElement, isFocusable } from "./focus.ts";
import { isForbidden, refuseForbidden } from "./permission.ts";
import type { Held } from "./key-names.ts";
import { hasAttribute, localNameOf, matches, rootElementOf } from "./native.ts";
import { publicOptions } from "./select-options.ts";
import { deleteText, insertText, isTextField, moveCaret } from "./typing.ts";
import { submit } from "./submit.ts";

/** Performs the default action of `keydown`. */
export function keyDown(element: Element, key: string, held: Held): void {
  const isCommand = held.ctrlKey || held.metaKey;
  if (key === "Tab") return moveFocus(element, held.shiftKey);
  if (key === "Escape") return closeTop(element);
  if (isTextField(element)) {
    if (isCommand && key.toLowerCase() === "a") return moveCaret(element, "all");
    if (isCommand || held.altKey) return;
    if (key === "Enter") return enterInField(element, held);
    if (key === "Backspace" || key === "Delete") return deleteText(element, key === "Delete");
    if ([...key].length === 1) return insertText(element, key);
    if (is(element, "input") && element.type === "number" && /^Arrow(Up|Down)$/.test(key)) return step(element, key === "ArrowUp");
    return moveCaret(element, key);
  }
  if (isCommand || held.altKey) return;
  if (key === "Enter") {
    if (isButton(element)) clickByKey(element);
    else if (is(element, "input")) submit(element);
  } else if (/^Arrow/.test(key)) moveInControl(element, key);
}

/** Performs the default action of `keyup`. */
export function keyUp(element: Element, key: string, held: Held): void {
  if (key !== " " || held.ctrlKey || held.metaKey || held.altKey) return;
  if (isBox(element) || (isButton(element) && !is(element, "a", "area"))) clickByKey(element);
}

function clickByKey(element: Element): void {
  refuseForbidden(effectsOfClick(element));
  // A link of an SVG has no method for it.
  if (read(element as HTMLElement, "click")) invoke(element as HTMLElement, "click");
  else dispatch(element, "click");
}

function enterInField(element: Element, { shiftKey }: Held): void {
  if (is(element, "input")) {
    submit(element);
  } else if (is(element, "textarea")) insertText(element, "\n");
  else if (shiftKey) edit(element, "insertLineBreak", "insertLineBreak");
  else edit(element, "insertParagraph", "insertParagraph");
}

/** Moves the focus to the next or previous element that can have it and may be used. */
function moveFocus(element: Element, isBack: boolean): void {
  const tabIndexOf = (one: Element) => read(one as HTMLElement, "tabIndex");
  const inside = flatClosest(element, (one) => matches(one, "dialog:modal")) ?? rootElementOf(document)!;
  const all = [...flatElements(inside)].filter((one) => tabIndexOf(one) >= 0);
  const ordered = [...all.filter((one) => tabIndexOf(one) > 0), ...all.filter((one) => tabIndexOf(one) === 0)];
  if (isBack) ordered.reverse();
  const index = ordered.indexOf(element);
  const next = [...ordered.slice(index + 1), ...ordered.slice(0, index + 1)].find(isTabStop);
  if (next) focusElement(next);
}

/**
 * In a group of radio buttons, only the selected one is a tab stop. Frames, inert elements and elements that must not be
 * used are not.
 */
function isTabStop(element: Element): boolean {
  if (!isFocusable(element) || localNameOf(element) === "iframe" || flatClosest(element, (one) => hasAttribute(one, "inert"))) return false;
  if (is(element, "input") && element.type === "radio" && !element.checked && element.name && radiosOf(element).some((radio) => radio.checked)) return false;
  return !effectsOfFocus(element).some(isForbidden);
}

/** Closes the front dialog or popover. */
function closeTop(element: Element): void {
  const top = topOf(element);
  if (!top) return;
  if (!is(top, "dialog") || matches(top, ":popover-open")) invoke(top, "hidePopover");
  else if (dispatch(top, "cancel")) top.close();
}

function moveInControl(element: Element, key: string): void {
  const isForward = key === "ArrowRight" || key === "ArrowDown";
  if (is(element, "input") && element.type === "radio") {
    const next = radioAfter(element, key);
    if (!next) return;
    focusElement(next);
    clickByKey(next);
  } else if (is(element, "input") && element.type === "range") step(element, key === "ArrowRight" || key === "ArrowUp");
  else if (is(element, "select")) {
    const options = publicOptions(element.options).filter((option) => !option.disabled);
    const index = options.findIndex((option) => option.selected) + (isForward ? 1 : -1);
    const option = options[index];
    if (!option) return;
    const { prototype } = viewOf(element).HTMLSelectElement;
    Object.getOwnPropertyDescriptor(prototype, "selectedIndex")!.set!.call(element, option.index);
    fireChange(element);
  }
}

function step(element: HTMLInputElement, isUp: boolean): void {
  const before = element.value;
  if (isUp) element.stepUp();
  else element.stepDown();
  // The setter of the prototype is used again, because React compares with the value that its own setter has seen.
  const { value } = element;
  if (value !== before) fireChange(element);
}

function fireChange(element: Element): void {
  dispatch(element, "input");
  dispatch(element, "change");
}
